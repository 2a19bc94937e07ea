//! The two files the runtime touches: the archive, which it reads, and the trace, which it may write.

use std::ffi::CString;
use std::fmt;
use std::fs::{File, Metadata, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Input: why a file is not trusted.
#[derive(Debug)]
pub(crate) enum Untrusted {
    Cannot(std::io::Error),
    Link,
    Owner(u32),
    Writable,
    Folder,
}

impl fmt::Display for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Untrusted::Cannot(error) if error.kind() == std::io::ErrorKind::NotFound => {
                write!(f, "no such file")
            }
            Untrusted::Cannot(error) => write!(f, "cannot be opened: {error}"),
            Untrusted::Link => write!(
                f,
                "is a symbolic link, which is not followed; name the file itself"
            ),
            Untrusted::Owner(user) => write!(
                f,
                "belongs to user {user}, who is neither you, nor root, nor the owner of the program"
            ),
            Untrusted::Writable => {
                write!(
                    f,
                    "can be changed by other users; take away their right to write"
                )
            }
            Untrusted::Folder => write!(
                f,
                "lies in a folder where every user may replace it; move it or take away that right"
            ),
        }
    }
}

/// Opens a file for reading if nobody but the caller, root and the program's owner can have put it there or can change it.
/// `strict`: the program has more rights than its caller, so the caller is not trusted either, nor is a group.
pub(crate) fn open_trusted(path: &Path, strict: bool) -> Result<File, Untrusted> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(libc::ELOOP) => Untrusted::Link,
        _ => Untrusted::Cannot(error),
    })?;
    let found = file.metadata().map_err(Untrusted::Cannot)?;
    let others = if strict { 0o022 } else { 0o002 };
    if found.is_file() && found.mode() & others != 0 {
        return Err(Untrusted::Writable);
    }
    if !is_trusted(found.uid(), strict) {
        return Err(Untrusted::Owner(found.uid()));
    }
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let folder = std::fs::metadata(folder.unwrap_or(Path::new("."))).map_err(Untrusted::Cannot)?;
    if folder.mode() & others != 0 && folder.mode() & libc::S_ISVTX == 0 {
        return Err(Untrusted::Folder);
    }
    Ok(file)
}

fn is_trusted(owner: u32, strict: bool) -> bool {
    // SAFETY: takes nothing.
    let effective = unsafe { libc::geteuid() };
    let program = std::fs::metadata("/proc/self/exe").ok();
    owner == 0
        || program.as_ref().map(Metadata::uid) == Some(owner)
        || (!strict && owner == effective)
}

/// Input: the file cannot be created.
#[derive(Debug)]
pub(crate) struct Failed(pub(crate) std::io::Error);

/// Creates or truncates `path`; never follows a link, never waits, not inherited by `exec`.
pub(crate) fn create(path: &str) -> Result<i32, Failed> {
    let path = CString::new(path).map_err(|_| Failed(std::io::ErrorKind::InvalidInput.into()))?;
    let flags = libc::O_WRONLY
        | libc::O_CREAT
        | libc::O_TRUNC
        | libc::O_APPEND
        | libc::O_CLOEXEC
        | libc::O_NOFOLLOW
        | libc::O_NOCTTY;
    // SAFETY: `path` is a C string that lives across the call.
    let descriptor = unsafe { libc::open(path.as_ptr(), flags, 0o600) };
    if descriptor < 0 {
        return Err(Failed(std::io::Error::last_os_error()));
    }
    Ok(descriptor)
}

/// Writes all of `bytes`, unless the system refuses. Small appends are not mixed with those of other threads.
pub(crate) fn write_all(descriptor: i32, mut bytes: &[u8]) {
    let errno = super::process::errno();
    while !bytes.is_empty() {
        // SAFETY: the pointer and length are those of a live slice.
        let wrote = unsafe { libc::write(descriptor, bytes.as_ptr().cast(), bytes.len()) };
        match usize::try_from(wrote) {
            Ok(count) if count > 0 => bytes = &bytes[count..],
            _ if super::process::errno() == libc::EINTR => {}
            _ => break,
        }
    }
    super::process::set_errno(errno);
}
