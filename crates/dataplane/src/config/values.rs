//! Quantities as they are written.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use dovetail_sched::Limit;
use dovetail_units::{BitRate, Bytes, ParseError};
use dovetail_wire::KeyKind;
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use crate::core::Budget;

/// The name of a file that is made.
#[derive(Deserialize)]
#[serde(try_from = "PathBuf")]
struct FileName(PathBuf);

impl TryFrom<PathBuf> for FileName {
    type Error = &'static str;

    fn try_from(path: PathBuf) -> Result<Self, Self::Error> {
        if path.as_os_str().is_empty() { Err("\"\": expected the name of a file") } else { Ok(Self(path)) }
    }
}

/// A file's name and where it stands.
pub(super) fn named_file<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Spanned<PathBuf>>, D::Error> {
    let name = Spanned::<FileName>::deserialize(value)?;
    let span = name.span();
    Ok(Some(Spanned::new(span, name.into_inner().0)))
}

/// The path of a Unix socket. It must fit into the kernel's `sockaddr_un`, with a zero behind it.
#[derive(Deserialize)]
#[serde(try_from = "FileName")]
struct SocketName(PathBuf);

const LONGEST_SOCKET_NAME: usize = 107;

impl TryFrom<FileName> for SocketName {
    type Error = String;

    fn try_from(FileName(path): FileName) -> Result<Self, Self::Error> {
        match path.as_os_str().len() {
            0..=LONGEST_SOCKET_NAME => Ok(Self(path)),
            bytes => Err(format!("expected a path of at most {LONGEST_SOCKET_NAME} bytes, it has {bytes}")),
        }
    }
}

/// A socket's name.
pub(super) fn socket_name<'de, D: Deserializer<'de>>(value: D) -> Result<Option<PathBuf>, D::Error> {
    SocketName::deserialize(value).map(|name| Some(name.0))
}

/// A part of a core, `"0.01 %"` to `"100 %"`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Percent(pub Budget);

impl FromStr for Percent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number: Option<f64> = text.trim().strip_suffix('%').and_then(|n| n.trim().parse().ok());
        let millionths = number.filter(|percent| (0.0..=100.0).contains(percent)).map(|p| (p * 1e4).round() as u32);
        let budget = millionths.and_then(Budget::from_millionths);
        budget.map(Self).ok_or_else(|| {
            let unit = without_unit(text);
            format!("{text:?}: {unit}expected a part of a core above 0 and up to \"100 %\", such as \"50 %\"")
        })
    }
}

/// The rate of a link, or `unlimited`: as fast as the port takes frames.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkRate(pub Option<BitRate>);

impl FromStr for LinkRate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "unlimited" => Ok(Self(None)),
            _ => text
                .parse()
                .map(|rate| Self(Some(rate)))
                .map_err(|error: ParseError| format!("{error}, or \"unlimited\"")),
        }
    }
}

/// A number of packets, or `unlimited`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frames(pub Option<u32>);

impl FromStr for Frames {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "unlimited" {
            return Ok(Self(None));
        }
        let number = packets(text).filter(|&packets| packets > 0);
        number.map(|packets| Self(Some(packets))).ok_or_else(|| {
            let unit = without_unit(text);
            format!("{text:?}: {unit}expected \"unlimited\" or 1 to {} packets, such as \"64 packets\"", u32::MAX)
        })
    }
}

/// Says of a bare number that it lacks its unit.
fn without_unit(text: &str) -> &'static str {
    if text.trim().parse::<f64>().is_ok() { "the unit is missing; " } else { "" }
}

fn packets(text: &str) -> Option<u32> {
    let text = text.trim();
    let number = text.strip_suffix("packets").or_else(|| text.strip_suffix("packet"))?;
    number.trim().parse().ok()
}

/// The room of a flow's queue: packets, bytes, or both.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room(pub Limit);

impl FromStr for Room {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            let forms = "\"unlimited\", \"200 packets\", \"64 kB\" or \"200 packets, 64 kB\"";
            match without_unit(text) {
                "" => format!("{text:?}: expected {forms}; of packets 1 to {}", u32::MAX),
                unit => format!("{text:?}: {unit}expected {forms}"),
            }
        };
        let mut limit = Limit::default();
        if text.trim() == "unlimited" {
            return Ok(Self(limit));
        }
        for part in text.split(',') {
            let bytes = part.trim().parse::<Bytes>();
            let twice = match (packets(part), bytes) {
                (Some(most), _) if most > 0 => limit.packets.replace(most).is_some(),
                (None, Ok(most)) if most.0 > 0 => limit.bytes.replace(most).is_some(),
                _ => return Err(expected()),
            };
            if twice {
                return Err(format!("{text:?}: a limit of one kind is given twice"));
            }
        }
        Ok(Self(limit))
    }
}

/// Where metrics are served.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listen(pub SocketAddr);

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected =
            || format!("{text:?}: expected an address and a port, such as \"127.0.0.1:9100\" or \"[::1]:9100\"");
        text.parse().map(Self).map_err(|_| expected())
    }
}

/// What tells flows apart, with the message of [`KeyKind`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key(pub KeyKind);

impl FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(Self).map_err(|e: dovetail_wire::KeyKindError| format!("{text:?}: {e}"))
    }
}
