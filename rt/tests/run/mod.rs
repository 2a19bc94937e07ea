//! Builds a hand-instrumented C program, writes it an archive, runs it.
//!
//! A lane is text: `lock@3<1.2` is a `MutexLock` node at site 3 that waits until slot 1 has passed two nodes;
//! `create@1=2` creates the thread of slot 2; `branch@7=1` takes outcome 1; `?` behind a node makes it optional, `!` the serial
//! one of a barrier; `BarrierArrive@3` is any operation by its name.

#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use schedules::archive::*;
use schedules::primitives::NodeOp;
use schedules::{ArchiveBuilder, BuildNode};

/// Folder for everything a test makes; another one with `HEDDLE_RT_SCRATCH`, for long runs beside others.
fn scratch() -> PathBuf {
    let folder = std::env::var_os("HEDDLE_RT_SCRATCH").map_or_else(
        || Path::new(env!("CARGO_TARGET_TMPDIR")).join("rt"),
        PathBuf::from,
    );
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The static library that belongs to this test: `HEDDLE_RT_LIBRARY`, or the newest in the folder the test lies in.
pub(crate) fn library() -> PathBuf {
    if let Some(named) = std::env::var_os("HEDDLE_RT_LIBRARY") {
        return named.into();
    }
    let test = std::env::current_exe().unwrap();
    let deps = test.parent().unwrap();
    let mut found: Vec<_> = std::fs::read_dir(deps)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.starts_with("libheddle_rt") && name.ends_with(".a")
        })
        .collect();
    found.sort_by_key(|path| std::fs::metadata(path).unwrap().modified().unwrap());
    found
        .pop()
        .expect("cargo builds the static library with the tests")
}

/// `HEDDLE_RT_CFLAGS`: for sanitizers.
fn extra_flags() -> String {
    std::env::var("HEDDLE_RT_CFLAGS").unwrap_or_default()
}

/// A program ready to run.
pub(crate) struct Program {
    pub(crate) executable: PathBuf,
    pub(crate) archive: PathBuf,
    pub(crate) contents: Option<Archive>,
}

impl Program {
    /// Compiles `tests/programs/<source>.c` as `<name>`; `flags` go to the compiler.
    pub(crate) fn build_as(name: &str, source: &str, flags: &[&str]) -> Self {
        Self::build_with(name, source, flags, &library())
    }

    /// As `build_as`, with another library.
    pub(crate) fn build_with(name: &str, source: &str, flags: &[&str], library: &Path) -> Self {
        let executable = scratch().join(name);
        let archive = executable.with_extension("heddle");
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
        let status = Command::new("clang-19")
            .args([
                "-O1",
                "-g",
                "-Wall",
                "-Werror",
                "-Wno-unused-function",
                "-Wno-unused-const-variable",
                "-Wno-unused-variable",
            ])
            .arg(format!("-DARCHIVE=\"{name}.heddle\""))
            .args(flags)
            .args(extra_flags().split_whitespace())
            .arg(programs.join(source).with_extension("c"))
            .arg(library)
            .args(["-lgcc_s", "-lpthread", "-ldl", "-lm", "-o"])
            .arg(&executable)
            .status()
            .unwrap();
        assert!(status.success(), "clang-19 failed on {source}");
        Self {
            executable,
            archive,
            contents: None,
        }
    }

    pub(crate) fn build(name: &str) -> Self {
        Self::build_as(name, name, &[])
    }

    pub(crate) fn with(mut self, archive: &Archive) -> Self {
        archive.write(&self.archive).unwrap();
        self.contents = Some(archive.clone());
        self
    }

    pub(crate) fn run(&self, options: &str) -> Output {
        self.run_with(options, &[])
    }

    pub(crate) fn run_with(&self, options: &str, arguments: &[&str]) -> Output {
        // A hang is a failure like any other, not the end of the test run.
        let mut command = Command::new("timeout");
        command.args(["--signal=KILL", "60"]);
        // Every third run has one core for all its threads.
        if options.len() % 3 == 2 {
            command.args(["taskset", "1"]);
        }
        command
            .arg(&self.executable)
            .args(arguments)
            .env("HEDDLE_OPTIONS", options)
            .output()
            .unwrap()
    }

    /// Runs once with a trace; the run must end well, and its trace must conform to the archive.
    #[track_caller]
    pub(crate) fn conforming_run(&self, options: &str, arguments: &[&str]) -> String {
        let trace = self
            .executable
            .with_extension(format!("{}.trace", std::process::id()));
        let traced = format!("trace={}:{options}", trace.display());
        let output = self.run_with(&traced, arguments);
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{options}: {}\n{complaint}",
            output.status
        );
        self.conforms(&trace, options);
        String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned()
    }

    /// Runs many times under random delays, on one core and on all; every run must print `expected`, end well and conform.
    #[track_caller]
    pub(crate) fn always_prints(&self, expected: &str) {
        self.always_prints_for(&[], expected);
    }

    #[track_caller]
    pub(crate) fn always_prints_for(&self, arguments: &[&str], expected: &str) {
        let all = runs();
        for from in (0..all).step_by(BATCH) {
            self.rounds(from, (all - from).min(BATCH as u64), arguments, expected);
        }
        let output = self.run_with("", arguments);
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim_end(), expected);
        assert!(output.status.success());
    }

    /// The program once for each of the seeds, without being loaded again (`HEDDLE_ROUNDS` in `programs/heddle.h`).
    #[track_caller]
    fn rounds(&self, from: u64, count: u64, arguments: &[&str], expected: &str) {
        let folder = tempfile::tempdir_in(scratch()).unwrap();
        let prefix = folder.path().join("r");
        let rounds = format!("{from}:{count}:{AT_ONCE}:{}", prefix.display());
        let output = Command::new(&self.executable)
            .args(arguments)
            .env("HEDDLE_ROUNDS", rounds)
            .output()
            .unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "seeds from {from}: {complaint}");
        for seed in from..from + count {
            let file = |kind: &str| format!("{}.{seed}.{kind}", prefix.display());
            let printed = std::fs::read_to_string(file("out")).unwrap();
            assert_eq!(printed.trim_end(), expected, "seed {seed}");
            self.conforms(Path::new(&file("trace")), &format!("seed {seed}"));
        }
    }

    /// The trace is one that the archive allows.
    #[track_caller]
    fn conforms(&self, trace: &Path, which: &str) {
        let bytes = std::fs::read(trace).unwrap();
        let trace = schedules::trace::Trace::parse(&bytes).unwrap();
        assert!(!trace.records.is_empty());
        let archive = self.contents.as_ref().expect("has an archive");
        if let Err(wrong) = schedules::conform::conform(archive, &trace) {
            panic!("{which}: {wrong}");
        }
    }
}

/// Rounds between two looks at what came out.
const BATCH: usize = 200;

/// Most of a round is delays, so several fit on a core.
const AT_ONCE: usize = 4;

/// How often each program runs: `HEDDLE_RT_RUNS`, or a few times.
pub(crate) fn runs() -> u64 {
    std::env::var("HEDDLE_RT_RUNS").map_or(12, |runs| runs.parse().unwrap())
}

/// Runs a program without any order and under `archive`: both print the same.
#[track_caller]
pub(crate) fn same_as_native(source: &str, archive: &Archive) {
    let program = Program::build(source).with(archive);
    let native = program.run("archive=none");
    assert!(native.status.success(), "native: {}", native.status);
    let expected = String::from_utf8_lossy(&native.stdout);
    assert!(!expected.trim().is_empty());
    program.always_prints(expected.trim_end());
}

/// An archive in the making, with as many sites and objects as anybody needs.
pub(crate) struct Maker {
    pub(crate) builder: ArchiveBuilder,
    pub(crate) context: ContextId,
}

pub(crate) fn maker() -> Maker {
    let mut fingerprint = [0; 16];
    fingerprint[0] = 7;
    let mut builder = ArchiveBuilder::new(schedules::Program {
        name: "test".into(),
        fingerprint,
        thread_bound: 8,
        ..Default::default()
    });
    let file = builder.text("test.c");
    let function = builder.text("test");
    for line in 0..100 {
        builder.site(Site {
            stable: u64::from(line) + 1000,
            kind: SiteKind::Point,
            function,
            position: Position {
                function,
                file,
                line: line + 1,
                column: 0,
            },
            inlined_at: vec![],
        });
    }
    for object in 0..10 {
        builder.object(&format!("object {object}"), false);
    }
    let context = builder.context(&[SiteId(0)]);
    Maker { builder, context }
}

impl Maker {
    pub(crate) fn fragment(&mut self, lanes: &[&str]) -> FragmentId {
        let lanes = lanes
            .iter()
            .map(|lane| lane.split_whitespace().map(node).collect())
            .collect();
        self.builder.fragment(lanes)
    }

    pub(crate) fn step(&mut self, lanes: &[&str], next: Next) -> StepId {
        let fragment = self.fragment(lanes);
        self.builder.step(fragment, next)
    }

    /// Declares the epoch in which `living` threads stand; `tag` tells epochs with equal numbers apart.
    pub(crate) fn epoch(&mut self, living: usize, tag: u32) -> EpochId {
        let context = self.builder.context(&[SiteId(tag)]);
        self.builder.epoch(&vec![context; living])
    }

    pub(crate) fn late(&mut self, slot: u16, site: u32, arms: &[(u32, StepId)]) -> Next {
        let text = self.builder.text("x");
        Next::Late {
            slot,
            site: SiteId(site),
            condition: text,
            why: text,
            arms: arms
                .iter()
                .map(|(outcome, step)| LateArm {
                    outcome: *outcome,
                    step: *step,
                })
                .collect(),
        }
    }

    pub(crate) fn early(&mut self, code: Vec<PredicateOp>, yes: StepId, no: StepId) -> Next {
        let predicate = self.builder.predicate(code, "x");
        Next::Early {
            site: SiteId(0),
            predicate,
            yes,
            no,
        }
    }

    pub(crate) fn finish(self) -> Archive {
        self.builder.finish()
    }
}

/// One epoch, one fragment, then the process ends.
pub(crate) fn straight(lanes: &[&str]) -> Archive {
    let mut maker = maker();
    let epoch = maker.epoch(1, 0);
    let root = maker.step(lanes, Next::Exit);
    maker
        .builder
        .define_epoch(epoch, u16::try_from(lanes.len()).unwrap(), root, 0);
    maker.finish()
}

fn node(text: &str) -> BuildNode {
    let optional = text.ends_with('?');
    let serial = text.ends_with('!');
    let text = text.trim_end_matches(['?', '!']);
    let (head, edges) = text.split_once('<').unwrap_or((text, ""));
    let (head, what) = head.split_once('=').unwrap_or((head, "0"));
    let (op, site) = head.split_once('@').unwrap();
    BuildNode {
        site: SiteId(site.parse().unwrap()),
        what: what.parse().unwrap(),
        op: operation(op),
        optional,
        serial,
        edges: edges
            .split(',')
            .filter(|edge| !edge.is_empty())
            .map(edge)
            .collect(),
    }
}

fn edge(text: &str) -> (u16, i32) {
    let (slot, position) = text.split_once('.').unwrap();
    (slot.parse().unwrap(), position.parse().unwrap())
}

fn operation(name: &str) -> NodeOp {
    match name {
        "create" => NodeOp::ThreadCreate,
        "start" => NodeOp::ThreadStart,
        "exit" => NodeOp::ThreadExit,
        "join" => NodeOp::ThreadJoin,
        "detach" => NodeOp::ThreadDetach,
        "lock" => NodeOp::MutexLock,
        "trylock" => NodeOp::MutexTryLock,
        "unlock" => NodeOp::MutexUnlock,
        "marker" => NodeOp::Marker,
        "branch" => NodeOp::Branch,
        "arm" => NodeOp::Arm,
        "armsend" => NodeOp::ArmsEnd,
        "outcome" => NodeOp::Outcome,
        other => *NodeOp::ALL
            .iter()
            .find(|op| format!("{op:?}") == other)
            .unwrap_or_else(|| panic!("no operation `{other}`")),
    }
}
