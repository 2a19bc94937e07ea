//! Where `heddle.h` is: `PREFIX/include` of an installation, `rt/include` of a build tree. The executable's own place decides.

use std::path::PathBuf;

/// The folder of `heddle.h`, if it is where it should be.
pub(crate) fn folder() -> Option<PathBuf> {
    let executable = std::env::current_exe().ok()?;
    let mut places = executable.ancestors().skip(2).take(2);
    places
        .by_ref()
        .flat_map(|folder| [folder.join("include"), folder.join("rt/include")])
        .find(|folder| folder.join("heddle.h").is_file())
}
