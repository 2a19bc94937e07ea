//! Compiles a micro program both ways and writes the gated one its archive.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use schedules::archive::{Archive, Next, Position, Program, Site, SiteId, SiteKind, StepId};
use schedules::primitives::NodeOp;
use schedules::{ArchiveBuilder, BuildNode};

use crate::process;

/// A program compiled both ways.
pub(super) struct Built {
    pub(super) native: PathBuf,
    pub(super) gated: PathBuf,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("micro")
}

/// The static library as it is shipped, made in `scratch` from the one beside the executable that runs now.
pub(super) fn library(scratch: &Path) -> Result<PathBuf> {
    let shipped = scratch.join("libheddle_rt.a");
    if shipped.exists() {
        return Ok(shipped);
    }
    let mut path = std::env::current_exe()?;
    path.set_file_name("libheddle_rt.a");
    ensure!(
        path.exists(),
        "{} is missing: run `cargo build --release --workspace` first",
        path.display()
    );
    let ship = folder().join("../../scripts/runtime-library");
    let status = std::process::Command::new(ship)
        .arg(path)
        .arg(&shipped)
        .status()?;
    ensure!(status.success(), "scripts/runtime-library: {status}");
    Ok(shipped)
}

/// Compiles `source` as `name` in `scratch`; `archive` gets written beside the gated one.
pub(super) fn build(
    scratch: &Path,
    name: &str,
    source: &str,
    defines: &[String],
    archive: &Archive,
) -> Result<Built> {
    let native = scratch.join(format!("{name}-native"));
    let gated = scratch.join(name);
    // First: a program may have it embedded.
    archive
        .write(&gated.with_extension("heddle"))
        .with_context(|| format!("cannot write the archive of {name}"))?;
    let header = folder().join("../../rt/tests/programs");
    let common = [
        "-O2",
        "-Wno-unused-function",
        "-Wno-unused-variable",
        "-Wno-unused-const-variable",
    ];
    for (output, ways) in [(&native, "-DNATIVE"), (&gated, "-DGATED")] {
        let mut command = std::process::Command::new(process::clang());
        command
            .args(["-g", "-Wall", "-Werror", ways])
            .args(common)
            .arg("-I")
            .arg(&header)
            .arg(format!("-DARCHIVE=\"{name}.heddle\""))
            .args(defines.iter().map(|define| format!("-D{define}")))
            .arg(folder().join(source).with_extension("c"));
        if ways == "-DGATED" {
            command.arg(library(scratch)?);
            // As `heddle build` links it.
            command.args(["-static-libgcc", "-Wl,--exclude-libs,libgcc_eh.a"]);
        }
        command.args(["-lpthread", "-ldl", "-lm", "-o"]).arg(output);
        let outcome = process::run(&mut command, std::time::Duration::from_secs(120))?;
        ensure!(
            outcome.end == process::End::Exit(0),
            "{source}: {}",
            outcome.stderr
        );
    }
    Ok(Built { native, gated })
}

/// A node.
pub(super) fn node(op: NodeOp, site: u32, what: u32, edges: &[(u16, i32)]) -> BuildNode {
    BuildNode {
        site: SiteId(site),
        what,
        op,
        optional: false,
        serial: false,
        edges: edges.to_vec(),
    }
}

/// Lanes of nodes by slot, built in the order in which things happen.
#[derive(Default)]
pub(super) struct Lanes {
    lanes: Vec<Vec<BuildNode>>,
}

impl Lanes {
    /// With `slots` lanes.
    pub(super) fn new(slots: usize) -> Self {
        Self {
            lanes: vec![Vec::new(); slots],
        }
    }

    /// Adds a node that comes after everything named in `after`; returns what to name to come after it.
    pub(super) fn add(
        &mut self,
        slot: usize,
        op: NodeOp,
        site: u32,
        what: u32,
        after: &[(u16, i32)],
    ) -> (u16, i32) {
        let own = u16::try_from(slot).expect("few slots");
        let mut edges: Vec<_> = after
            .iter()
            .copied()
            .filter(|(from, _)| *from != own)
            .collect();
        edges.sort_unstable();
        self.lanes[slot].push(node(op, site, what, &edges));
        (own, i32::try_from(self.lanes[slot].len()).expect("short"))
    }

    /// Main creates the threads of slots `1..`, at site 1.
    pub(super) fn start_all(&mut self) {
        for slot in 1..self.lanes.len() {
            let create = self.add(0, NodeOp::ThreadCreate, 1, slot as u32, &[]);
            self.add(slot, NodeOp::ThreadStart, 0, 0, &[create]);
        }
    }

    /// They end, and main joins them, at site 2.
    pub(super) fn join_all(&mut self) {
        for slot in 1..self.lanes.len() {
            let exit = self.add(slot, NodeOp::ThreadExit, 0, 0, &[]);
            self.add(0, NodeOp::ThreadJoin, 2, 0, &[exit]);
        }
    }

    /// As they are.
    pub(super) fn into_lanes(self) -> Vec<Vec<BuildNode>> {
        self.lanes
    }

    /// One epoch, one fragment, then the process ends.
    pub(super) fn straight(self) -> Archive {
        let mut maker = Maker::new();
        let slots = self.lanes.len();
        let root = maker.step(self.lanes, Next::Exit);
        maker.epoch(1, 0, slots, root);
        maker.builder.finish()
    }
}

/// An archive in the making.
pub(super) struct Maker {
    pub(super) builder: ArchiveBuilder,
}

impl Default for Maker {
    fn default() -> Self {
        Self::new()
    }
}

impl Maker {
    pub(super) fn new() -> Self {
        let mut fingerprint = [0; 16];
        // As in the header of the runtime's own test programs.
        fingerprint[0] = 7;
        let mut builder = ArchiveBuilder::new(Program {
            name: "micro".into(),
            fingerprint,
            thread_bound: 16,
            ..Program::default()
        });
        let text = builder.text("micro.c");
        let position = |line| Position {
            function: text,
            file: text,
            line,
            column: 0,
        };
        for line in 0..16 {
            builder.site(Site {
                stable: u64::from(line) + 1,
                kind: SiteKind::Point,
                function: text,
                position: position(line),
                inlined_at: vec![],
            });
        }
        builder.object("object", false);
        let mut maker = Self { builder };
        // The program begins in epoch 0.
        maker.declare(1, 0);
        maker
    }

    pub(super) fn step(&mut self, lanes: Vec<Vec<BuildNode>>, next: Next) -> StepId {
        let fragment = self.builder.fragment(lanes);
        self.builder.step(fragment, next)
    }

    /// The id of the epoch in which `living` threads stand; `tag` tells epochs apart.
    pub(super) fn declare(&mut self, living: usize, tag: u32) -> schedules::EpochId {
        let context = self.builder.context(&[SiteId(tag)]);
        self.builder.epoch(&vec![context; living])
    }

    pub(super) fn epoch(&mut self, living: usize, tag: u32, slots: usize, root: StepId) {
        let epoch = self.declare(living, tag);
        let slots = u16::try_from(slots).expect("few slots");
        self.builder.define_epoch(epoch, slots, root, 0);
    }
}
