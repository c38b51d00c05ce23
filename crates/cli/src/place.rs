//! Where a capture goes that the program writes.

use std::path::Path;

use dovetail_experiment::output::OutputFile;
use dovetail_experiment::report::Output;

use crate::failure::Failure;

/// A file that appears whole or not at all, in a folder that is there.
pub struct Place<'a> {
    path: &'a Path,
    name: String,
    output: Output,
}

impl<'a> Place<'a> {
    /// Begin to write to `path`.
    ///
    /// # Errors
    /// Why nothing can be written there.
    pub fn open(path: &'a Path) -> Result<Self, String> {
        let target = path.display();
        let wrong = |why: String| format!("cannot write {target}: {why}");
        let name = path.file_name().filter(|_| !path.as_os_str().as_encoded_bytes().ends_with(b"/"));
        let name = name.ok_or_else(|| wrong("it names no file".into()))?.to_string_lossy().to_string();
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folder.is_dir() {
            return Err(wrong(format!("there is no folder {}", folder.display())));
        }
        // Moving the result into place would take away a device or a pipe.
        if path.metadata().is_ok_and(|there| !there.is_file()) {
            return Err(wrong("it is there already and is no regular file".into()));
        }
        let output = Output::create(folder)
            .map_err(|e| wrong(format!("the folder {} takes no files: {}", folder.display(), e.reason())))?;
        Ok(Self { path, name, output })
    }

    /// The folder that it stands in.
    pub fn folder(&self) -> &Path {
        self.output.directory()
    }

    /// The file's name.
    pub fn name(&self) -> &str {
        &self.name
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
