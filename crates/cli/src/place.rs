//! Where a capture goes that the program writes.

use std::io::ErrorKind;
use std::path::Path;

use dovetail_experiment::output::Output;
use dovetail_experiment::output::OutputFile;

use crate::failure::Failure;

/// A file that appears whole or not at all, in a folder that is there.
pub struct Place<'a> {
    path: &'a Path,
    name: String,
    output: Output,
}

impl<'a> Place<'a> {
    /// Begin to write to `path`, which is none of `inputs`.
    ///
    /// # Errors
    /// Why nothing can be written there.
    pub fn open(path: &'a Path, inputs: &[&Path]) -> Result<Self, String> {
        let wrong = |why: String| format!("cannot write {}: {why}", path.display());
        let whole = path.as_os_str().as_encoded_bytes();
        // `t/` and `t/.` have the last name t.
        let name = path.file_name().filter(|name| whole.ends_with(name.as_encoded_bytes()));
        let name = name.ok_or_else(|| wrong("it names no file".into()))?;
        let name = name.to_str().ok_or_else(|| wrong("its name is not UTF-8".into()))?.to_string();
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if let Err(error) = path.symlink_metadata()
            && error.kind() == ErrorKind::InvalidFilename
        {
            return Err(wrong(error.to_string()));
        }
        if !folder.is_dir() {
            return Err(wrong(format!("there is no folder {}", folder.display())));
        }
        let output = Output::create(folder, &[&name], inputs).map_err(|e| {
            let of_folder = format!("the folder {} takes no files: ", folder.display());
            wrong(format!("{}{}", if e.path() == folder { &of_folder } else { "" }, e.reason()))
        })?;
        Ok(Self { path, name, output })
    }

    /// The file, by the one name of its folder that has no links in it.
    #[cfg(feature = "studies")]
    pub fn target(&self) -> std::path::PathBuf {
        let folder = self.output.directory();
        folder.canonicalize().unwrap_or_else(|_| folder.into()).join(&self.name)
    }

    /// The file, to be written once.
    pub fn file(&mut self) -> Result<OutputFile, Failure> {
        self.output.file(&self.name).map_err(Failure::run)
    }

    /// What to say if writing it fails.
    pub fn unwritable(&self, error: std::io::Error) -> Failure {
        Failure::run(format!("cannot write {}: {error}", self.path.display()))
    }

    /// What was written, ready to be put in place.
    pub fn written(self) -> Output {
        self.output
    }
}
