//! Modules from configurations, right and wrong.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::channel;
use std::time::Duration;

use dovetail_dataplane::frame::LONGEST;
use dovetail_dataplane::module::ModuleConfig;

use crate::support::module;

fn refused(lines: &str) -> String {
    match toml::from_str::<ModuleConfig>(&format!("name = \"m\"\n{lines}")) {
        Err(error) => error.message().to_string(),
        Ok(config) => config.kind.build(Path::new("/")).err().expect(lines).to_string(),
    }
}

const ENDS: &str = "spi = 256\nsrc = \"192.0.2.1\"\ndst = \"192.0.2.2\"\ntransform = \"aes128-gcm\"";

#[test]
fn what_is_wrong_is_said_with_the_key_and_what_was_expected() {
    let cases = [
        ("kind = \"chek\"", "unknown variant `chek`, expected one of `check`"),
        ("kind = \"check\"\ntransprot = true", "unknown field `transprot`, expected `transport`"),
        ("kind = \"forward\"\nroutes = []", "`routes`: there is no route"),
        ("kind = \"forward\"\nroutes = [{ prefix = \"10.0.0.1/8\" }]", "did you mean `10.0.0.0/8`?"),
        (
            "kind = \"forward\"\nroutes = [{ prefix = \"10.0.0.0/8\", mac = \"2:0\" }]",
            "\"2:0\": expected an Ethernet address",
        ),
        (
            "kind = \"forward\"\nroutes = [{ prefix = \"10.0.0.0/8\" }, { prefix = \"10.0.0.0/8\" }]",
            "`routes`: `10.0.0.0/8` is there twice",
        ),
        (
            "kind = \"forward\"\nroutes = [{ prefix = \"10.0.0.0/8\", mac = \"01:00:5e:00:00:01\" }]",
            "`routes`: `10.0.0.0/8`: mac 01:00:5e:00:00:01 is the address of a group, not of one interface",
        ),
        (
            "kind = \"forward\"\nroutes = [{ prefix = \"::/0\", source_mac = \"ff:ff:ff:ff:ff:ff\" }]",
            "`routes`: `::/0`: source_mac ff:ff:ff:ff:ff:ff is the address of a group",
        ),
        ("kind = \"match\"", "`patterns`: expected 1 to 10000 patterns of at least one byte"),
        ("kind = \"match\"\npatterns = [\"\"]", "`patterns`: expected"),
        (
            &format!("kind = \"match\"\npatterns = [\"x\", \"{}\"]", "a".repeat(LONGEST + 1)),
            "`patterns`: number 2: 1921 bytes match nothing: the longest frame has 1920",
        ),
        ("kind = \"match\"\npattern_file = \"no/such/file\"", "`pattern_file`: /no/such/file: "),
        ("kind = \"monitor\"\ncounters = 100", "`counters`: expected a power of two from 8 to 1048576"),
        ("kind = \"monitor\"\nprefix_v4 = 33", "`prefix_v4`: expected 0 to 32"),
        ("kind = \"monitor\"\nprecision = 99", "`precision`: expected 4 to 16"),
        ("kind = \"re\"\npackets = 3", "`packets`: expected 16 to 65536"),
        ("kind = \"re-decode\"\npackets = 100000", "`packets`: expected 16 to 65536"),
        (&format!("kind = \"esp\"\n{ENDS}"), "`key`: give it, or `key_file`, and not both"),
        (&format!("kind = \"esp\"\n{ENDS}\nkey = \"0g\""), "`key`: expected hexadecimal digits only"),
        (&format!("kind = \"esp\"\n{ENDS}\nkey = \"00ff\""), "`key`: 4 hexadecimal digits, expected 40 (20 bytes)"),
        (&format!("kind = \"esp\"\n{ENDS}\nkey_file = \"no\""), "`key_file`: /no: "),
        (&format!("kind = \"esp\"\n{ENDS}\nkey = \"{}\"\nmtu = 100", "0".repeat(40)), "`mtu`: expected 576 to 1600"),
        (&format!("kind = \"esp\"\n{ENDS}\nkey = \"{}\"\nttl = 0", "0".repeat(40)), "`ttl`: expected 1 to 255"),
        (
            "kind = \"esp-decap\"\ntransform = \"aes128-gcm\"\nspi = 3\n\
             key = \"0000000000000000000000000000000000000000\"",
            "`spi`: 0 to 255 are reserved",
        ),
    ];
    for (lines, expected) in cases {
        let message = refused(lines);
        assert!(message.contains(expected), "{lines}\nsays: {message}\nnot: {expected}");
    }
}

#[test]
fn a_key_comes_from_a_file_that_nobody_else_can_read() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "000102030405060708090a0b0c0d0e0f\n10111213\n").unwrap();
    let lines = format!("kind = \"esp\"\n{ENDS}\nkey_file = \"{}\"", file.path().display());
    module(&lines);
    std::fs::set_permissions(file.path(), PermissionsExt::from_mode(0o644)).unwrap();
    assert!(refused(&lines).contains("others than its owner have access (mode 644); chmod 600"));
}

/// What a module says of a file, within a time that is never needed.
fn refused_soon(kind: &str, file: &Path) -> String {
    let lines = match kind {
        "match" => format!("kind = \"match\"\npattern_file = \"{}\"", file.display()),
        kind => format!("kind = {kind:?}\n{ENDS}\nkey_file = \"{}\"", file.display()),
    };
    let (sender, said) = channel();
    std::thread::spawn(move || sender.send(refused(&lines)));
    said.recv_timeout(Duration::from_secs(10)).unwrap_or_else(|_| panic!("{kind} waits for {}", file.display()))
}

#[test]
fn files_of_modules_are_ordinary_and_have_an_end() {
    let folder = tempfile::tempdir().unwrap();
    let [pipe, long] = ["pipe", "long"].map(|name| folder.path().join(name));
    assert!(Command::new("mkfifo").args(["-m", "600"]).arg(&pipe).status().unwrap().success());
    std::fs::write(&long, vec![b'\n'; (1 << 20) + 1]).unwrap();
    std::fs::set_permissions(&long, PermissionsExt::from_mode(0o600)).unwrap();
    let key = |file: &Path| {
        let key = format!("`key_file`: {}: ", file.display());
        (key.clone(), key.replace("key_file", "pattern_file"))
    };
    for (file, problem) in [
        (&*pipe, "it is not an ordinary file"),
        (folder.path(), "it is not an ordinary file"),
        (&long, "it is longer than 1 MiB"),
    ] {
        let (of_key, of_patterns) = key(file);
        assert_eq!(refused_soon("match", file), format!("{of_patterns}{problem}"));
        assert_eq!(refused_soon("esp", file), format!("{of_key}{problem}"));
    }
    let device = Path::new("/dev/zero");
    assert_eq!(refused_soon("match", device), "`pattern_file`: /dev/zero: it is not an ordinary file");
}

#[test]
fn lines_of_a_pattern_file_are_counted_and_can_match() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let with = |bytes: &[u8]| {
        std::fs::write(file.path(), bytes).unwrap();
        refused_soon("match", file.path())
    };
    let about = format!("`pattern_file`: {}: ", file.path().display());
    let expected = "expected 1 to 10000, one on a line";
    assert_eq!(with(b""), format!("{about}it has 0 patterns, {expected}"));
    assert_eq!(with(b"\n\n"), format!("{about}it has 0 patterns, {expected}"));
    assert_eq!(with(&b"x\n".repeat(10_001)), format!("{about}it has 10001 patterns, {expected}"));
    let lines = |bytes: usize| [b"x\n\n".to_vec(), vec![b'a'; bytes], b"\ny\n".to_vec()].concat();
    let long = format!("{about}line 3: {} bytes match nothing: the longest frame has {LONGEST}", LONGEST + 1);
    assert_eq!(with(&lines(LONGEST + 1)), long);
    std::fs::write(file.path(), lines(LONGEST)).unwrap();
    let both = format!("kind = \"match\"\npatterns = [\"z\"]\npattern_file = \"{}\"", file.path().display());
    module(&both);
    std::fs::write(file.path(), b"x\n".repeat(10_000)).unwrap();
    assert_eq!(refused(&both), format!("{about}it has 10000 patterns beside 1 in `patterns`, {expected}"));
}

#[test]
fn a_key_is_not_shown() {
    let lines = format!("name = \"m\"\nkind = \"esp\"\n{ENDS}\nkey = \"{}\"", "a5".repeat(20));
    let config: ModuleConfig = toml::from_str(&lines).unwrap();
    assert!(!format!("{config:?}").contains("a5a5"));
}
