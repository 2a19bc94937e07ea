//! C programs as test input: compiled as the product compiles them, loaded, verified.

use std::path::PathBuf;
use std::process::Command;

use super::load::{LoadError, load};
use super::verify::verify;
use super::{FuncId, Module};

fn run(command: &mut Command) {
    let output = command.output().expect("the LLVM 19 tools are installed");
    assert!(
        output.status.success(),
        "{command:?}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Compiles C (or, for a source that begins with `; ModuleID` or `define`, LLVM assembly) to bitcode and hands its path to `then`.
pub fn with_bitcode<T>(source: &str, then: impl FnOnce(PathBuf) -> T) -> T {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let raw = folder.path().join("raw.bc");
    let clean = folder.path().join("test.bc");
    if source.starts_with("; ModuleID") || source.starts_with("define") {
        let text = folder.path().join("test.ll");
        std::fs::write(&text, source).expect("writable");
        run(Command::new("llvm-as-19").arg(&text).arg("-o").arg(&clean));
    } else {
        std::fs::write(folder.path().join("test.c"), source).expect("writable");
        run(Command::new("clang-19")
            .current_dir(folder.path())
            .args(["-O1", "-Xclang", "-disable-llvm-passes", "-g"])
            .args(["-emit-llvm", "-c", "test.c", "-o", "raw.bc"]));
        run(Command::new("opt-19")
            .arg("-passes=always-inline,function(sroa,early-cse,simplifycfg)")
            .arg(&raw)
            .arg("-o")
            .arg(&clean));
    }
    then(clean)
}

/// Compiles, loads and verifies.
pub fn compile(source: &str) -> Module {
    let module = with_bitcode(source, |path| load(&path)).expect("loads");
    assert_eq!(verify(&module), Vec::<String>::new());
    module
}

/// Why a source is refused.
pub fn refusal(source: &str) -> LoadError {
    with_bitcode(source, |path| load(&path)).expect_err("must be refused")
}

/// The function of this name.
pub fn func(module: &Module, name: &str) -> FuncId {
    module
        .function_named(name)
        .unwrap_or_else(|| panic!("no function {name}"))
}
