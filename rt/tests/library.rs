//! The static library as it is shipped: whose names it exports, and that it still works.

mod run;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use run::{Program, library, straight};
use schedules::primitives::{PRIMITIVES, Policy};

/// What `scripts/runtime-library` makes of the library under test.
fn shipped() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libshipped.a");
    let status = Command::new(root.join("scripts/runtime-library"))
        .arg(library())
        .arg(&out)
        .status()
        .unwrap();
    assert!(status.success());
    out
}

fn exported(library: &Path) -> BTreeSet<String> {
    let output = Command::new("nm")
        .args(["--defined-only", "--extern-only"])
        .arg(library)
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| line.split_whitespace().nth(2).map(str::to_owned))
        .collect()
}

#[test]
fn only_heddles_names_are_exported_and_every_enforced_primitive_is() {
    let library = shipped();
    let names = exported(&library);
    let foreign: Vec<_> = names
        .iter()
        .filter(|name| !name.starts_with("heddle_"))
        .collect();
    assert!(foreign.is_empty(), "{foreign:?}");
    let missing: Vec<_> = PRIMITIVES
        .iter()
        .filter(|row| row.policy == Policy::Enforced)
        .map(|row| format!("heddle_{}", row.symbol))
        .filter(|name| !names.contains(name))
        .collect();
    assert!(missing.is_empty(), "no runtime function: {missing:?}");
    let archive = straight(&["lock@20 unlock@21"]);
    let program = Program::build_with("shipped", "process", &[], &library).with(&archive);
    assert_eq!(program.conforming_run("", &["alone"]), "alone 1 0");
}
