//! Everything that changes bitcode: compile, prepare (site ids), instrument, optimize, link.
//!
//! ```text
//! sources ──compile──▶ raw ──prepare──▶ prepared ──instrument(archive)──▶ instrumented ──optimize_and_link──▶ executable
//! ```
//!
//! **Guarantees.** The same sources and flags give byte-identical prepared bitcode. Instrumented bitcode has passed LLVM's
//! verifier. Outputs appear whole or not at all.
//!
//! Deliberately absent: any decision about schedules. What to insert, and where, is the archive's plan; what a program does is the
//! enumerator's business. LLVM handles do not leave [`ir`].

mod cfg;
mod compile;
mod error;
mod externals;
mod instrument;
pub mod ir;
mod link;
mod origin;
mod prepare;
mod tools;
mod wrap;

pub use compile::compile;
pub use error::{Class, Error, Place, Result};
pub use externals::{Externals, externals, require_main};
pub use instrument::{InstrumentOptions, instrument};
pub use link::{LinkOptions, Staged, find_runtime, optimize_and_link};
pub use origin::{Native, Origin};
pub use prepare::{PREPARED_VERSION, SiteRow, prepare, site_table, unsupported};

/// A bitcode file in memory.
#[derive(Clone, PartialEq, Eq)]
pub struct Bitcode(pub Vec<u8>);

impl Bitcode {
    /// XXH3-128 of the bytes: what ties an archive to the program it was made from.
    pub fn fingerprint(&self) -> [u8; 16] {
        xxhash_rust::xxh3::xxh3_128(&self.0).to_le_bytes()
    }

    /// Reads a file.
    pub fn read(path: &std::path::Path) -> Result<Self> {
        std::fs::read(path).map(Self).map_err(|source| Error::File {
            path: path.to_owned(),
            source,
        })
    }

    /// Joins several modules into one, in order, as a linker would.
    pub fn link(modules: &[Bitcode]) -> Result<Bitcode> {
        if let [only] = modules {
            return Ok(only.clone());
        }
        let context = ir::Context::new();
        let whole = context.empty_module("program")?;
        for module in modules {
            whole.absorb(context.parse(module)?)?;
        }
        Ok(whole.to_bitcode())
    }

    /// A program whose symbols, but for `main` and those in `keep`, are its own: what nothing uses is gone.
    pub fn internalize(&self, keep: &std::collections::BTreeSet<String>) -> Result<Bitcode> {
        let context = ir::Context::new();
        let module = context.parse(self)?;
        let mut kept = String::from("preserve-gv=main");
        // The names of the pipeline's own syntax cannot be said in it; C and C++ symbols have none of its characters.
        for name in keep.iter().filter(|name| !name.contains([';', '>'])) {
            kept.push_str(";preserve-gv=");
            kept.push_str(name);
        }
        module.run_passes(&format!("internalize<{kept}>,globaldce"));
        Ok(module.to_bitcode())
    }

    /// The module as LLVM's assembly text, for people and tests.
    pub fn to_text(&self) -> Result<String> {
        let context = ir::Context::new();
        Ok(context.parse(self)?.to_text())
    }
}

impl std::fmt::Debug for Bitcode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bitcode({} bytes)", self.0.len())
    }
}
