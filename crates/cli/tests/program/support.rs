//! A folder to run the program in, and what the program said.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// Three IPsec flows over a CPU and a link; the examples of wrong input each change one place of it.
pub const SCENARIO: &str = r#"seed = 1
interval = "10 ms"
schedulers = ["fifo", "tradeoff:alpha=0.85"]

[[resource]]
name = "cpu"

[[resource]]
name = "link"
rate = "200 Mbps"

[[class]]
name = "ipsec"
cost = { cpu = "0.015 us/B + 84.5 us" }

[[flows]]
class = "ipsec"
count = 3
size = "800 B"
rate = "4000 pps"
stop = "50 ms"
"#;

/// A folder of its own for one test.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// With [`SCENARIO`] as `s.toml`.
    pub fn with_scenario() -> Self {
        let folder = Self::new();
        folder.write("s.toml", SCENARIO);
        folder
    }

    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), contents).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Names of everything in the folder `name`, hidden or not, in order.
    pub fn list(&self, name: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(name)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().to_string()).collect();
        names.sort();
        names
    }

    /// The program, to be started in the folder; nothing on its standard input.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dovetail"));
        command.args(arguments).current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    pub fn dovetail(&self, arguments: &[&str]) -> Said {
        Said::from(self.command(arguments).output().unwrap())
    }

    /// A shell script in which `$dovetail` is the program.
    pub fn shell(&self, script: &str) -> Said {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).env("dovetail", env!("CARGO_BIN_EXE_dovetail")).current_dir(self.0.path());
        Said::from(shell.stdin(Stdio::null()).output().unwrap())
    }
}

/// What the program left behind.
#[derive(Debug)]
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Said {
    /// It failed with this exit code, said all of `words` on standard error, nothing on standard output, and did not
    /// panic.
    #[track_caller]
    pub fn fails(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:#?}");
        assert_eq!(self.out, "", "a failure leaves standard output empty");
        for word in words {
            assert!(self.err.contains(word), "{word:?} is missing in:\n{}", self.err);
        }
        assert!(self.err.starts_with("error: "), "{}", self.err);
        for word in ["panicked", "RUST_BACKTRACE", "unwrap"] {
            assert!(!self.err.contains(word), "{}", self.err);
        }
    }

    /// It did what it was asked to.
    #[track_caller]
    pub fn succeeds(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self
    }
}
