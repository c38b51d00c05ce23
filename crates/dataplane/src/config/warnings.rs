//! What a configuration does that its author has hardly meant.

use dovetail_config::rules::Protocol;
use toml::Spanned;

use super::{Class, Config};
use crate::classes::Vital;
use crate::module::{EncapsulateConfig, Kind};
use crate::port;

/// RFC 8200 section 5.
const IPV6_MTU: usize = 1280;

impl Config {
    /// What is allowed and yet worth a warning, one line each: what would break a network, or a tunnel, in a box of
    /// this configuration, a key that others can read, and what the interfaces do that harms the box.
    pub fn warnings(&self) -> Vec<String> {
        let within = self.within_the_box().into_iter();
        within.chain(self.around_the_box()).collect()
    }

    /// What would break a network or a tunnel. Each is a sentence that names the place.
    fn within_the_box(&self) -> Vec<String> {
        let classes = self.file.class.iter().map(Spanned::get_ref);
        classes.flat_map(|class| self.of_vital(class)).chain(self.in_clear()).chain(self.of_tunnels()).collect()
    }

    /// That what a class without modules takes would be encrypted in a class below it.
    fn in_clear(&self) -> Option<String> {
        let classes: Vec<&Class> = self.file.class.iter().map(Spanned::get_ref).collect();
        let encrypts = |class: &&Class| self.modules_of(class).any(|(_, kind)| matches!(kind, Kind::Esp(_)));
        let last = classes.iter().rposition(encrypts)?;
        let clear: Vec<String> = classes[..last]
            .iter()
            .filter(|class| class.modules.is_empty())
            .map(|class| format!("{:?}", class.name.get_ref()))
            .collect();
        let below = classes[last].name.get_ref();
        (!clear.is_empty()).then(|| {
            format!(
                "packets of class {} leave in clear, also those that class {below:?} below would encrypt; modules in a \
                 class say what is done to its packets",
                clear.join(", ")
            )
        })
    }

    /// That a tunnel would not survive the box, is too narrow for IPv6, or makes packets that the way out does not
    /// take.
    fn of_tunnels(&self) -> Vec<String> {
        let forgets = self.sends_to_others() && self.state_folder().is_none();
        let out = self.kinds().ok().and_then(|[_, outside]| port::mtu(&outside));
        let tunnels = self.file.module.iter().map(Spanned::get_ref).filter_map(|module| match &module.kind {
            Kind::Esp(tunnel) => Some((&module.name, tunnel)),
            _ => None,
        });
        let of_tunnel = |(name, tunnel): (&String, &EncapsulateConfig)| {
            let forgetful = forgets.then(|| {
                format!(
                    "module {name:?} begins with sequence number 1 whenever the box starts, and its other end drops \
                    what has a number that it has seen; set state.folder"
                )
            });
            let narrow = (IPV6_MTU + tunnel.transform.overhead(IPV6_MTU) > tunnel.mtu.into()).then(|| {
                format!("module {name:?}: with mtu {} not even {IPV6_MTU} bytes of IPv6 fit, its least MTU", tunnel.mtu)
            });
            let too_long = out.as_ref().filter(|(_, mtu)| u32::from(tunnel.mtu) > *mtu).map(|(out, mtu)| {
                format!(
                    "module {name:?} makes packets of up to {} bytes, and {out} takes {mtu}: longer ones are lost; \
                    mtu = {mtu} in the module, or ip link set {out} mtu {}",
                    tunnel.mtu, tunnel.mtu
                )
            });
            [forgetful, narrow, too_long]
        };
        tunnels.flat_map(of_tunnel).flatten().collect()
    }

    /// That a class takes what neighbours find each other by, and keeps it from them.
    fn of_vital(&self, class: &Class) -> Vec<String> {
        let protocols = class.rules().iter().filter_map(|rule| rule.get_ref().protocol());
        let mut vital: Vec<Vital> = Vital::ALL.to_vec();
        let named: Vec<Protocol> = protocols.collect();
        vital.retain(|vital| named.iter().any(|name| matches!(name, Protocol::Vital(named) if named == vital)));
        let name = class.name.get_ref();
        let broken = |vital: Vital| {
            let (module, why) = self.modules_of(class).find_map(|(module, kind)| Some((module, harm(vital, kind)?)))?;
            let what = vital.name();
            Some(format!("class {name:?} takes {what}, and its module {module:?} {why}; leave {what} out of its rules"))
        };
        vital.into_iter().filter_map(broken).collect()
    }

    /// Names and kinds of the modules of a class, in order.
    fn modules_of<'a>(&'a self, class: &'a Class) -> impl Iterator<Item = (&'a str, &'a Kind)> {
        let modules = || self.file.module.iter().map(Spanned::get_ref);
        let find = move |name: &str| modules().find(|module| module.name == name);
        class
            .modules
            .iter()
            .filter_map(move |name| find(name.get_ref()))
            .map(|module| (module.name.as_str(), &module.kind))
    }
}

/// What a module of this kind does to frames that keep a network alive, where it does harm.
fn harm(vital: Vital, kind: &Kind) -> Option<&'static str> {
    match (vital, kind) {
        (Vital::Arp | Vital::NotIp, _) => Some("drops what is not IP: neighbours would not find each other"),
        (_, Kind::Check(_) | Kind::Monitor(_) | Kind::Match(_)) => None,
        (_, Kind::Forward(_)) => Some("takes a hop off, after which neighbours do not believe it"),
        (_, Kind::EspDecap(_) | Kind::ReDecode(_)) => Some("drops what did not come by its other end"),
        (_, Kind::Esp(_) | Kind::Re(_)) => Some("hides it from neighbours, who would not find each other"),
    }
}
