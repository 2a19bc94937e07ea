//! A search that takes long can be watched, and ended: what it has found by then is a valid archive, and the same command goes on.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};

use crate::workshop::Workshop;

/// Starts a search that takes minutes, interrupts it as soon as it reports progress, and returns its status and what it said.
fn interrupted(shop: &Workshop) -> (Option<i32>, String) {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/bench/corpus/treemerge.c");
    let mut child = shop
        .command(env!("CARGO_BIN_EXE_heddle"))
        .args(["enumerate", source, "-o", "long.heddle", "--log-json"])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("heddle starts");
    let mut said = BufReader::new(child.stderr.take().expect("piped"));
    let mut first = String::new();
    said.read_line(&mut first).expect("text");
    assert!(first.starts_with("{\"event\": \"progress\", "), "{first}");
    let kill = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.expect("kill").success());
    let mut rest = String::new();
    said.read_to_string(&mut rest).expect("text");
    (child.wait().expect("child").code(), rest)
}

#[test]
fn an_interrupted_search_leaves_a_valid_archive_and_goes_on() {
    let shop = Workshop::new();
    let (status, said) = interrupted(&shop);
    assert_eq!(status, Some(1), "{said}");
    for part in [
        "{\"event\": \"end\", ",
        "long.heddle is incomplete",
        "[HD0301]",
        "long.heddle.store: the same command goes on from there",
    ] {
        assert!(said.contains(part), "no `{part}` in {said}");
    }
    shop.heddle(["inspect", "--verify", "long.heddle"]).exits(0);
    assert!(shop.path("long.heddle.store").is_dir());
}

#[test]
fn quiet_says_nothing_when_there_is_nothing_to_say() {
    let shop = Workshop::with(&["lock_order.c"]);
    let done = shop
        .heddle(["build", "lock_order.c", "-o", "prog", "--quiet"])
        .exits(0);
    assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("", ""));
    shop.heddle(["enumerate", "lock_order.c", "-o", "a.heddle", "--verbose"])
        .exits(0)
        .complains(&["heddle: 0s: "]);
}
