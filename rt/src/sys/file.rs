//! The one file the runtime may write: the trace.

use std::ffi::CString;

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
