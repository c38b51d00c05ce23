//! Parts of the JSON summary in little memory: there are many thousand flows.

use std::collections::BTreeMap;

use dovetail_sched::{DROPPED_AT_HEAD, DropReason};
use serde::de::Error;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::recorded::{FlowFacts, FlowKind, FlowTotal, Losses, PerResource};
use crate::scenario::MAX_RESOURCES;

/// Reason under which packets lost between resources are counted.
pub const AFTER_PROCESSING: &str = "after-processing";

/// Lost packets by reason. As a document it has every reason, but [`DROPPED_AT_HEAD`] only where there are any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    refused: [u64; DropReason::ALL.len()],
    at_head: u64,
    after_processing: u64,
}

impl Dropped {
    /// Of a flow.
    pub fn of(flow: &FlowTotal) -> Self {
        let Losses { refused, dropped, dropped_waiting, .. } = flow.losses();
        Self { refused, at_head: dropped_waiting, after_processing: dropped }
    }

    /// Both together.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.refused.iter_mut().zip(other.refused).for_each(|(sum, count)| *sum += count);
        self.at_head += other.at_head;
        self.after_processing += other.after_processing;
        self
    }

    /// How many for this reason; `None` if the document has no such reason.
    pub fn get(&self, reason: &str) -> Option<u64> {
        self.reasons().find(|(name, _)| *name == reason).map(|(_, count)| count)
    }

    /// How many in all.
    pub fn sum(&self) -> u64 {
        self.reasons().map(|(_, count)| count).sum()
    }

    /// Every reason with its packets.
    fn reasons(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let refused =
            DropReason::ALL.iter().zip(self.refused).filter(|(reason, _)| **reason != DropReason::UnknownFlow);
        let at_head = (self.at_head > 0).then_some((DROPPED_AT_HEAD, self.at_head));
        let others = [(AFTER_PROCESSING, self.after_processing)].into_iter().chain(at_head);
        refused.map(|(reason, count)| (reason.name(), count)).chain(others)
    }
}

impl Serialize for Dropped {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.reasons().collect::<BTreeMap<_, _>>())
    }
}

impl<'de> Deserialize<'de> for Dropped {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut dropped = Self::default();
        for (name, count) in BTreeMap::<String, u64>::deserialize(deserializer)? {
            let place = match name.as_str() {
                AFTER_PROCESSING => Some(&mut dropped.after_processing),
                DROPPED_AT_HEAD => Some(&mut dropped.at_head),
                _ => (DropReason::ALL.iter().zip(&mut dropped.refused))
                    .find(|(reason, _)| reason.name() == name)
                    .map(|(_, count)| count),
            };
            *place.ok_or_else(|| D::Error::custom(format!("packets were lost for an unknown reason, {name:?}")))? =
                count;
        }
        Ok(dropped)
    }
}

/// What a flow is, in a document: its name, group and weight.
#[derive(Clone, Debug)]
pub struct Named(pub FlowFacts);

impl Serialize for Named {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut named = serializer.serialize_struct("Named", 3)?;
        named.serialize_field("flow", &*self.0.name.text())?;
        named.serialize_field("group", &*self.0.group)?;
        named.serialize_field("weight", &self.0.weight)?;
        named.end()
    }
}

impl<'de> Deserialize<'de> for Named {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Fields {
            flow: Box<str>,
            group: Box<str>,
            weight: f64,
        }
        let Fields { flow: name, group, weight } = Fields::deserialize(deserializer)?;
        let kind = FlowKind { group: group.into(), weight, weights: None };
        Ok(Self(FlowFacts { name: name.into(), kind: kind.into() }))
    }
}

/// Values by resource, in a document: a list.
pub(crate) mod by_resource {
    use super::*;

    pub fn serialize<S: Serializer>(values: &PerResource<f64>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PerResource<f64>, D::Error> {
        let values = Vec::<f64>::deserialize(deserializer)?;
        PerResource::try_from(&values[..])
            .map_err(|_| D::Error::custom(format!("{} resources: expected at most {MAX_RESOURCES}", values.len())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_written_and_read_back() {
        let refused: [u64; DropReason::ALL.len()] = std::array::from_fn(|k| k as u64 + 1);
        let mut dropped = Dropped { refused, at_head: 0, after_processing: 9 };
        dropped.refused[DropReason::UnknownFlow as usize] = 0;
        let text = serde_json::to_string(&dropped).unwrap();
        assert!(text.starts_with("{\"after-processing\":9,\"queue-bytes\":") && !text.contains("aqm-head"), "{text}");
        assert_eq!(serde_json::from_str::<Dropped>(&text).unwrap(), dropped);
        let more = Dropped { at_head: 2, ..dropped };
        let text = serde_json::to_string(&more).unwrap();
        assert!(text.contains("\"aqm-head\":2"), "{text}");
        assert_eq!(serde_json::from_str::<Dropped>(&text).unwrap(), more);
        assert_eq!(dropped.and(&more).sum(), dropped.sum() + more.sum());
        assert!(serde_json::from_str::<Dropped>("{\"spite\":1}").is_err());
    }
}
