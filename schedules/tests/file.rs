//! An archive survives its file, and a wrong file is refused for the right reason.

use std::path::Path;

use schedules::file::{Architecture, BuiltFor, HEADER_LEN, Header};
use schedules::primitives::NodeOp;
use schedules::{
    Archive, ArchiveBuilder, BuildNode, Next, OpenArchive, Position, Program, Refusal, Site,
    SiteId, SiteKind,
};

fn site(builder: &mut ArchiveBuilder, line: u32) -> SiteId {
    let function = builder.text("main");
    let file = builder.text("a.c");
    builder.site(Site {
        stable: u64::from(line) * 7,
        kind: SiteKind::Entry,
        function,
        position: Position {
            function,
            file,
            line,
            column: 1,
        },
        inlined_at: Vec::new(),
    })
}

/// Two slots that take one lock, slot 1 after slot 0; then slot 0 waits for slot 1 in a second step.
fn sample() -> Archive {
    let mut builder = ArchiveBuilder::new(Program {
        name: "a.c".into(),
        fingerprint: [9; 16],
        thread_bound: 2,
        ..Program::default()
    });
    let site = site(&mut builder, 3);
    let lock = builder.object("m", false);
    let node = |op, edges: &[(u16, i32)]| BuildNode {
        site,
        what: lock.0,
        op,
        optional: false,
        serial: false,
        edges: edges.to_vec(),
    };
    let pair = |edges| {
        vec![
            node(NodeOp::MutexLock, edges),
            node(NodeOp::MutexUnlock, &[]),
        ]
    };
    let garbage = builder.fragment(vec![pair(&[(1, 1)])]);
    builder.step(garbage, Next::Exit);
    let second = builder.fragment(vec![pair(&[(1, 0)]), vec![]]);
    assert_eq!(second, builder.fragment(vec![pair(&[(1, 0)])]));
    let first = builder.fragment(vec![pair(&[]), pair(&[(0, 2)])]);
    let end = builder.step(second, Next::Exit);
    let condition = builder.text("x > 0");
    let why = builder.text("read during the epoch");
    let root = builder.step(
        first,
        Next::Late {
            slot: 0,
            site,
            condition,
            why,
            arms: vec![
                schedules::LateArm {
                    outcome: 1,
                    step: end,
                },
                schedules::LateArm {
                    outcome: 0,
                    step: end,
                },
            ],
        },
    );
    let context = builder.context(&[site]);
    let epoch = builder.epoch(&[context]);
    builder.define_epoch(epoch, 2, root, 0);
    builder.finish()
}

#[test]
fn what_is_written_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.heddle");
    let archive = sample();
    archive.write(&path).unwrap();
    archive.write(&path).unwrap();
    assert_eq!(Archive::read(&path).unwrap(), archive);
    assert_eq!(std::fs::read(&path).unwrap(), archive.to_bytes());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    assert!(OpenArchive::open_for(&path, archive.built_for()).is_ok());
}

#[test]
fn what_nobody_could_open_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.heddle");
    let mut archive = sample();
    archive.nodes[0].site = SiteId(7);
    let error = archive.write(&path).unwrap_err().to_string();
    assert!(error.contains("node 0 names site 7"), "{error}");
    assert!(!path.exists());
}

#[test]
fn only_awaited_nodes_publish() {
    let archive = sample();
    let publishes: Vec<bool> = archive.nodes.iter().map(|node| node.flags != 0).collect();
    // Slot 0: lock, unlock (slot 1 waits for it); slot 1: lock, unlock (the second step waits for it); second step: none.
    assert_eq!(publishes, [false, true, false, true, false, false]);
    assert_eq!(archive.steps.len(), 2, "what no epoch reaches is dropped");
}

#[test]
fn archived_rows_are_small() {
    assert_eq!(size_of::<schedules::ArchivedNode>(), 12);
    assert_eq!(size_of::<schedules::ArchivedEdge>(), 6);
    assert_eq!(size_of::<schedules::ArchivedLane>(), 12);
}

#[test]
fn lanes_are_read_in_place() {
    let open = OpenArchive::open_bytes(&sample().to_bytes()).unwrap();
    let step = open.step(open.epoch(schedules::EpochId(0)).root.into());
    let lane = open.lane(step.fragment.into(), 1);
    assert_eq!(lane.nodes.len(), 2);
    assert_eq!(lane.nodes[0].op(), NodeOp::MutexLock);
    assert_eq!((lane.edges[0].slot(), lane.edges[0].position()), (0, 2));
    assert!(open.lane(step.fragment.into(), 7).nodes.is_empty());
    assert_eq!(open.place(SiteId(0)).to_string(), "a.c:3");
}

fn refusal(bytes: &[u8]) -> String {
    OpenArchive::open_bytes(bytes).unwrap_err().to_string()
}

#[test]
fn each_wrong_file_has_its_error() {
    let good = sample().to_bytes();
    assert_eq!(refusal(b""), "is empty");
    assert_eq!(refusal(b"hello"), "is not a Heddle archive");
    assert_eq!(refusal(&good[..20]), "is truncated: 20 bytes of 80");
    assert!(refusal(&good[..good.len() - 1]).starts_with("is truncated"));
    let mut longer = good.clone();
    longer.push(0);
    assert_eq!(refusal(&longer), "has 1 bytes after its end");
    let mut flipped = good.clone();
    *flipped.last_mut().unwrap() ^= 1;
    assert!(refusal(&flipped).contains("checksum of its contents"));
    let mut flipped = good.clone();
    flipped[45] ^= 1;
    assert!(refusal(&flipped).contains("header's checksum"));
    let header = Header::parse(&good).unwrap();
    let with = |header: Header| {
        let mut bytes = header.to_bytes().to_vec();
        bytes.extend_from_slice(&good[HEADER_LEN..]);
        refusal(&bytes)
    };
    let version = header.version;
    assert!(
        with(Header {
            version: version + 1,
            ..header
        })
        .contains("newer Heddle")
    );
    assert!(
        with(Header {
            version: version - 1,
            ..header
        })
        .contains("older Heddle")
    );
    let architecture = Architecture {
        byte_order: b'b',
        ..Architecture::HERE
    };
    assert!(
        with(Header {
            architecture,
            ..header
        })
        .contains("another architecture")
    );
    assert!(
        with(Header {
            body_len: u64::MAX / 2,
            ..header
        })
        .contains("the limit is")
    );
    assert!(
        with(Header {
            built_for: BuiltFor {
                fingerprint: [1; 16],
                ..header.built_for
            },
            ..header
        })
        .contains("different programs")
    );
    assert!(
        with(Header {
            built_for: BuiltFor {
                plan: [1; 16],
                ..header.built_for
            },
            ..header
        })
        .contains("different plans")
    );
    let open = OpenArchive::open_bytes(&good).unwrap();
    let program = open.built_for();
    assert_eq!(program, header.built_for);
    let fingerprint = [1; 16];
    assert!(matches!(
        open.check_program(BuiltFor {
            fingerprint,
            ..program
        }),
        Err(Refusal::WrongProgram { .. })
    ));
    let plan = [1; 16];
    assert!(matches!(
        open.check_program(BuiltFor { plan, ..program }),
        Err(Refusal::OtherPlan { .. })
    ));
    let plan = BuiltFor::ANY_PLAN;
    assert!(open.check_program(BuiltFor { plan, ..program }).is_ok());
    let error = OpenArchive::open(Path::new("/nonexistent/x.heddle")).unwrap_err();
    assert_eq!(error.to_string(), "/nonexistent/x.heddle: no such file");
}
