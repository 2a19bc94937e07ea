//! Writing an archive: killed at any moment, the path holds the old file or the new one.
//!
//! The bytes go to a temporary name in the same folder, reach the disk, and then replace the old file by one rename. A writer
//! that is killed may leave its temporary file (`.NAME.PID.N.partial`) behind; one that fails removes it. A symbolic link is followed, so that it
//! stays one.
//!
//! Same archive, same bytes: no time, no address, no hash map goes into the file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::archive::Archive;
use crate::file::Header;
use crate::plan_digest;
use crate::ranges::{self, Broken};

/// Why an archive was not written. What was at the path before is still there.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Our bug, found before a file is made that nobody could open.
    #[error("{path}: not written: the archive made for it is malformed ({broken}); this is a bug in Heddle", path = .path.display())]
    Malformed { path: PathBuf, broken: Broken },
    /// Input: the path names a directory, device or FIFO.
    #[error("{path}: is not a regular file", path = .0.display())]
    NotARegularFile(PathBuf),
    /// Input: the path has no file name.
    #[error("{path}: has no file name", path = .0.display())]
    NoFileName(PathBuf),
    /// Input: the system refused (no permission, no space, read-only, no such folder).
    #[error("{path}: cannot {what}: {error}", path = .path.display())]
    Io {
        path: PathBuf,
        what: &'static str,
        error: io::Error,
    },
}

impl Archive {
    /// The bytes of a file that holds this archive.
    pub fn to_bytes(&self) -> Vec<u8> {
        let body = self.body();
        let header = Header::new(&body, plan_digest::built_for_body(&body));
        let mut bytes = Vec::with_capacity(body.len() + crate::file::HEADER_LEN);
        bytes.extend_from_slice(&header.to_bytes());
        bytes.extend_from_slice(&body);
        bytes
    }

    fn body(&self) -> rkyv::util::AlignedVec {
        rkyv::to_bytes::<rkyv::rancor::Error>(self)
            .expect("serializing to memory fails only without memory")
    }

    /// Writes the archive to `path`, atomically.
    pub fn write(&self, path: &Path) -> Result<(), WriteError> {
        let body = self.body();
        ranges::check_body(&body).map_err(|broken| WriteError::Malformed {
            path: path.to_owned(),
            broken,
        })?;
        let header = Header::new(&body, plan_digest::built_for_body(&body)).to_bytes();
        write_atomically(path, &[&header, &body])
    }
}

/// Replaces the file at `path` by the concatenation of `parts`.
pub fn write_atomically(path: &Path, parts: &[&[u8]]) -> Result<(), WriteError> {
    let target = resolve(path)?;
    let (folder, temporary) = temporary_name(&target)?;
    let result = fill(&temporary, parts).and_then(|()| {
        fs::rename(&temporary, &target).map_err(|error| WriteError::Io {
            path: target.clone(),
            what: "be replaced",
            error,
        })
    });
    if result.is_err() {
        // The error that counts is the first one.
        let _ = fs::remove_file(&temporary);
    }
    result?;
    sync_folder(&folder)
}

/// Follows symbolic links and refuses what a rename would wrongly replace.
fn resolve(path: &Path) -> Result<PathBuf, WriteError> {
    let Ok(target) = fs::canonicalize(path) else {
        return Ok(path.to_owned());
    };
    if fs::metadata(&target).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(WriteError::NotARegularFile(path.to_owned()));
    }
    Ok(target)
}

/// A fresh name beside `target`: other processes differ by pid, other threads by number.
fn temporary_name(target: &Path) -> Result<(PathBuf, PathBuf), WriteError> {
    // Relaxed: only uniqueness matters.
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let name = target
        .file_name()
        .ok_or_else(|| WriteError::NoFileName(target.to_owned()))?;
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let mut temporary = std::ffi::OsString::from(".");
    temporary.push(name);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    temporary.push(format!(".{}.{number}.partial", std::process::id()));
    let temporary = folder.join(temporary);
    Ok((folder, temporary))
}

fn fill(temporary: &Path, parts: &[&[u8]]) -> Result<(), WriteError> {
    let at = |what| {
        move |error| WriteError::Io {
            path: temporary.to_owned(),
            what,
            error,
        }
    };
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(temporary)
        .map_err(at("be created"))?;
    for part in parts {
        file.write_all(part).map_err(at("be written"))?;
    }
    file.sync_all().map_err(at("reach the disk"))
}

fn sync_folder(folder: &Path) -> Result<(), WriteError> {
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|error| WriteError::Io {
            path: folder.to_owned(),
            what: "reach the disk",
            error,
        })
}
