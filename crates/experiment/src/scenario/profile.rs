//! Profiles: scenarios around captures that are given alone.

use super::{ScenarioError, nearest};

/// The profiles that come with the program. The first is the default.
const BUILT_IN: [(&str, &str); 4] = [
    ("firewall-ids", include_str!("../../../../scenarios/profiles/firewall-ids.toml")),
    ("vpn-gateway", include_str!("../../../../scenarios/profiles/vpn-gateway.toml")),
    ("router", include_str!("../../../../scenarios/profiles/router.toml")),
    ("upf", include_str!("../../../../scenarios/profiles/upf.toml")),
];

/// A scenario that lacks its capture.
pub struct Profile {
    /// Its name, or its file's.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Names of the profiles that come with the program; the first is the default.
pub const NAMES: [&str; 4] = [BUILT_IN[0].0, BUILT_IN[1].0, BUILT_IN[2].0, BUILT_IN[3].0];

impl Profile {
    /// The profile of this name, or in this file.
    ///
    /// # Errors
    /// There is neither.
    pub fn find(name: &str) -> Result<Self, ScenarioError> {
        let own = |text: &str| Self { name: name.into(), text: text.into() };
        if let Some((_, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
            return Ok(own(text));
        }
        match std::fs::File::open(name).and_then(dovetail_config::bytes) {
            Ok(bytes) => dovetail_config::decode(name, bytes).map(|text| own(&text)),
            Err(error) => {
                let known = NAMES.join(", ");
                let message = match error.kind() {
                    std::io::ErrorKind::NotFound => {
                        format!("there is no such profile and no such file; profiles are {known}")
                    }
                    _ => {
                        format!("there is no such profile, and the file cannot be read ({error}); profiles are {known}")
                    }
                };
                let wrong = ScenarioError::new(&format!("--profile {name}"), message);
                Err(match nearest(name, NAMES.into_iter()) {
                    Some(near) => wrong.with_help(format!("did you mean {near:?}?")),
                    None => wrong,
                })
            }
        }
    }

    /// The text, without its load if an override gives the speed: a replay goes by one of them.
    pub fn text_for(&self, overrides: &[String]) -> String {
        let key = |entry: &String| entry.split('=').next().map(|key| key.trim().to_string());
        if !overrides.iter().any(|entry| key(entry).as_deref() == Some("trace.speed")) {
            return self.text.clone();
        }
        let kept = |line: &str| if line.trim_start().starts_with("load") { String::new() } else { line.to_string() };
        self.text.lines().map(|line| kept(line) + "\n").collect()
    }
}
