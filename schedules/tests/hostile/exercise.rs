//! Everything that is done with an archive that may be hostile: shared by the fuzz target and the bounded run in the tests.
//!
//! No byte pattern may crash, hang or mislead: what opens is verified, evaluated, printed, read back, checked and drawn.

use schedules::file::{HEADER_LEN, Header};
use schedules::plan_digest;
use schedules::predicate::{self, Memory};
use schedules::text::{self, Identity};
use schedules::trace::Trace;
use schedules::{Archive, OpenArchive, RootId, ShadowId};

/// What became of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Not opened.
    Refused,
    /// Opened, but rules are broken.
    Opened,
    /// Opened, and every rule holds.
    Verified,
}

/// The first byte chooses how the rest is taken: as a file, as a body behind a right header, as a text, as a log. Its two highest
/// bits choose what is done with an archive besides opening, verifying and evaluating: so most runs are short.
pub(crate) fn exercise(bytes: &[u8]) -> Fate {
    let Some((choice, rest)) = bytes.split_first() else {
        return open(bytes, Effort::FULL);
    };
    let effort = Effort {
        text: choice & 0x40 != 0,
        reports: choice & 0x80 != 0,
    };
    match choice % 4 {
        0 => open(rest, effort),
        1 => open(&with_header(rest), effort),
        2 => read_text(rest, effort),
        _ => log(rest),
    }
}

/// What is done with an archive that could be opened.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    /// Printed and read back.
    text: bool,
    /// Checked, drawn, printed as JSON.
    reports: bool,
}

impl Effort {
    pub(crate) const FULL: Self = Self {
        text: true,
        reports: true,
    };
}

/// A file whose header is right, so that the body is looked at.
pub(crate) fn with_header(body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; HEADER_LEN];
    bytes.extend_from_slice(body);
    // What the archive is for stands in both; what is no body has no right header anyway. Read from the copy: `body` may stand at an
    // odd address, where nothing is a body.
    let header = Header::new(body, plan_digest::built_for_body(&bytes[HEADER_LEN..]));
    bytes[..HEADER_LEN].copy_from_slice(&header.to_bytes());
    bytes
}

/// Opens a file and does everything with it.
pub(crate) fn open(bytes: &[u8], effort: Effort) -> Fate {
    let Ok(open) = OpenArchive::open_bytes(bytes) else {
        return Fate::Refused;
    };
    for predicate in open.predicates.iter() {
        predicate::evaluate_archived(&predicate.code, &Anything).expect("checked at open");
    }
    use_it(&open.to_archive(), effort)
}

fn use_it(archive: &Archive, effort: Effort) -> Fate {
    let problems = schedules::verify::verify(archive);
    if effort.text {
        survives_as_text(archive, problems.is_empty());
    }
    if effort.reports {
        is_reported(archive, problems.is_empty());
    }
    if problems.is_empty() {
        Fate::Verified
    } else {
        Fate::Opened
    }
}

fn survives_as_text(archive: &Archive, well_formed: bool) {
    let shown = text::dump(archive, Identity::Shown);
    let again = text::parse(&shown).expect("what is printed can be read");
    let shown_again = text::dump(&again, Identity::Shown);
    assert_eq!(text::parse(&shown_again).as_ref(), Ok(&again), "a fixpoint");
    if well_formed {
        assert_eq!(shown_again, shown, "well-formed archives survive");
    }
}

fn is_reported(archive: &Archive, well_formed: bool) {
    let verdict = schedules::check::check(archive);
    let deadlocks = verdict.counts.deadlocks;
    assert!(deadlocks > 0 || verdict.findings.is_empty());
    // Deadlocks that no epoch leads to are not reported; rule 3 forbids them.
    assert!(deadlocks == 0 || !well_formed || !verdict.findings.is_empty());
    let report = schedules::check::to_text(&verdict, &());
    assert!(!report.is_empty());
    let _ = schedules::check::to_json(&verdict).to_string();
    let _ = schedules::archive_json::to_json(archive).to_string();
    let drawn = schedules::draw::pictures(archive, "0").expect("there is an epoch");
    let _ = schedules::draw::svg(&drawn);
}

fn read_text(bytes: &[u8], effort: Effort) -> Fate {
    let Some(archive) = std::str::from_utf8(bytes)
        .ok()
        .and_then(|text| text::parse(text).ok())
    else {
        return Fate::Refused;
    };
    use_it(&archive, effort)
}

/// A log against an archive that the tests know.
fn log(bytes: &[u8]) -> Fate {
    let Ok(trace) = Trace::parse(bytes) else {
        return Fate::Refused;
    };
    let archive = text::parse(include_str!("../archives/handover.txt")).expect("known to be right");
    match schedules::conform::conform(&archive, &trace) {
        Ok(_) => Fate::Verified,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            Fate::Opened
        }
    }
}

/// Memory with something at each address.
struct Anything;

impl Memory for Anything {
    fn root(&self, root: RootId) -> u64 {
        0x10_0000 + u64::from(root.0) * 64
    }
    fn shadow(&self, slot: u16, shadow: ShadowId) -> u64 {
        u64::from(slot) << 32 | u64::from(shadow.0)
    }
    fn load(&self, address: u64, _: u8) -> u64 {
        address.rotate_left(17)
    }
}
