//! Writing results to standard output: a reader that went away (`| head`) is not an error.

use std::io::{self, Write};

use anyhow::{Context as _, Result};

/// Prints all of `text`.
pub(crate) fn print(text: &str) -> Result<()> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("standard output"),
    }
}
