use std::fmt::Write as _;

use expect_test::{Expect, expect};
use instrument_pass::{Class, Error};

use crate::{body, compile, prepared, sites};

const BRANCHES: &str = r#"
#include <pthread.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int total;
static void add(int n) {
    pthread_mutex_lock(&m);
    total += n;
    pthread_mutex_unlock(&m);
}
int main(int argc, char **argv) {
    for (int i = 0; i < argc; i++)
        if (argv[i][0] == 'a') add(i);
    return total;
}
"#;

#[track_caller]
fn check_sites(source: &str, expected: Expect) {
    let mut table = String::new();
    for row in sites(&prepared(source)) {
        let place = row.place.to_string();
        let place = place.rsplit('/').next().expect("never empty");
        writeln!(
            table,
            "{}#{} {} {place}",
            row.function, row.ordinal, row.text
        )
        .expect("string");
    }
    expected.assert_eq(&table);
}

#[track_caller]
fn check_refused(source: &str, expected: Expect) {
    let prepared = prepared(source);
    let found = instrument_pass::unsupported(&prepared).expect("bitcode");
    let [error] = found.as_slice() else {
        panic!("one thing is wrong: {found:?}");
    };
    assert_eq!(error.class(), Class::Unsupported);
    let archive = crate::archive_of(&prepared);
    let refused = instrument_pass::instrument(&prepared, &archive, &Default::default());
    let refused = refused.expect_err("never instrumented");
    assert_eq!(refused.to_string(), error.to_string());
    expected.assert_eq(&error.to_string());
}

#[test]
fn calls_branches_entries_and_loop_headers_are_sites() {
    check_sites(
        BRANCHES,
        expect![[r#"
        main#0 LLVMBr void label t.c:11:10
        main#1 LLVMPHI i32 i32 0 i32 t.c:11:0
        main#3 LLVMBr void i1 label label t.c:11:5
        main#11 LLVMBr void i1 label label t.c:12:13
        main#12 LLVMCall void i32 @add t.c:12:32
        add#0 LLVMCall i32 @m @pthread_mutex_lock t.c:6:5
        add#4 LLVMCall i32 @m @pthread_mutex_unlock t.c:8:5
    "#]],
    );
}

#[test]
fn same_source_same_bytes() {
    assert_eq!(prepared(BRANCHES), prepared(BRANCHES));
}

#[test]
fn preparing_twice_changes_nothing() {
    let once = prepared(BRANCHES);
    assert_eq!(instrument_pass::prepare(&once).expect("prepared"), once);
}

#[test]
fn ids_survive_unrelated_edits() {
    let edited = BRANCHES
        .replace(
            "int total;",
            "int total, other;\nint helper(int x) { return x * other; }",
        )
        .replace(
            "    return total;",
            "    total += helper(argc);\n    return total;",
        );
    let before = prepared(BRANCHES);
    let after = prepared(&edited);
    let ids: Vec<u64> = sites(&after).iter().map(|row| row.stable).collect();
    for row in sites(&before) {
        assert!(ids.contains(&row.stable), "{row:?} lost its id");
    }
}

/// Linking numbers the second `start`; the ids of its sites stay those it has without the first.
#[test]
fn ids_do_not_depend_on_equal_names_in_other_files() {
    let ids = |first: &str| {
        let directory = tempfile::tempdir().expect("temporary directory");
        let main = "void run(void);\nint main(void) { run(); return 0; }\n";
        let second = "void other(int);\nstatic int start_count;\n\
             __attribute__((noinline)) static void start(void) { other(start_count++); }\n\
             void run(void) { start(); start(); }\n";
        let files = [
            ("main.c", format!("{main}{first}")),
            ("second.c", second.to_owned()),
        ];
        let paths = files.map(|(name, text)| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).expect("source");
            path
        });
        let raw = instrument_pass::compile(&paths, &[]).expect("C");
        let rows = sites(&instrument_pass::prepare(&raw).expect("supported"));
        let of_second = rows
            .into_iter()
            .filter(|row| row.place.to_string().contains("second.c"));
        of_second.map(|row| row.stable).collect::<Vec<u64>>()
    };
    let alone = ids("");
    let beside = ids("static int start_count;\n\
         __attribute__((noinline, used)) static void start(void) { start_count++; }\n");
    assert_eq!(alone.len(), 4);
    assert_eq!(alone, beside);
}

#[test]
fn ids_are_unique() {
    let mut ids: Vec<u64> = sites(&prepared(BRANCHES))
        .iter()
        .map(|r| r.stable)
        .collect();
    ids.sort_unstable();
    let count = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), count);
}

/// Jump threading would copy the lock into both ways of the first branch.
#[test]
fn no_call_is_copied() {
    let text = body(
        &prepared(
            r#"
            #include <pthread.h>
            pthread_mutex_t m;
            int f(int a) {
                int c = 0;
                if (a > 3) c = 1;
                pthread_mutex_lock(&m);
                if (c) a++; else a--;
                pthread_mutex_unlock(&m);
                return a;
            }
            int main(void) { return f(1); }"#,
        ),
        "f",
    );
    assert_eq!(text.matches("@pthread_mutex_lock").count(), 1, "{text}");
    assert!(!text.contains("noduplicate"));
}

#[test]
fn address_of_a_primitive_goes_through_a_named_call() {
    let prepared = prepared(
        r#"
        #include <pthread.h>
        struct ops { int (*lock)(pthread_mutex_t *); };
        struct ops ops = { pthread_mutex_lock };
        pthread_mutex_t m;
        int main(void) { pthread_mutex_lock(&m); return ops.lock(&m); }"#,
    );
    let text = prepared.to_text().expect("valid");
    assert!(
        text.contains("{ ptr @heddle.via.pthread_mutex_lock }"),
        "{text}"
    );
    expect![[r#"
          %2 = call i32 @pthread_mutex_lock(ptr %0)
          ret i32 %2
    "#]]
    .assert_eq(&body(&prepared, "heddle.via.pthread_mutex_lock"));
}

#[test]
fn refused_function() {
    check_refused(
        "#include <pthread.h>\nint main(void) {\n  return pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);\n}\n",
        expect![
            "./t.c:3:10: `pthread_setcanceltype` is not supported: asynchronous cancellation can end a thread anywhere; tell it to end by a flag that it tests under a mutex"
        ],
    );
}

#[test]
fn unknown_name_of_a_family() {
    check_refused(
        "int pthread_frobnicate(void);\nint main(void) {\n  return pthread_frobnicate();\n}\n",
        expect![
            "./t.c:3:10: `pthread_frobnicate` is not supported: no row of the primitives table covers it"
        ],
    );
}

#[test]
fn own_function_with_a_family_name_is_fine() {
    prepared("int pthread_mine(void) { return 3; }\nint main(void) { return pthread_mine(); }\n");
}

#[test]
fn recursive_main() {
    check_refused(
        "int main(int c, char **v) {\n  return c ? main(c - 1, v) : 0;\n}\n",
        expect!["./t.c:2:14: the program calls `main` or takes its address"],
    );
}

#[test]
fn compile_error_names_the_source() {
    let error = compile("int main(void) { return }\n").expect_err("no C");
    assert!(matches!(error, Error::Compile { .. }));
    assert_eq!(error.class(), Class::Input);
}

#[test]
fn garbage_is_no_bitcode() {
    let error = instrument_pass::prepare(&instrument_pass::Bitcode(b"not bitcode".to_vec()));
    assert!(matches!(error, Err(Error::NotBitcode { .. })), "{error:?}");
}

#[test]
fn symbol_defined_twice() {
    let one = compile("int f(void) { return 1; }\n").expect("C");
    let error = instrument_pass::Bitcode::link(&[one.clone(), one]).expect_err("two definitions");
    expect!["cannot link bitcode: Linking globals named 'f': symbol multiply defined!"]
        .assert_eq(&error.to_string());
}
