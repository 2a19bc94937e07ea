//! From C text to prepared and instrumented bitcode: what is stamped, what is inserted, what is refused.

mod instrument;
mod prepare;

use std::ffi::OsString;

use instrument_pass::{Bitcode, Result, SiteRow};
use schedules::primitives::lookup;
use schedules::{Archive, Position, Site, SiteId, SiteKind, TextId};

/// Compiles C text under a fixed file name.
fn compile(source: &str) -> Result<Bitcode> {
    let directory = tempfile::tempdir().expect("temporary directory");
    let path = directory.path().join("t.c");
    std::fs::write(&path, source).expect("source file");
    let mut map = OsString::from("-ffile-prefix-map=");
    map.push(directory.path());
    map.push("=.");
    instrument_pass::compile(&[path], &[map])
}

fn prepare(source: &str) -> Result<Bitcode> {
    instrument_pass::prepare(&compile(source)?)
}

fn prepared(source: &str) -> Bitcode {
    prepare(source).expect("the program is supported")
}

fn sites(prepared: &Bitcode) -> Vec<SiteRow> {
    instrument_pass::site_table(prepared).expect("prepared bitcode")
}

/// An archive that knows every site of the program and plans nothing.
fn archive_of(prepared: &Bitcode) -> Archive {
    let mut archive = Archive::default();
    archive.program.fingerprint = prepared.fingerprint();
    archive.texts.push(String::new());
    for row in sites(prepared) {
        archive.sites.push(Site {
            stable: row.stable,
            kind: kind(&row),
            function: TextId(0),
            position: Position {
                function: TextId(0),
                file: TextId(0),
                line: 0,
                column: 0,
            },
            inlined_at: Vec::new(),
        });
    }
    archive
}

fn kind(row: &SiteRow) -> SiteKind {
    let callee = row.text.rsplit('@').next().and_then(lookup);
    callee.map_or(SiteKind::Point, |(primitive, _)| SiteKind::Sync {
        primitive,
    })
}

/// The dense id of the first site whose text contains a needle, in a function.
#[track_caller]
fn site(prepared: &Bitcode, function: &str, needle: &str) -> SiteId {
    let index = sites(prepared)
        .iter()
        .position(|row| row.function == function && row.text.contains(needle));
    SiteId(u32::try_from(index.expect("no such site")).expect("few sites"))
}

/// The body of one function as text, without metadata, attributes or comments.
fn body(bitcode: &Bitcode, function: &str) -> String {
    let text = bitcode.to_text().expect("valid bitcode");
    let head = format!("@{function}(");
    let mut lines = text
        .lines()
        .skip_while(|line| !(line.starts_with("define") && line.contains(&head)))
        .skip(1)
        .take_while(|line| *line != "}");
    let mut out = String::new();
    for line in lines.by_ref() {
        let line = line.split(';').next().unwrap_or(line);
        let line = line.split(", !").next().unwrap_or(line);
        let line = line.split(" #").next().unwrap_or(line).trim();
        if !line.is_empty() {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}
