//! Numbers that lead nowhere: each has its error, and none gets past the reader.

use schedules::text::parse;
use schedules::{
    Archive, ContextId, EpochId, FragmentId, Next, ObjectId, OpenArchive, PredicateId, PredicateOp,
    SiteId, StepId, TextId,
};

/// The error at opening the archive of `everything.txt` after one change.
#[track_caller]
fn refused(change: impl FnOnce(&mut Archive), error: &str) {
    let mut archive = parse(include_str!("archives/everything.txt")).unwrap();
    change(&mut archive);
    let found = OpenArchive::open_bytes(&archive.to_bytes()).unwrap_err();
    assert_eq!(found.to_string(), format!("is malformed: {error}"));
}

#[test]
fn ids_are_in_range() {
    refused(
        |a| a.gaps[0].reason = TextId(999),
        "gap 0 names text 999, but there are 22",
    );
    refused(
        |a| a.sites[3].position.file = TextId(999),
        "site 3 names text 999, but there are 22",
    );
    refused(
        |a| a.objects[2].name = TextId(999),
        "object 2 names text 999, but there are 22",
    );
    refused(
        |a| a.objects[2].memory = TextId(999),
        "object 2 names text 999, but there are 22",
    );
    refused(
        |a| a.pairs[0].mutex = ObjectId(4),
        "pair 0 names object 4, but there are 4",
    );
    refused(
        |a| a.contexts[1].frames[0] = SiteId(9),
        "context 1 names site 9, but there are 9",
    );
    refused(
        |a| a.shadows[1].at = SiteId(u32::MAX),
        "shadow 1 names site 4294967295, but there are 9",
    );
    refused(
        |a| a.plan.markers[0] = SiteId(9),
        "plan 0 names site 9, but there are 9",
    );
    refused(
        |a| a.plan.callbacks[0].site = SiteId(9),
        "plan 0 names site 9, but there are 9",
    );
    refused(
        |a| a.undefined[0].input[1].name = TextId(99),
        "undefined 0 names text 99, but there are 22",
    );
    refused(
        |a| a.epochs[0].contexts[0] = ContextId(4),
        "epoch 0 names context 4, but there are 4",
    );
    refused(
        |a| a.epochs[1].root = StepId(8),
        "epoch 1 names step 8, but there are 8",
    );
    refused(
        |a| a.steps[2].fragment = FragmentId(5),
        "step 2 names fragment 5, but there are 5",
    );
    refused(
        |a| a.nodes[0].site = SiteId(77),
        "node 0 names site 77, but there are 9",
    );
    refused(
        |a| a.nodes[0].what = 3,
        "node 0 names slot 3, but there are 3",
    );
    refused(
        |a| a.nodes[6].what = 44,
        "node 6 names object 44, but there are 4",
    );
    refused(
        |a| a.edges[0] = schedules::Edge::new(3, 1),
        "edge 0 names slot 3, but there are 3",
    );
    refused(
        |a| match &mut a.steps[3].next {
            Next::Early { predicate, .. } => *predicate = PredicateId(1),
            _ => unreachable!(),
        },
        "step 3 names predicate 1, but there are 1",
    );
    refused(
        |a| match &mut a.steps[1].next {
            Next::Epoch { epoch, .. } => *epoch = EpochId(2),
            _ => unreachable!(),
        },
        "step 1 names epoch 2, but there are 2",
    );
    refused(
        |a| match &mut a.steps[1].next {
            Next::Epoch { moves, .. } => moves[0] = 2,
            _ => unreachable!(),
        },
        "step 1 names slot of the next epoch 2, but there are 2",
    );
    refused(
        |a| match &mut a.steps[2].next {
            Next::Deadlock { stuck, .. } => stuck[1].holds[0].object = ObjectId(4),
            _ => unreachable!(),
        },
        "step 2 names object 4, but there are 4",
    );
    refused(
        |a| match &mut a.steps[7].next {
            Next::Unexplored { gap } => *gap = 2,
            _ => unreachable!(),
        },
        "step 7 names gap 2, but there are 2",
    );
}

#[test]
fn structure_holds() {
    refused(
        |a| {
            a.predicates.clear();
            a.epochs.clear();
        },
        "there is no epoch",
    );
    refused(
        |a| a.epochs[1].slots = 1,
        "epoch 1 has 1 slots for 2 contexts",
    );
    refused(
        |a| a.epochs[1].slots = u16::MAX,
        "epoch 1 has 65535 slots for 2 contexts",
    );
    refused(
        |a| a.lanes[1].first_node += 1,
        "lane 1 does not begin where its predecessor ends",
    );
    refused(
        |a| a.lanes[2].first_edge += 1,
        "lane 2 does not begin where its predecessor ends",
    );
    refused(
        |a| a.fragments[1].first_lane = 0,
        "fragment 1 does not begin where its predecessor ends",
    );
    refused(
        |a| a.nodes.push(a.nodes[0]),
        "lanes do not add up to the number of nodes",
    );
    refused(
        |a| a.nodes[0].edges = u16::MAX,
        "lane 1 does not begin where its predecessor ends",
    );
    refused(|a| a.nodes[0].flags = 64, "node 0 has unknown flags 0x40");
    let backward = |to| {
        move |archive: &mut Archive| match &mut archive.steps[3].next {
            Next::Early { no, .. } => *no = StepId(to),
            _ => unreachable!(),
        }
    };
    refused(
        backward(3),
        "step 3 leads to step 3, which does not come after it",
    );
    refused(
        backward(0),
        "step 3 leads to step 0, which does not come after it",
    );
    let arms = |change: fn(&mut Vec<schedules::LateArm>)| {
        move |archive: &mut Archive| match &mut archive.steps[0].next {
            Next::Late { arms, .. } => change(arms),
            _ => unreachable!(),
        }
    };
    let error = "step 0 has a late decision whose outcomes do not ascend";
    refused(arms(Vec::clear), error);
    refused(arms(|arms| arms[1].outcome = 0), error);
    refused(arms(|arms| arms.reverse()), error);
}

#[test]
fn byte_code_is_well_typed() {
    let code = |change: fn(&mut Vec<PredicateOp>)| {
        move |archive: &mut Archive| change(&mut archive.predicates[0].code)
    };
    refused(
        code(Vec::clear),
        "predicate 0: the end leaves 0 values instead of one bit",
    );
    refused(
        code(|code| code.insert(0, PredicateOp::Not)),
        "predicate 0: instruction 0 pops from an empty stack",
    );
    refused(
        code(|code| *code = vec![PredicateOp::Constant { width: 1, value: 1 }; 70_000]),
        "predicate 0: more than 65536 instructions",
    );
    refused(
        code(|code| {
            code[1] = PredicateOp::Load {
                width: 7,
                offset: 0,
            }
        }),
        "predicate 0: instruction 1 has width 7",
    );
    refused(
        |archive| archive.shadows[0].width = 65,
        "predicate 0: instruction 4 has width 65",
    );
}
