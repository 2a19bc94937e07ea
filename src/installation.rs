//! Where this copy of Heddle keeps its other files.
//!
//! Two layouts are known: a build tree (everything beside the executable, the header in `rt/include`) and an installation
//! (`PREFIX/bin/heddle`, `PREFIX/lib/heddle/`, `PREFIX/include/heddle.h`). The executable's own place decides; no variable, no search path.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The runtime's file name in both layouts.
const RUNTIME: &str = "libheddle_rt.a";

/// The static library that enforced programs are linked with.
pub(crate) fn runtime_library() -> Result<PathBuf> {
    let executable = std::env::current_exe().context("cannot find out where heddle itself is")?;
    let places = runtime_places(&executable);
    for place in &places {
        if place.is_file() {
            return Ok(place.clone());
        }
    }
    fail!(
        MissingRuntime,
        "the runtime library {RUNTIME} is missing; looked at {} \
         (in a build tree run `cargo build --workspace`, else install Heddle again)",
        places
            .iter()
            .map(|place| place.display().to_string())
            .collect::<Vec<_>>()
            .join(" and ")
    );
}

fn runtime_places(executable: &Path) -> Vec<PathBuf> {
    let Some(folder) = executable.parent() else {
        return Vec::new();
    };
    let mut places = vec![folder.join(RUNTIME)];
    if let Some(prefix) = folder.parent() {
        places.push(prefix.join("lib/heddle").join(RUNTIME));
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_layouts_are_looked_at() {
        assert_eq!(
            runtime_places(Path::new("/opt/h/bin/heddle")),
            [
                Path::new("/opt/h/bin/libheddle_rt.a"),
                Path::new("/opt/h/lib/heddle/libheddle_rt.a")
            ]
        );
    }
}
