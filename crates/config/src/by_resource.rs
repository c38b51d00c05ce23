//! Tables of values by the names of resources.

use std::collections::BTreeMap;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, MapAccess};
use toml::Spanned;

/// Values by the names of resources, in the order of these; each name with its place in the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ByResource<V>(BTreeMap<Spanned<String>, V>);

impl<V> Default for ByResource<V> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<'de, V: Deserialize<'de>> ByResource<V> {
    /// The entries of a table.
    ///
    /// # Errors
    /// A value is wrong.
    pub fn read<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        BTreeMap::deserialize(MapAccessDeserializer::new(map)).map(Self)
    }
}

impl<V> ByResource<V> {
    /// The value of this resource alone, whose name stands nowhere.
    pub fn only(resource: &str, value: V) -> Self {
        Self([(Spanned::new(0..0, resource.to_string()), value)].into())
    }

    /// The value of this resource.
    pub fn get(&self, resource: &str) -> Option<&V> {
        self.0.get(resource)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names, and the values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &V)> {
        self.0.iter().map(|(name, value)| (name.get_ref().as_str(), value))
    }

    /// The first name that is not one of `known`.
    pub fn stray(&self, known: &[&str]) -> Option<&Spanned<String>> {
        self.0.keys().find(|name| !known.contains(&name.get_ref().as_str()))
    }
}
