//! Outcomes on disk, so that an enumeration that was killed goes on where it was.
//!
//! One file an outcome, named by the digest of everything it depends on. A file is written under another name and renamed, and
//! carries a checksum: whatever is damaged, cut or of another make is as if it were not there. Storing is a convenience: when it
//! fails, the enumeration goes on without.

use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use super::explore::Ground;
use super::outcome::{Outcome, Task};
use crate::symbolic::portable::{Reader, Writer};

/// Names a task among all tasks of all programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Digest(u128);

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// A folder of outcomes, or nothing.
pub(super) struct Store {
    folder: Option<PathBuf>,
    /// Of program, options and tool.
    base: Vec<u8>,
}

impl Store {
    pub(super) fn open(ground: Ground<'_>) -> Self {
        let folder = ground.options.store.clone();
        let folder = folder.filter(|folder| std::fs::create_dir_all(folder).is_ok());
        let mut base = Writer::default();
        base.text(&tool());
        base.slice(&ground.module.fingerprint);
        base.number(ground.options.thread_bound.into());
        base.count(ground.options.assumptions.len());
        for assumption in &ground.options.assumptions {
            base.text(assumption);
        }
        Self {
            folder,
            base: base.finish(),
        }
    }

    pub(super) fn digest(&self, ground: Ground<'_>, task: &Task) -> Digest {
        let mut all = self.base.clone();
        all.extend(task.bytes(ground.module));
        Digest(xxh3_128(&all))
    }

    fn path(&self, digest: Digest) -> Option<PathBuf> {
        let folder = self.folder.as_ref()?;
        Some(folder.join(format!("{digest}.outcome")))
    }

    pub(super) fn load(&self, ground: Ground<'_>, digest: Digest) -> Option<Outcome> {
        let bytes = std::fs::read(self.path(digest)?).ok()?;
        let (sum, body) = bytes.split_at_checked(8)?;
        if sum != xxh3_64(body).to_le_bytes() {
            return None;
        }
        Outcome::read(ground.names, &mut Reader::new(body)).ok()
    }

    pub(super) fn save(&self, ground: Ground<'_>, digest: Digest, outcome: &Outcome) {
        let Some(path) = self.path(digest).filter(|_| !outcome.cut) else {
            return;
        };
        let mut body = Writer::default();
        outcome.write(ground.module, &mut body);
        let body = body.finish();
        let mut bytes = xxh3_64(&body).to_le_bytes().to_vec();
        bytes.extend(body);
        let unfinished = path.with_extension("unfinished");
        let written = std::fs::write(&unfinished, bytes);
        if written
            .and_then(|()| std::fs::rename(&unfinished, &path))
            .is_err()
        {
            // A full disk, most likely: the next run does it again.
            let _ = std::fs::remove_file(&unfinished);
        }
    }
}

/// Removes a store: its own files, then the folder if nothing else is in it.
pub fn remove_store(folder: &Path) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let path = entry.path();
        let ours = path.extension();
        if ours.is_some_and(|end| end == "outcome" || end == "unfinished") {
            let _ = std::fs::remove_file(path);
        }
    }
    let _ = std::fs::remove_dir(folder);
}

/// Which make of the tool: a development build changes without changing its version.
fn tool() -> String {
    let program = std::env::current_exe().and_then(std::fs::metadata);
    let make = program.map(|data| {
        let modified = data.modified().ok();
        let since = modified.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        (data.len(), since.map(|since| since.as_nanos()))
    });
    format!("{} {:?}", env!("CARGO_PKG_VERSION"), make.ok())
}
