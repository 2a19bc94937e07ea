//! Messages to the user: one `write(2)` a line, no allocation, no lock.

use std::fmt::{self, Write};

/// Where messages go: descriptor 2 as it was at start-up, or nowhere if it was closed then.
static OPEN: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(true);

/// Call at start-up: if descriptor 2 is closed, nothing is ever written to whatever gets its number later.
pub(crate) fn remember() {
    // SAFETY: F_GETFD takes no pointer.
    let open = unsafe { libc::fcntl(2, libc::F_GETFD) } != -1;
    // Relaxed: written before a second thread exists.
    OPEN.store(open, std::sync::atomic::Ordering::Relaxed);
}

/// A fixed buffer that is written out when a line is complete; what does not fit is cut.
struct Line {
    bytes: [u8; 1024],
    len: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            if self.len < self.bytes.len() - 1 {
                // Control characters in names must not drive the terminal.
                self.bytes[self.len] = if byte < b' ' || byte == 0x7f {
                    b'?'
                } else {
                    byte
                };
                self.len += 1;
            }
        }
        Ok(())
    }
}

/// Writes one line.
pub(crate) fn line(text: fmt::Arguments<'_>) {
    // Relaxed: see `remember`.
    if !OPEN.load(std::sync::atomic::Ordering::Relaxed) {
        return;
    }
    let mut line = Line {
        bytes: [0; 1024],
        len: 0,
    };
    // A buffer that is full is not an error.
    let _ = line.write_fmt(text);
    line.bytes[line.len] = b'\n';
    write_all(&line.bytes[..=line.len]);
}

fn write_all(mut bytes: &[u8]) {
    let errno = super::process::errno();
    while !bytes.is_empty() {
        // SAFETY: the pointer and length are those of a live slice.
        let wrote = unsafe { libc::write(2, bytes.as_ptr().cast(), bytes.len()) };
        match usize::try_from(wrote) {
            Ok(count) if count > 0 => bytes = &bytes[count..],
            _ if super::process::errno() == libc::EINTR => {}
            _ => break,
        }
    }
    super::process::set_errno(errno);
}
