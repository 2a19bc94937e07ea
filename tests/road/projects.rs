//! Small projects of every build system, built unchanged by `heddle cc`: they pass their own checks, and each program gives one
//! prepared module.
//!
//! `scripts/setup tests` installs the build systems; a case whose build system is missing says so and is skipped.

use std::path::Path;
use std::process::Command;

use crate::workshop::Workshop;

/// A workshop with the sources of `tests/projects/make` and, over them, the build files of a project.
fn project(name: &str) -> Workshop {
    let shop = Workshop::new();
    for project in ["make", name] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/projects")
            .join(project);
        copy(&from, shop.folder());
    }
    shop
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("folder");
    for entry in std::fs::read_dir(from).expect("project") {
        let entry = entry.expect("entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("type").is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("file");
        }
    }
}

/// True if all tools are there; says what is missing otherwise.
fn have(tools: &[&str]) -> bool {
    for tool in tools {
        let found = Command::new(tool).arg("--version").output();
        if !found.is_ok_and(|output| output.status.success()) {
            println!("skipped: no {tool} on this machine (scripts/setup tests installs it)");
            return false;
        }
    }
    true
}

/// Extracts and prepares a program: all its sources are there, and preparing it again gives the same bytes.
#[track_caller]
fn prepared(shop: &Workshop, program: &str, summary: &str) {
    let bitcode = format!("{}.bc", program.replace('/', "_"));
    let extracted = shop.heddle(["extract", program, "-o", &bitcode]).exits(0);
    assert!(
        extracted
            .stdout
            .starts_with(&format!("{bitcode}: {summary}\n")),
        "{}",
        extracted.stdout
    );
    shop.heddle(["prepare", program, "-o", "one.bc"]).exits(0);
    shop.heddle(["prepare", &bitcode, "-o", "two.bc"]).exits(0);
    let read = |name| std::fs::read(shop.path(name)).expect("prepared");
    assert!(read("one.bc") == read("two.bc"));
}

#[test]
fn plain_make_with_static_libraries_and_two_programs() {
    let shop = project("make");
    shop.shell("make -j8 CC=\"$HEDDLE cc\" && make check")
        .exits(0);
    // names.o and tally.o are linked from archives; unused.o is not.
    prepared(&shop, "app/sum", "3 sources, 7 functions, 5 external");
    prepared(&shop, "app/count", "2 sources, 6 functions, 5 external");
}

#[test]
fn a_failing_compile_fails_the_build_and_nothing_else() {
    let shop = project("make");
    let script = "make -k -j8 CC=\"$HEDDLE_CC\" broken app/count";
    shop.shell(script)
        .exits(2)
        .complains(&["broken.c:2:12: error: use of undeclared identifier 'missing_name'"]);
    assert!(!shop.path("broken.o").exists());
    shop.write("broken.c", "int broken(void) { return 0; }\n");
    shop.shell(script).exits(0);
    prepared(&shop, "app/count", "2 sources, 6 functions, 5 external");
}

#[test]
fn names_with_spaces() {
    let shop = Workshop::new();
    let folder = "a folder";
    for file in ["lib/tally.c", "lib/tally.h", "app/count.c"] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/projects/make")
            .join(file);
        let name = Path::new(file)
            .file_name()
            .expect("name")
            .to_string_lossy()
            .into_owned();
        shop.write(
            &format!("{folder}/my {name}"),
            std::fs::read(from).expect("source"),
        );
    }
    shop.shell(
        "cd 'a folder' && cp 'my tally.h' tally.h
         $HEDDLE cc -O2 -c 'my tally.c' -o 'my tally.o' && ar rcs 'my lib.a' 'my tally.o'
         $HEDDLE cc -O2 'my count.c' 'my lib.a' -lpthread -o 'my count' && test \"$('./my count')\" = 4",
    )
    .exits(0);
    prepared(
        &shop,
        "a folder/my count",
        "2 sources, 6 functions, 5 external",
    );
}

#[test]
fn autotools() {
    if !have(&["autoreconf", "automake"]) {
        return;
    }
    let shop = project("autotools");
    shop.shell("rm Makefile lib/Makefile; autoreconf -i >/dev/null 2>&1 && cp -r . ../plain.$$ && mv ../plain.$$ plain")
        .exits(0);
    shop.shell("CC=\"$HEDDLE cc\" ./configure >/dev/null && make -j8 check >check.log")
        .exits(0);
    shop.shell("cd plain && CC=clang-19 ./configure >/dev/null && cmp config.h ../config.h")
        .exits(0);
    prepared(&shop, "sum", "3 sources, 7 functions, 5 external");
    prepared(&shop, "count", "2 sources, 6 functions, 5 external");
}

#[test]
fn cmake() {
    if !have(&["cmake", "make"]) {
        return;
    }
    let shop = project("cmake");
    shop.shell(
        "mv names.c 'the names.c'
         cmake -S . -B 'the build' -DCMAKE_C_COMPILER=\"$HEDDLE_CC\" -DCMAKE_BUILD_TYPE=RelWithDebInfo >cmake.log
         cmake --build 'the build' -j8 >>cmake.log && cd 'the build' && ctest >>../cmake.log",
    )
    .exits(0);
    // The names come from a shared library: external, and named.
    prepared(&shop, "the build/sum", "2 sources, 6 functions, 6 external");
    shop.heddle(["extract", "the build/sum", "-o", "sum.bc", "--functions"])
        .exits(0)
        .says(&["shared library: libnames.so", "external: total_name"]);
    prepared(
        &shop,
        "the build/count",
        "2 sources, 6 functions, 5 external",
    );
}

#[test]
fn meson() {
    if !have(&["meson", "ninja"]) {
        return;
    }
    let shop = project("meson");
    shop.shell("CC=\"$HEDDLE_CC\" meson setup build >log && ninja -j8 -C build >>log && meson test -C build >>log")
        .exits(0);
    prepared(&shop, "build/count", "2 sources, 6 functions, 5 external");
}

#[test]
fn a_configure_probe_finds_what_it_finds_with_clang() {
    let shop = project("probe");
    shop.shell(
        "CC=clang-19 ./configure && mv config.h plain.h
         CC=\"$HEDDLE cc\" ./configure && diff plain.h config.h && mv config.h two_words.h
         CC=\"$HEDDLE_CC\" ./configure && diff plain.h config.h",
    )
    .exits(0);
    let found = std::fs::read_to_string(shop.path("plain.h")).expect("config.h");
    for line in [
        "#define HAVE_RUNNING 1",
        "/* no NO_SUCH_HEADER */",
        "/* a program returned 77 */",
    ] {
        assert!(found.contains(line), "{found}");
    }
}

#[test]
fn light_cxx_reaches_the_prepared_form() {
    let shop = Workshop::new();
    shop.write(
        "main.cpp",
        "#include <pthread.h>\n#include <cstdio>\nextern \"C\" int twice(int);\n\
         template <typename T> struct Guard { T *m; Guard(T *m) : m(m) { pthread_mutex_lock(m); } ~Guard() { pthread_mutex_unlock(m); } };\n\
         static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\nstatic int sum;\n\
         static void *work(void *) { Guard<pthread_mutex_t> guard(&lock); sum += twice(2); return nullptr; }\n\
         int main() { pthread_t t; pthread_create(&t, nullptr, work, nullptr); pthread_join(t, nullptr); std::printf(\"%d\\n\", sum); }\n",
    );
    shop.write("twice.c", "int twice(int x) { return 2 * x; }\n");
    shop.shell(
        "$HEDDLE cc -O2 -c twice.c && $HEDDLE c++ -O2 -c main.cpp
         $HEDDLE c++ main.o twice.o -lpthread -o prog && test $(./prog) = 4
         ln -s \"$HEDDLE_CC\" heddle-c++ && ./heddle-c++ -O2 main.cpp twice.o -lpthread -o again && test $(./again) = 4",
    )
    .exits(0);
    let run = shop
        .heddle(["prepare", "prog", "-o", "prog.bc", "--sites"])
        .exits(0);
    run.says(&[
        "main.cpp:4:",
        "@pthread_mutex_lock",
        "@pthread_mutex_unlock",
    ]);
}
