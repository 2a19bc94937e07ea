//! The text form: what is written down is read back, and wrong text is refused with its line.

use schedules::text::{Identity, dump, parse};
use schedules::{Archive, OpenArchive};

const EVERYTHING: &str = include_str!("archives/everything.txt");

#[test]
fn everything_survives() {
    let archive = parse(EVERYTHING).unwrap();
    let text = dump(&archive, Identity::Shown);
    expect_test::expect_file!["archives/everything.txt"].assert_eq(&text);
    assert_eq!(parse(&text).unwrap(), archive);
    let open = OpenArchive::open_bytes(&archive.to_bytes()).unwrap();
    assert_eq!(open.to_archive(), archive);
}

#[test]
fn identity_can_be_left_out() {
    let archive = parse(EVERYTHING).unwrap();
    let text = dump(&archive, Identity::Hidden);
    assert!(!text.contains("identity"));
    let anonymous = parse(&text).unwrap();
    assert_eq!(dump(&anonymous, Identity::Hidden), text);
    let hashes = |archive: &Archive| -> Vec<u64> {
        let contexts = archive.contexts.iter();
        contexts.map(|context| context.hash).collect()
    };
    assert_ne!(
        hashes(&archive),
        hashes(&anonymous),
        "contexts follow stable ids"
    );
}

#[test]
fn an_archive_by_hand_is_short() {
    let archive = parse(
        "site0 entry in main a.c:3
         site1 sync pthread_mutex_lock in main a.c:4
         object0 \"m\"
         context0 @a.c:3
         epoch0 slots 1 root step0 at context0
         step0
         slot 0
           mutex_lock \"m\" @a.c:4   // no number needed
         exit",
    )
    .unwrap();
    assert_eq!(archive.nodes.len(), 1);
    assert_eq!(archive.epochs[0].slots, 1);
}

/// The error for a text that is [`EVERYTHING`] with one replacement.
#[track_caller]
fn refused(from: &str, to: &str, error: &str) {
    assert!(EVERYTHING.contains(from), "{from}");
    let text = EVERYTHING.replacen(from, to, 1);
    assert_eq!(parse(&text).unwrap_err().wrong.to_string(), error);
}

#[test]
fn the_line_is_named() {
    let error = parse("program \"a.c\"\n\nobject1 \"m\"").unwrap_err();
    assert_eq!(error.to_string(), "line 3: object 1 comes where 0 should");
}

#[test]
fn wrong_text_is_refused() {
    refused(
        "format 3",
        "format 9",
        "the text has format 9; this Heddle reads format 3",
    );
    refused("site1 sync", "site2 sync", "site 2 comes where 1 should");
    refused(
        "sync pthread_create",
        "sync pthread_kreate",
        "there is no primitive `pthread_kreate`",
    );
    refused(
        "context1 @a.c:20 @a.c:21#3",
        "context1 @a.c:20 @a.c:21",
        "several sites are `a.c:21`; use @#N with the site's number",
    );
    refused(
        "context1 @a.c:20 @a.c:21#3",
        "context1 @a.c:20 @a.c:21#5",
        "there is no site `@a.c:21#5`",
    );
    refused(
        "mutex_lock object2",
        "mutex_lock \"same\"",
        "several objects are `same`; use objectN",
    );
    refused(
        "mutex_lock object2",
        "mutex_lock object9",
        "node 8 names object 9, but there are 4",
    );
    refused(
        "marker @a.c:6\nplan",
        "marker @a.c:6 x\nplan",
        "expected the end of the line, found `x`",
    );
    refused(
        "      3 marker",
        "      4 marker",
        "node 4 comes where 3 should",
    );
    refused("  step2\n", "  step1\n", "step 1 is there twice");
    refused("    exit\n", "", "step 6 has no end");
    refused(
        "2 thread_create",
        "2 thread_kreate",
        "there is no statement or operation `thread_kreate`",
    );
    refused(
        "\"left\"\nobject1",
        "\"left\nobject1",
        "a string is not closed or has an unknown escape",
    );
    refused(
        "0 -> step1",
        "0 -> step0",
        "step 0 leads to step 0, which does not come after it",
    );
}
