//! What encrypts and authenticates the bytes of an ESP packet.

use aes::cipher::{Array, BlockModeDecrypt, BlockModeEncrypt, InnerIvInit, KeyInit};
use aes::{Aes128Dec, Aes128Enc};
use hmac::{Hmac, Mac};
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use serde::Deserialize;
use sha1::Sha1;

use super::super::ModuleError;
use super::{HEADER, OUTER, TRAILER};

/// Encryption and authentication of a tunnel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
pub enum Transform {
    /// RFC 4106 with an ICV of 16 bytes. The key is 20 bytes, the last four the salt.
    #[serde(rename = "aes128-gcm")]
    Aes128Gcm,
    /// RFC 3602 and RFC 2404. The key is 36 bytes, 16 for encryption, then 20 for authentication.
    #[serde(rename = "aes128-cbc-sha1")]
    Aes128CbcSha1,
}

impl Transform {
    /// Every transform.
    pub const ALL: [Self; 2] = [Self::Aes128Gcm, Self::Aes128CbcSha1];

    /// Bytes of the key.
    pub const fn key_len(self) -> usize {
        match self {
            Self::Aes128Gcm => 20,
            Self::Aes128CbcSha1 => 36,
        }
    }

    pub(super) const fn iv_len(self) -> usize {
        match self {
            Self::Aes128Gcm => 8,
            Self::Aes128CbcSha1 => 16,
        }
    }

    pub(super) const fn icv_len(self) -> usize {
        match self {
            Self::Aes128Gcm => 16,
            Self::Aes128CbcSha1 => 12,
        }
    }

    /// What the encrypted part's length is a multiple of: RFC 4303 section 2.4 wants 4, the block cipher 16.
    const fn alignment(self) -> usize {
        match self {
            Self::Aes128Gcm => 4,
            Self::Aes128CbcSha1 => 16,
        }
    }

    /// Bytes of padding behind an inner packet of `len` bytes.
    pub(super) const fn padding(self, len: usize) -> usize {
        (self.alignment() - (len + TRAILER) % self.alignment()) % self.alignment()
    }

    /// By how many bytes an inner packet of `len` bytes grows.
    pub const fn overhead(self, len: usize) -> usize {
        OUTER + HEADER + self.iv_len() + self.padding(len) + TRAILER + self.icv_len()
    }
}

/// The bytes are not what the other side sent, or nothing that it could have sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NotAuthentic;

/// A transform with its key.
pub(super) enum Cipher {
    Gcm { key: LessSafeKey, salt: [u8; 4] },
    CbcSha1 { encrypt: Aes128Enc, decrypt: Aes128Dec, mac: Hmac<Sha1> },
}

impl Cipher {
    /// With `key` of the transform's length.
    pub(super) fn new(transform: Transform, key: &[u8]) -> Result<Self, ModuleError> {
        let unfit = || ModuleError::new("key", format!("expected {} bytes", transform.key_len()));
        let (cipher_key, rest) = key.split_first_chunk::<16>().ok_or_else(unfit)?;
        Ok(match transform {
            Transform::Aes128Gcm => Self::Gcm {
                key: LessSafeKey::new(UnboundKey::new(&AES_128_GCM, cipher_key).map_err(|_| unfit())?),
                salt: rest.try_into().map_err(|_| unfit())?,
            },
            Transform::Aes128CbcSha1 => Self::CbcSha1 {
                encrypt: Aes128Enc::new(&(*cipher_key).into()),
                decrypt: Aes128Dec::new(&(*cipher_key).into()),
                mac: Hmac::new_from_slice(rest).map_err(|_| unfit())?,
            },
        })
    }

    /// Encrypt and authenticate `esp` in place: SPI, sequence number, IV, padded inner packet with trailer, room for
    /// the ICV.
    pub(super) fn seal(&self, esp: &mut [u8]) -> Result<(), NotAuthentic> {
        match self {
            Self::Gcm { key, salt } => {
                let (aad, iv, rest) = gcm_parts(esp)?;
                let end = rest.len().checked_sub(16).ok_or(NotAuthentic)?;
                let (text, icv) = rest.split_at_mut(end);
                let tag = key.seal_in_place_separate_tag(nonce(*salt, iv), Aad::from(aad), text);
                icv.copy_from_slice(tag.map_err(|_| NotAuthentic)?.as_ref());
            }
            Self::CbcSha1 { encrypt, mac, .. } => {
                let end = esp.len().checked_sub(12).ok_or(NotAuthentic)?;
                let (body, icv) = esp.split_at_mut(end);
                let (iv, text) = body[HEADER..].split_first_chunk_mut::<16>().ok_or(NotAuthentic)?;
                let (blocks, rest) = Array::slice_as_chunks_mut(text);
                if !rest.is_empty() {
                    return Err(NotAuthentic);
                }
                cbc::Encryptor::<&Aes128Enc>::inner_iv_init(encrypt, &(*iv).into()).encrypt_blocks(blocks);
                let sum = mac.clone().chain_update(body).finalize().into_bytes();
                icv.copy_from_slice(&sum[..12]);
            }
        }
        Ok(())
    }

    /// Undo [`seal`](Self::seal), after looking at the ICV.
    pub(super) fn open(&self, esp: &mut [u8]) -> Result<(), NotAuthentic> {
        match self {
            Self::Gcm { key, salt } => {
                let (aad, iv, rest) = gcm_parts(esp)?;
                key.open_in_place(nonce(*salt, iv), Aad::from(aad), rest).map_err(|_| NotAuthentic)?;
            }
            Self::CbcSha1 { decrypt, mac, .. } => {
                let end = esp.len().checked_sub(12).ok_or(NotAuthentic)?;
                let (body, icv) = esp.split_at_mut(end);
                mac.clone().chain_update(&*body).verify_truncated_left(icv).map_err(|_| NotAuthentic)?;
                let rest = body.get_mut(HEADER..).ok_or(NotAuthentic)?;
                let (iv, text) = rest.split_first_chunk_mut::<16>().ok_or(NotAuthentic)?;
                let (blocks, rest) = Array::slice_as_chunks_mut(text);
                if !rest.is_empty() {
                    return Err(NotAuthentic);
                }
                cbc::Decryptor::<&Aes128Dec>::inner_iv_init(decrypt, &(*iv).into()).decrypt_blocks(blocks);
            }
        }
        Ok(())
    }
}

/// SPI and sequence number, which are authenticated only; IV; and what is encrypted, with the ICV.
type GcmParts<'a> = ([u8; HEADER], [u8; 8], &'a mut [u8]);

fn gcm_parts(esp: &mut [u8]) -> Result<GcmParts<'_>, NotAuthentic> {
    let (aad, rest) = esp.split_first_chunk_mut::<HEADER>().ok_or(NotAuthentic)?;
    let (iv, rest) = rest.split_first_chunk_mut::<8>().ok_or(NotAuthentic)?;
    Ok((*aad, *iv, rest))
}

/// RFC 4106 section 4: the salt, then the IV.
fn nonce([s0, s1, s2, s3]: [u8; 4], [i0, i1, i2, i3, i4, i5, i6, i7]: [u8; 8]) -> Nonce {
    Nonce::assume_unique_for_key([s0, s1, s2, s3, i0, i1, i2, i3, i4, i5, i6, i7])
}
