//! The digest of what instrumentation takes from an archive: two archives of one program with the same digest can serve the same
//! binary, whatever their schedules.
//!
//! It covers the numbering of sites (their stable ids in order), roots and shadows in order, and the plan. An archive made with
//! other options may number or insert differently; a binary would then perform nodes at the wrong places without anybody noticing.
//!
//! Deliberately absent: everything that only runtime and reports read: epochs, steps, nodes, names, positions.

use xxhash_rust::xxh3::Xxh3;

use crate::archive::{
    Archive, ArchivedArchive, ArchivedCandidate, ArchivedRegisterKind, ArchivedSiteId,
};
use crate::file::BuiltFor;

/// The digest of an archive that is in a file or about to be.
pub fn of(archive: &ArchivedArchive) -> [u8; 16] {
    let mut feed = Feed(Xxh3::new());
    feed.number(archive.sites.len() as u64);
    for site in archive.sites.iter() {
        feed.number(site.stable.to_native());
    }
    feed.number(archive.roots.len() as u64);
    for root in archive.roots.iter() {
        feed.text(&root.symbol);
        feed.number(root.size.to_native());
    }
    shadows(&mut feed, archive);
    plan(&mut feed, archive);
    feed.0.digest128().to_le_bytes()
}

/// What a body that was just made is for. Zeros for bytes that are no body: no reader takes them.
pub fn built_for_body(body: &[u8]) -> BuiltFor {
    match rkyv::access::<ArchivedArchive, rkyv::rancor::Error>(body) {
        Ok(archived) => BuiltFor {
            fingerprint: archived.program.fingerprint,
            plan: of(archived),
        },
        Err(_) => BuiltFor {
            fingerprint: [0; 16],
            plan: BuiltFor::ANY_PLAN,
        },
    }
}

impl Archive {
    /// What programs that were instrumented by this archive carry.
    pub fn built_for(&self) -> BuiltFor {
        let tables = Archive {
            program: self.program.clone(),
            sites: self.sites.clone(),
            roots: self.roots.clone(),
            shadows: self.shadows.clone(),
            plan: self.plan.clone(),
            ..Archive::default()
        };
        let body = rkyv::to_bytes::<rkyv::rancor::Error>(&tables)
            .expect("serializing to memory fails only without memory");
        built_for_body(&body)
    }
}

fn shadows(feed: &mut Feed, archive: &ArchivedArchive) {
    feed.number(archive.shadows.len() as u64);
    for shadow in archive.shadows.iter() {
        feed.site(&shadow.at);
        feed.text(&shadow.value.function);
        let (kind, index) = match &shadow.value.value {
            ArchivedRegisterKind::Argument(index) => (0, index),
            ArchivedRegisterKind::Instruction(index) => (1, index),
        };
        feed.number(kind);
        feed.number(u64::from(index.to_native()));
        feed.number(u64::from(shadow.width.to_native()));
    }
}

fn plan(feed: &mut Feed, archive: &ArchivedArchive) {
    let plan = &archive.plan;
    for sites in [&plan.markers, &plan.decisions, &plan.unordered] {
        feed.number(sites.len() as u64);
        sites.iter().for_each(|site| feed.site(site));
    }
    feed.number(plan.questions.len() as u64);
    for question in plan.questions.iter() {
        feed.site(&question.site);
        feed.number(u64::from(question.argument));
        feed.number(question.candidates.len() as u64);
        for candidate in question.candidates.iter() {
            match candidate {
                ArchivedCandidate::Global { root, offset } => {
                    feed.number(0);
                    feed.number(u64::from(root.0.to_native()));
                    feed.number(offset.to_native());
                }
                ArchivedCandidate::Last { site } => {
                    feed.number(1);
                    feed.site(site);
                }
            }
        }
    }
    feed.number(plan.exits.len() as u64);
    for exits in plan.exits.iter() {
        feed.site(&exits.site);
        feed.number(exits.ways.len() as u64);
        for way in exits.ways.iter() {
            feed.number(u64::from(way.from_block.to_native()));
            feed.number(u64::from(way.to_block.to_native()));
        }
    }
    feed.number(plan.elastic.len() as u64);
    for elastic in plan.elastic.iter() {
        feed.site(&elastic.site);
        feed.number(u64::from(elastic.join_block.to_native()));
    }
}

/// Every value has its length or a fixed one, so that no two lists of values look alike.
struct Feed(Xxh3);

impl Feed {
    fn number(&mut self, number: u64) {
        self.0.update(&number.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.update(text.as_bytes());
    }

    fn site(&mut self, site: &ArchivedSiteId) {
        self.number(u64::from(site.0.to_native()));
    }
}
