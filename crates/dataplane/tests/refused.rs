//! Configurations of boxes that cannot do what was meant are refused where that stands, with what would be right.

use dovetail_dataplane::config::Config;
use dovetail_dataplane::live::Live;
use dovetail_trace::PcapWriter;
use dovetail_units::Time;
use dovetail_wire::LinkType;
use tempfile::TempDir;

const BOX: &str = r#"scheduler = "drr"
[ports]
in = "pcap:in.pcap"
out = "pcap:>out.pcap"
"#;

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = PcapWriter::new(Vec::new(), LinkType::ETHERNET).unwrap();
    writer.write(Time::from_nanos(1_500_000_000_000_000_000), &[0; 60], 60).unwrap();
    std::fs::write(folder.path().join("in.pcap"), writer.finish().unwrap()).unwrap();
    folder
}

fn open(text: &str) -> Result<Live, String> {
    let folder = folder();
    let name = folder.path().join("box.toml").display().to_string();
    let config = Config::parse(&name, text, &[]).map_err(|error| error.to_string())?;
    let live = Live::open(&config).map_err(|error| error.to_string());
    assert!(live.is_ok() || std::fs::read_dir(folder.path()).unwrap().count() == 1, "nothing is begun");
    live
}

#[track_caller]
fn refused(text: &str, expected: &[&str]) {
    let message = open(text).err().unwrap_or_else(|| panic!("taken: {text}"));
    for words in expected {
        assert!(message.contains(words), "{text}\n{words:?} is not in\n{message}");
    }
}

/// A box whose classes have these rules.
fn classes(rules: &[&str]) -> String {
    let class = |(k, rules): (usize, &&str)| {
        let rules = if rules.is_empty() { String::new() } else { format!("match = [{rules}]\n") };
        format!("[[class]]\nname = \"c{k}\"\n{rules}")
    };
    format!("{BOX}{}", rules.iter().enumerate().map(class).collect::<String>())
}

#[test]
fn a_rule_that_no_packet_matches() {
    let place = "box.toml:7:10";
    refused(
        &classes(&["{ protocol = \"icmp\", dport = \"80\" }"]),
        &["no packet matches this: icmp has no ports", place],
    );
    refused(
        &classes(&["{ protocol = \"200\", sport = \"80\" }"]),
        &["no packet matches this: protocol 200 has no ports"],
    );
    let versions = "{ src = \"10.0.0.0/8\", dst = \"2001:db8::/32\" }";
    refused(&classes(&[versions]), &["10.0.0.0/8 and 2001:db8::/32 are of two versions of IP", place]);
    for right in ["{ protocol = \"icmp\" }", "{ protocol = \"sctp\", dport = \"80\" }", "{ sport = \"80\" }"] {
        assert!(open(&classes(&[right])).is_ok(), "{right}");
    }
}

#[test]
fn a_list_without_rules() {
    let help = "for what matches no other class, leave `match` out";
    refused(&classes(&[" "]), &["there is no rule, and class \"c0\" gets nothing", "box.toml:7:9", help]);
    refused(&classes(&["", " "]), &["class \"c1\" gets nothing", "box.toml:9:9"]);
    assert!(open(&classes(&[""])).is_ok());
}

#[test]
fn a_rule_of_which_another_class_takes_everything() {
    let web = "{ protocol = \"tcp\", dport = \"80\" }";
    let takes_all = [
        "class \"c0\" takes all that matches this, and class \"c1\" gets none of it",
        "put class \"c1\" before \"c0\"",
    ];
    refused(&classes(&["{}", web]), &takes_all);
    refused(&classes(&["{ protocol = \"udp\" }, { protocol = \"tcp\", dport = \"1-1023\" }", web]), &takes_all);
    refused(&classes(&[web, "{ protocol = \"udp\" }, { protocol = \"tcp\", dport = \"80\" }"]), &["box.toml:10:32"]);
    for right in [[web, "{}"], ["", web], ["{ dst = \"0.0.0.0/0\" }", web], [web, ""]] {
        assert!(open(&classes(&right)).is_ok(), "{right:?}");
    }
    // To change places would only turn it round.
    let [one, both] = [web, "{ protocol = \"tcp\", dport = \"80\", src = \"10.0.0.0/8\" }, { protocol = \"tcp\" }"];
    for circle in [[one, both], [both, one], [web, web]] {
        refused(&classes(&circle), &["\"c1\" gets none of it", "help: leave this rule out"]);
    }
    // Within a class it does no harm.
    assert!(open(&classes(&["{ protocol = \"tcp\" }, { protocol = \"tcp\", dport = \"80\" }"])).is_ok());
}

#[test]
fn a_box_with_a_third_resource_and_no_ports_is_no_pipeline() {
    refused("scheduler = \"drr\"\n[[resource]]\nname = \"aes\"\n", &["missing key `ports`"]);
    refused("[[resource]]\nname = \"cpu\"\n", &["it describes a pipeline"]);
}

#[test]
fn ports_between_which_nothing_would_happen() {
    let with = |change: [&str; 2]| BOX.replace(change[0], change[1]);
    refused(
        &with(["pcap:in.pcap", "pcap:>x.pcap"]),
        &["nothing would come into the box", "to read a capture: \"pcap:x.pcap\"", "box.toml:3:6"],
    );
    refused(
        &with(["pcap:>out.pcap", "pcap:out.pcap"]),
        &["what leaves the box would go nowhere", "to write a capture: \"pcap:>out.pcap\"", "box.toml:4:7"],
    );
    for same in ["pcap:in.pcap", "pcap:./in.pcap>out.pcap"] {
        refused(
            &with(["pcap:>out.pcap", same]),
            &[
                "in.pcap is the file that ports.in reads already",
                "to write a capture: \"pcap:>out.pcap\"",
                "box.toml:4:7",
            ],
        );
    }
}

#[test]
fn a_capture_that_is_not_there_is_told_where_it_was_looked_for() {
    let help = "paths are relative to the folder of the configuration";
    refused(&BOX.replace("pcap:in.pcap", "pcap:im.pcap"), &["cannot read ", "/im.pcap: No such file", help]);
    let absolute = open(&BOX.replace("pcap:in.pcap", "pcap:/nowhere/in.pcap")).err().unwrap();
    assert!(absolute.contains("cannot read /nowhere/in.pcap") && !absolute.contains(help), "{absolute}");
}

#[test]
fn values_that_are_none_are_told_what_there_is() {
    for (lines, expected) in [
        (
            "[metrics]\nlisten = \"127.0.0.1\"",
            "\"127.0.0.1\": expected an address and a port, such as \"127.0.0.1:9100\"",
        ),
        ("[metrics]\nlisten = \":99999\"", "\":99999\": expected an address and a port"),
        ("[flows]\nlimit = \"99999999999 packets\"", "expected \"unlimited\" or 1 to 4294967295 packets"),
        ("[link]\nbuffer = \"0 packets\"", "expected \"unlimited\" or 1 to 4294967295 packets"),
        ("[flows]\nqueue = \"99999999999 packets\"", "of packets 1 to 4294967295"),
        ("[flows]\nlimit = \"200\"", "\"200\": the unit is missing; expected \"unlimited\" or 1 to"),
        ("[flows]\nqueue = \"200\"", "\"200\": the unit is missing; expected \"unlimited\", \"200 packets\""),
        ("[cpu]\nbudget = \"0.5\"", "\"0.5\": the unit is missing; expected a part of a core above 0"),
    ] {
        refused(&format!("{BOX}{lines}"), &[expected]);
    }
}

#[test]
fn what_is_wrong_in_a_module_is_shown_where_it_stands() {
    let module = |lines: &str| format!("{BOX}[[module]]\nname = \"m\"\n{lines}\n[[class]]\nname = \"c\"\n");
    let tunnel = "kind = \"esp\"\ntransform = \"aes128-gcm\"\nspi = 256\nsrc = \"192.0.2.1\"\n";
    refused(
        &module(&format!("{tunnel}dst = \"banana\"")),
        &["\"banana\": expected an IPv4 address such as `192.0.2.1`", "dst = \"banana\"", "box.toml:11:7"],
    );
    refused(&module("kind = \"chek\""), &["did you mean `check`?", "kind = \"chek\"", "box.toml:7:8"]);
    refused(&module("kind = \"monitor\"\ncounters = -8"), &["counters = -8", "box.toml:8:12"]);
    refused(&module("kind = \"monitor\"\ncountres = 8"), &["did you mean `counters`?", "box.toml:8:1"]);
    let limit = module("kind = \"monitor\"\nlimit = 5").replace("\"m\"", "\"limit\"");
    refused(&limit, &["unknown key `limit`", "box.toml:8:1"]);
    refused(&module(&format!("{tunnel}dst = 5")), &["`5`: expected a quoted text", "box.toml:11:7"]);
    refused(
        &module(&format!("{tunnel}dst = \"192.0.2.2\"\nttl = 300")),
        &["`300`: expected a whole number from 0 to 255", "box.toml:12:7"],
    );
    // And what a module cannot be made of.
    let expected = "`counters`: expected a power of two from 8 to 1048576";
    refused(&module("kind = \"monitor\"\ncounters = 100"), &[expected, "counters = 100", "box.toml:8:12"]);
    let route = "{ prefix = \"10.0.0.0/8\" }";
    refused(
        &module(&format!("kind = \"forward\"\nroutes = [{route}, {route}]")),
        &["`10.0.0.0/8` is there twice", "box.toml:8:10"],
    );
    let route = "[[module.routes]]\nprefix = \"10.0.0.0/8\"";
    refused(
        &module(&format!("kind = \"forward\"\n{route}\n{route}")),
        &["`10.0.0.0/8` is there twice", "box.toml:8:1"],
    );
    refused(&module("knd = \"esp\""), &["unknown key `knd`, expected `kind`", "box.toml:7:1", "did you mean `kind`?"]);
    // What is not there has no place of its own.
    refused(&module("kind = \"esp\""), &["missing key `transform`", "box.toml:5:1"]);
    refused(&module("kind = \"match\""), &["`patterns`: expected", "box.toml:5:1"]);
    // The line of a secret is shown to nobody.
    let secret = module(&format!("{tunnel}dst = \"192.0.2.2\"\nkey = \"a5a5\""));
    refused(&secret, &["`key`: 4 hexadecimal digits, expected 40", "box.toml:5:1"]);
    assert!(!open(&secret).err().unwrap().contains("a5a5"));
    let secret = "a5a5".repeat(10);
    for (line, words) in [(format!("kei = \"{secret}\""), "did you mean `key`?"), (format!("key = {secret}"), "")] {
        let text = module(&format!("{tunnel}dst = \"192.0.2.2\"\n{line}"));
        refused(&text, &["box.toml:12:", words]);
        assert!(!open(&text).err().unwrap().contains("a5a5"));
    }
}

#[test]
fn a_box_in_simulated_time_opens_no_socket_and_writes_no_files_for_one() {
    let text = format!("{BOX}[control]\nsocket = \"/run/box/box.sock\"\n");
    let folders = |text: &str| Config::parse("/etc/box/box.toml", text, &[]).unwrap();
    let simulated = folders(&text);
    assert_eq!(simulated.written_folders(), [std::path::Path::new("/etc/box")]);
    assert!(!simulated.to_string().contains("control socket"), "{simulated}");
    let live = folders(&text.replace("pcap:in.pcap", "packet:eth0"));
    assert_eq!(live.written_folders(), ["/etc/box", "/run/box"].map(std::path::Path::new));
    assert!(live.to_string().contains("control socket: /run/box/box.sock"), "{live}");
}

/// A reload may bring the first tunnel, and no other folder.
#[test]
fn a_state_folder_that_is_none_is_refused_even_where_no_module_keeps_anything_yet() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let look = |state: &str, out: &str| {
        let text = BOX.replace("pcap:in.pcap", "packet:eth0").replace("pcap:>out.pcap", out);
        let name = folder.path().join("box.toml").display().to_string();
        let config = Config::parse(&name, &format!("{text}[state]\nfolder = \"{state}\"\n"), &[]).unwrap();
        config.look_at_state().map_err(|error| error.to_string())
    };
    for (state, why) in [("nope", "nope: No such file or directory"), ("file", "file: it is not a folder")] {
        let message = look(state, "packet:eth1").unwrap_err();
        for words in ["the state cannot be kept in ", why, "box.toml:6:10"] {
            assert!(message.contains(words), "{words:?} is not in\n{message}");
        }
    }
    assert_eq!(look(".", "packet:eth1"), Ok(()));
    assert_eq!(look("nope", "pcap:>out.pcap"), Ok(()), "nothing is kept of what goes to a capture");
}

/// The kernel has no room for it, now or at any later try.
#[test]
fn a_control_socket_whose_path_is_too_long_is_wrong_in_the_configuration() {
    let text = |bytes: usize| format!("{BOX}[control]\nsocket = \"/{}\"\n", "s".repeat(bytes - 1));
    assert!(Config::parse("box.toml", &text(107), &[]).is_ok());
    refused(&text(108), &["expected a path of at most 107 bytes, it has 108", "box.toml:6:10"]);
}
