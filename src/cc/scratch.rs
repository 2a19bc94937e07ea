//! A directory for objects that live as long as one command.

use std::path::{Path, PathBuf};

/// Removed with its contents when it goes out of scope.
pub(super) struct Scratch(PathBuf);

impl Scratch {
    pub(super) fn new() -> std::io::Result<Self> {
        let base = std::env::temp_dir();
        let mut number = 0u32;
        loop {
            let path = base.join(format!("heddle-cc-{}-{number}", std::process::id()));
            match std::fs::create_dir(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A leftover in the temporary directory harms nobody, and this program has nothing to say.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
