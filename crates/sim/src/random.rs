//! Named random streams: every user of randomness draws from its own, so adding one changes no other.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The generator of a stream, determined by the run's seed and the stream's name alone.
pub type Stream = ChaCha8Rng;

/// The stream called `name` of the runs with this `seed`.
///
/// Two names give unrelated streams (128 bits of a hash of the name go into the key); the same seed and name give
/// the same draws on every machine.
pub fn stream(seed: u64, name: &str) -> Stream {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&(name.len() as u64).to_le_bytes());
    key[16..].copy_from_slice(&fnv1a(name.as_bytes()).to_le_bytes());
    ChaCha8Rng::from_seed(key)
}

/// FNV-1a with 128 bits.
fn fnv1a(bytes: &[u8]) -> u128 {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.iter().fold(BASIS, |hash, &byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    #[test]
    fn a_stream_depends_on_its_seed_and_name_only() {
        let first = |seed, name| stream(seed, name).next_u64();
        assert_eq!(first(1, "flow 1"), first(1, "flow 1"));
        assert_ne!(first(1, "flow 1"), first(2, "flow 1"));
        assert_ne!(first(1, "flow 1"), first(1, "flow 2"));
    }
}
