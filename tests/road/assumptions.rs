//! What a program and its project say about inputs: `heddle.h`, `heddle.toml`.

use std::os::unix::process::ExitStatusExt as _;

use schedules::Archive;

use crate::workshop::Workshop;

/// The compiler finds `heddle.h` by itself, in every mode that reads sources, and says nothing where there is nothing to find.
#[test]
fn the_compiler_knows_the_header() {
    let shop = Workshop::with(&["assumed.c"]);
    shop.shell(
        "$HEDDLE cc -Werror -c assumed.c && $HEDDLE cc -Werror assumed.o -o linked -lpthread && \
         $HEDDLE cc -Werror assumed.c -o direct -lpthread && $HEDDLE cc -E assumed.c > text && ./linked 2 && ./direct 2 && \
         echo 'nop' > empty.s && $HEDDLE cc -Werror -c empty.s",
    )
    .exits(0)
    .says(&["2\n2\n"]);
}

#[test]
fn an_assumption_bounds_the_schedules_and_is_checked() {
    let shop = Workshop::with(&["assumed.c"]);
    shop.heddle(["build", "assumed.c", "-o", "assumed"])
        .exits(0);
    let archive = Archive::read(&shop.path("assumed.heddle")).expect("written by the command");
    assert!(archive.gaps.is_empty(), "{:?}", archive.gaps);
    let said = &archive.program.assumptions;
    assert!(
        said.iter()
            .any(|text| text.contains("workers >= 1 && workers <= 3")),
        "{said:?}"
    );
    for count in ["1", "2", "3"] {
        let run = shop.run("assumed", &[count], "trace=run.trace").exits(0);
        assert_eq!(run.stdout, format!("{count}\n"));
        shop.heddle(["conform", "assumed.heddle", "run.trace"])
            .exits(0);
    }
    let outside = shop.run("assumed", &["4"], "");
    assert_eq!(outside.status.signal(), Some(6), "{}", outside.stderr);
    outside.complains(&[
        "an assumption of the program does not hold",
        "heddle_assume(workers >= 1 && workers <= 3) at assumed.c:22",
    ]);
}

/// What is computed from an assumed number is known as well: who is joined, how deep a tree is, which semaphore a worker waits for.
#[test]
fn an_assumed_number_decides_what_follows_from_it() {
    let shop = Workshop::with(&["assumed_count.c"]);
    shop.heddle(["build", "-O2", "assumed_count.c", "-o", "assumed_count"])
        .exits(0);
    let archive =
        Archive::read(&shop.path("assumed_count.heddle")).expect("written by the command");
    assert!(archive.gaps.is_empty(), "{:?}", archive.gaps);
    // One epoch for the beginning and one for every round: the tree inside is bounded by what was assumed.
    assert_eq!(archive.epochs.len(), 2);
    for (rounds, total) in [("1", "6\n"), ("2", "16\n"), ("7", "126\n")] {
        let arguments = ["-w", "4", "-r", rounds];
        let run = shop
            .run("assumed_count", &arguments, "trace=run.trace:jitter=3")
            .exits(0);
        assert_eq!(run.stdout, total);
        shop.heddle(["conform", "assumed_count.heddle", "run.trace"])
            .exits(0);
    }
    let outside = shop.run("assumed_count", &["-w", "3"], "");
    outside.complains(&["heddle_assume(workers == 4) at assumed_count.c:"]);
}

#[test]
fn the_header_does_nothing_without_heddle() {
    let shop = Workshop::with(&["assumed.c"]);
    let header = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/rt/include");
    let status = std::process::Command::new("clang-19")
        .current_dir(shop.folder())
        .args(["-Wall", "-Werror", header, "assumed.c", "-o", "plain"])
        .status()
        .expect("clang");
    assert!(status.success());
    let output = std::process::Command::new(shop.path("plain"))
        .arg("4")
        .output()
        .expect("runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "4\n");
}

#[test]
fn the_projects_file_is_used() {
    let shop = Workshop::with(&["two_locks_by_input.c"]);
    let write = |text: &str| std::fs::write(shop.path("heddle.toml"), text).expect("written");
    let build = || shop.heddle(["enumerate", "two_locks_by_input.c", "-o", "p.heddle"]);
    write("threads = 3\nassume = ['argv[1]==\"7\"']\n");
    build().exits(0);
    let archive = Archive::read(&shop.path("p.heddle")).expect("written by the command");
    assert_eq!(archive.program.thread_bound, 3);
    assert_eq!(archive.program.assumptions, ["argv[1]==\"7\""]);
    write("thread = 3\n");
    build()
        .exits(2)
        .complains(&["heddle.toml: line 1: `thread`: expected threads"]);
    write("inputs = [\"nothing\"]\n");
    build()
        .exits(2)
        .complains(&["input `nothing`: the program has no global variable"]);
}
