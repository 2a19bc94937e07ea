//! Wrong input to the commands: one message that names file and line, status 2, and no output file.

use crate::workshop::Workshop;

/// Runs `heddle WORDS -o out`, which must fail without leaving anything.
#[track_caller]
fn refused(shop: &Workshop, words: &[&str], complaints: &[&str]) {
    let before = shop.listing();
    let mut line = words.to_vec();
    line.extend(["-o", "out"]);
    let finished = shop.heddle(&line).exits(2).complains(complaints);
    assert_eq!(finished.stdout, "");
    assert_eq!(shop.listing(), before, "{words:?}");
}

#[test]
fn missing_file() {
    let shop = Workshop::new();
    for command in ["build", "enumerate", "prepare"] {
        refused(&shop, &[command, "nowhere.c"], &["nowhere.c: No such file"]);
        refused(
            &shop,
            &[command, "nowhere.bc"],
            &["nowhere.bc: No such file"],
        );
    }
}

#[test]
fn not_c() {
    let shop = Workshop::new();
    shop.write("notes.txt", "shopping list\n");
    shop.write("fake.bc", b"BC\xc0\xde and then nothing like bitcode");
    shop.write("words.c", "this is no program\n");
    for command in ["build", "enumerate", "prepare"] {
        refused(
            &shop,
            &[command, "notes.txt"],
            &["notes.txt: neither a C source"],
        );
        refused(&shop, &[command, "fake.bc"], &["not a usable bitcode file"]);
        refused(
            &shop,
            &[command, "words.c"],
            &["words.c:1:1: error:", "words.c: compilation failed"],
        );
    }
}

#[test]
fn compile_error_in_one_of_several() {
    let shop = Workshop::new();
    shop.write("good.c", "int main(void) { return 0; }\n");
    shop.write("bad.c", "\nint f(void) { return undeclared; }\n");
    refused(
        &shop,
        &["build", "good.c", "bad.c"],
        &["bad.c:2:22: error:", "bad.c: compilation failed"],
    );
}

#[test]
fn unsupported_construct() {
    let shop = Workshop::new();
    shop.write(
        "cancel.c",
        "#include <pthread.h>\nint main(void) {\n    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);\n    return 0;\n}\n",
    );
    for command in ["build", "enumerate"] {
        refused(
            &shop,
            &[command, "cancel.c"],
            &[
                "cancel.c:3:5: error: `pthread_setcanceltype` is not supported",
                "[HD0019]",
            ],
        );
    }
    // It can be prepared and looked at.
    shop.heddle(["prepare", "cancel.c", "-o", "cancel.bc"])
        .exits(1)
        .complains(&["cancel.c:3:5: `pthread_setcanceltype` is not supported"]);
}

#[test]
fn no_program() {
    let shop = Workshop::new();
    shop.write("library.c", "int f(void) { return 1; }\n");
    refused(&shop, &["build", "library.c"], &["defines no `main`"]);
    refused(&shop, &["enumerate", "library.c"], &["defines no `main`"]);
    refused(
        &shop,
        &["build", "-c", "library.c"],
        &["leave out the flag"],
    );
    refused(&shop, &["build"], &["no input"]);
}

#[test]
fn defined_twice() {
    let shop = Workshop::new();
    shop.write("a.c", "int main(void) { return 0; }\n");
    shop.write("b.c", "int main(void) { return 1; }\n");
    refused(
        &shop,
        &["build", "a.c", "b.c"],
        &["cannot link bitcode", "main"],
    );
}

#[test]
fn an_input_is_never_overwritten() {
    let shop = Workshop::new();
    shop.write("a.c", "int main(void) { return 0; }\n");
    for command in ["build", "enumerate", "prepare"] {
        shop.heddle([command, "a.c", "-o", "./a.c"])
            .exits(2)
            .complains(&["a.c: would be overwritten"]);
    }
    assert_eq!(shop.listing(), ["a.c"]);
}

#[test]
fn outputs_that_cannot_be() {
    let shop = Workshop::new();
    shop.write("a.c", "int main(void) { return 0; }\n");
    std::fs::create_dir(shop.path("folder")).expect("folder");
    shop.heddle(["prepare", "a.c", "-o", "folder"]).exits(2);
    shop.heddle(["prepare", "a.c", "-o", "nowhere/a.bc"])
        .exits(2)
        .complains(&["nowhere/a.bc"]);
    assert_eq!(shop.listing(), ["a.c", "folder"]);
}

#[test]
fn a_binary_that_heddle_cc_did_not_make() {
    let shop = Workshop::new();
    shop.write("a.c", "int main(void) { return 0; }\n");
    shop.shell("clang-19 a.c -o plain").exits(0);
    refused(
        &shop,
        &["build", "plain"],
        &["plain: no bitcode in it", "heddle cc"],
    );
    refused(&shop, &["extract", "plain"], &["plain: no bitcode in it"]);
    refused(
        &shop,
        &["extract", "a.c"],
        &["a.c: not a 64-bit little-endian ELF file"],
    );
}

/// LLVM's reader dies of some damaged files; the command does not.
#[test]
fn damaged_bitcode_is_an_error_not_a_crash() {
    let shop = Workshop::with(&["lock_order.c"]);
    shop.shell("clang-19 -O1 -g -Xclang -disable-llvm-passes -emit-llvm -c lock_order.c -o raw.bc")
        .exits(0);
    shop.heddle(["prepare", "raw.bc", "-o", "prepared.bc"])
        .exits(0);
    for name in ["raw.bc", "prepared.bc"] {
        let sound = std::fs::read(shop.path(name)).expect("bitcode");
        for case in 0..25usize {
            let mut damaged = sound.clone();
            match case % 5 {
                0 => damaged.truncate(sound.len() * (case + 1) / 30),
                _ => {
                    for flip in 0..=case % 5 {
                        let at = 4 + (case * 7919 + flip * 104_729) % (sound.len() - 4);
                        damaged[at] ^= 1 << (case % 8);
                    }
                }
            }
            shop.write("damaged.bc", &damaged);
            let done = shop.heddle(["prepare", "damaged.bc", "-o", "out.bc"]);
            let code = done.status.code();
            assert!(code.is_some(), "{name}, case {case}: {done:?}");
            if code == Some(2) {
                done.complains(&["heddle: error: "]);
            }
        }
    }
}

/// `| head` closes the pipe early; that is nobody's fault.
#[test]
fn a_reader_that_goes_away_is_no_error() {
    let shop = Workshop::new();
    shop.write("prog.c", "int main(void) { return 0; }\n");
    shop.shell("$HEDDLE cc prog.c -o prog").exits(0);
    for words in [
        &["prepare", "prog.c", "-o", "prog.bc", "--sites"][..],
        &["extract", "./prog", "-o", "prog.bc", "--functions"],
        &["analyze", "prog.c"],
        &["--help"],
    ] {
        let (reader, writer) = std::io::pipe().expect("pipe");
        drop(reader);
        let output = shop
            .command(env!("CARGO_BIN_EXE_heddle"))
            .args(words)
            .stdout(writer)
            .output()
            .expect("heddle runs");
        assert!(output.status.success(), "{words:?}: {output:?}");
        assert!(output.stderr.is_empty(), "{words:?}: {output:?}");
    }
}
