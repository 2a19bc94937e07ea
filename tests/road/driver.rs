//! `heddle cc` beside clang: the same command in two equal folders must print, return and leave the same.

use std::collections::BTreeMap;

use crate::workshop::{Finished, Workshop};

const FILES: &[(&str, &str)] = &[
    (
        "a.c",
        "#include \"a.h\"\nint main(void) { return twice(FOUR) - 8; }\n",
    ),
    ("a.h", "#define FOUR 4\nint twice(int);\n"),
    ("b.c", "int twice(int x) { return 2 * x; }\n"),
    ("bad.c", "int f(void) {\n    return nothing;\n}\n"),
    ("worse.c", "int g(void) { return }\n"),
    ("warn.c", "int f(void) { int unused; return 1; }\n"),
    (
        "one.c",
        "#include <stdio.h>\nint main(void) { puts(\"one\"); return 3; }\n",
    ),
    ("my file.c", "int twice(int x) { return x + x; }\n"),
    (
        "fast.S",
        ".globl twice\n.type twice,@function\ntwice: lea (%rdi,%rdi), %eax\nret\n.section .note.GNU-stack,\"\",@progbits\n",
    ),
    (
        "plain.s",
        ".globl twice\ntwice: lea (%rdi,%rdi), %eax\nret\n.section .note.GNU-stack,\"\",@progbits\n",
    ),
    ("args.rsp", "-O1 a.c\n'my file.c' -o \"out put\"\n"),
    (
        "c++.cpp",
        "#include <string>\nint main() { return int(std::string(\"abc\").size()) - 3; }\n",
    ),
];

/// Runs a script in a fresh folder with `$CC` and `$CXX` standing for a compiler.
fn run(cc: &str, cxx: &str, script: &str) -> (Workshop, Finished) {
    let shop = Workshop::new();
    for (name, text) in FILES {
        shop.write(name, text);
    }
    std::fs::create_dir(shop.path("sub")).expect("folder");
    let script = script.replace("$CXX", cxx).replace("$CC", cc);
    let finished = shop.shell(&script);
    (shop, finished)
}

/// Files of a folder; contents only where they must be equal: native code carries our bitcode.
fn left(shop: &Workshop) -> BTreeMap<String, Option<String>> {
    let mut files = BTreeMap::new();
    for folder in ["", "sub/"] {
        for entry in std::fs::read_dir(shop.path(folder)).expect("folder") {
            let entry = entry.expect("entry");
            let bytes = std::fs::read(entry.path()).unwrap_or_default();
            let name = format!("{folder}{}", entry.file_name().to_string_lossy());
            let native = bytes.starts_with(b"\x7fELF") || bytes.starts_with(b"!<arch>");
            files.insert(
                name,
                (!native).then(|| String::from_utf8_lossy(&bytes).into_owned()),
            );
        }
    }
    files
}

/// The same script with clang, `heddle cc` and the one-word driver: same status, same output, same files.
#[track_caller]
fn same(script: &str) {
    let (plain_shop, plain) = run("clang-19", "clang++-19", script);
    for (cc, cxx) in [
        ("\"$HEDDLE\" cc", "\"$HEDDLE\" c++"),
        ("\"$HEDDLE_CC\"", "\"$HEDDLE\" c++"),
    ] {
        let (shop, ours) = run(cc, cxx, script);
        let here = |finished: &Finished, shop: &Workshop| {
            let folder = shop.folder().to_string_lossy().into_owned();
            (
                finished.status.code(),
                finished.stdout.replace(&folder, "."),
                finished.stderr.replace(&folder, "."),
            )
        };
        assert_eq!(
            here(&plain, &plain_shop),
            here(&ours, &shop),
            "{script} with {cc}"
        );
        assert_eq!(left(&plain_shop), left(&shop), "{script} with {cc}");
    }
}

#[test]
fn compiling() {
    same("$CC -c a.c");
    same("$CC -c a.c -o sub/x.o && nm sub/x.o");
    same("$CC -osub/x.o -c a.c");
    same("$CC -c a.c b.c && nm a.o b.o");
    same("$CC -O2 -c 'my file.c' && nm 'my file.o'");
    same("$CC -S -O1 b.c && cat b.s");
    same("$CC -S -O1 b.c -o -");
    same("$CC -c b.c -o - | wc -l >/dev/null");
    same("$CC -c b.c -o /dev/null");
    same("$CC -c -x c - -o s.o < b.c && nm s.o");
    same("$CC -E b.c -o b.i && $CC -Werror -c b.i && nm b.o");
    same("$CC -E b.c | $CC -Werror -x cpp-output -c - -o b.o && nm b.o");
    same("$CC -c -- 'my file.c' && nm 'my file.o'");
    same("ln -s no.o link.o; $CC -c b.c -o link.o && test -f link.o && ls");
    same("umask 077 && $CC -c b.c && stat -c %a b.o");
    same("$CC -fno-integrated-as -c b.c && nm b.o");
    same("$CC -save-temps -c b.c");
    same("$CC -emit-llvm -S -O1 b.c -o -");
    same("$CXX -c c++.cpp -o p.o");
}

#[test]
fn preprocessing_and_dependencies() {
    same("$CC -E a.c");
    same("$CC -E -dM - < /dev/null");
    same("$CC -M b.c");
    same("$CC -MM a.c");
    same("$CC -MD -c a.c && cat a.d");
    same("$CC -MMD -MP -MF sub/dep -MT target -c a.c && cat sub/dep");
    same("$CC -MMD a.c b.c -o p; cat *.d");
    same("$CC -MMD -MF dep one.c -o p; cat dep");
    same("$CC -Wp,-MMD,dep one.c -o p; cat dep");
    same("$CC -fstack-usage a.c b.c -o p; ls");
}

#[test]
fn linking() {
    same("$CC a.c b.c -o p && ./p");
    same("$CC one.c && ./a.out");
    same("$CC -c a.c b.c && $CC a.o b.o -o p && ./p");
    same("$CC a.c 'my file.c' -o 'my program' && './my program'");
    same("$CC @args.rsp && './out put'");
    same("$CC -x c - -o p < one.c; ./p");
    same("$CC -shared -fPIC b.c -o libb.so && $CC a.c -L. -lb -Wl,-rpath,. -o p && ./p");
    same("$CC -static a.c b.c -o p && ./p");
    same("$CC -O2 -flto a.c b.c -o p && ./p");
    same("$CC -c -flto a.c b.c && $CC -flto a.o b.o -o p && ./p && rm a.o b.o");
    same("$CC -r -nostdlib -o ab.o -x c a.c b.c && $CC ab.o -o p && ./p");
    same("$CC -c b.c && ar rcs libb.a b.o && ranlib libb.a && $CC a.c libb.a -o p && ./p");
    same("$CC -c b.c && ar rcs libb.a b.o && $CC a.c -L. -lb -o p && strip p && ./p");
    same("$CC -fuse-ld=lld a.c b.c -o p && ./p");
    same("$CC -Wl,--gc-sections -ffunction-sections a.c b.c -o p && ./p");
    same("$CC -E b.c -o b.i && $CC -Werror a.c b.i -o p && ./p");
    same("$CC -c b.c && ar rcsT libb.a b.o && $CC a.c -L. -l:libb.a -o p && ./p && rm libb.a");
    same("$CC -c b.c && ar rcs sub/libb.a b.o && LIBRARY_PATH=sub $CC a.c -lb -o p && ./p");
    same("$CC -c a.c b.c && ld -r a.o b.o -o both.o && $CC both.o -o p && ./p");
    same("$CXX c++.cpp -o p && ./p");
}

#[test]
fn assembly() {
    same("$CC a.c fast.S -o p && ./p");
    same("$CC -c fast.S && $CC -c plain.s -o q.o && $CC a.c q.o -o p && ./p");
    same("$CC -x assembler-with-cpp -c fast.S -o f.o && nm f.o");
    same("$CC a.c -x assembler plain.s -x none -o p && ./p");
    same("cp plain.s odd && $CC -x assembler odd -x c a.c -o p && ./p");
    same("cp plain.s odd && $CC -xc a.c -xassembler odd -o p && ./p");
}

#[test]
fn questions() {
    same("$CC --version");
    same(
        "$CC -dumpversion; $CC -dumpmachine; $CC -print-search-dirs; $CC -print-file-name=libc.so",
    );
    same("$CC -v");
    same("$CC");
    same("$CC -fsyntax-only bad.c");
    same("$CC --no-such-option one.c");
}

#[test]
fn failures() {
    same("$CC -c missing.c");
    same("$CC missing.o -o p");
    same("$CC -c bad.c");
    same("$CC -c bad.c worse.c a.c");
    same("$CC bad.c a.c worse.c -o p");
    same("$CC -Wall -c warn.c");
    same("$CC -Wall -Werror -c warn.c");
    same("$CC -Wall warn.c a.c b.c -o p && ./p");
    same("$CC @missing.rsp");
    same("$CC -c a.c -o no/such/folder.o");
    same("$CC -c a.c && $CC a.o -o p 2>&1 | grep -o 'undefined reference to.*'");
    same("$CC -lno-such-library -c a.c");
}

/// What runs is what clang would have made: the same instructions, and debug information only where it was asked for.
#[test]
fn objects_have_the_code_that_clang_makes() {
    for level in [
        "-O0",
        "-O1",
        "-O2",
        "-O3 -g",
        "-Os -fPIC",
        "-O2 -ffunction-sections",
    ] {
        same(&format!(
            "$CC {level} -c a.c one.c b.c && objdump -dr a.o one.o b.o | grep -v 'file format'"
        ));
        same(&format!(
            "$CC {level} -c one.c && objdump -h one.o | grep -o '[.]debug_[a-z]*' | sort | uniq"
        ));
    }
}

/// A unit, and nothing that a linker's plugin would claim.
#[test]
fn objects_carry_their_bitcode() {
    let (shop, done) = run(
        "\"$HEDDLE\" cc",
        "\"$HEDDLE\" c++",
        "$CC -O2 -c a.c b.c && objdump -h a.o | grep -o '[.]heddle.bc\\|[.]llvmbc\\|[.]llvmcmd' && ar rcs lib.a b.o
         $CC a.o lib.a -o p && cp p q && strip q
         $HEDDLE extract p -o p.bc && $HEDDLE extract q -o q.bc && cmp p.bc q.bc",
    );
    let done = done.exits(0);
    assert!(done.stdout.starts_with(".heddle.bc\n"), "{}", done.stdout);
    let done = done.says(&["p.bc: 2 sources, 2 functions, 0 external"]);
    assert!(!done.stdout.contains("without bitcode"), "{}", done.stdout);
    assert!(shop.path("q.bc").is_file());
}

#[test]
fn what_has_no_bitcode_is_named() {
    let (_, done) = run(
        "\"$HEDDLE\" cc",
        "\"$HEDDLE\" c++",
        "clang-19 -c b.c -o foreign.o && ar rcs libforeign.a foreign.o
         $CC a.c libforeign.a -o with_archive && $HEDDLE extract with_archive -o 1.bc --functions
         $CC -c fast.S && $CC a.c fast.o -lm -o with_assembly && $HEDDLE extract with_assembly -o 2.bc --functions
         $CC a.c -L. -lforeign -o with_library && $HEDDLE extract with_library -o 3.bc
         $CC a.c fast.S -o in_one_step && $HEDDLE extract in_one_step -o 4.bc
         $CC -c a.c && $CC -r a.o fast.o -o both.o && $CC both.o -o merged && ./merged && $HEDDLE extract merged -o 5.bc",
    );
    done.exits(0).says(&[
        "1.bc: 1 sources, 1 functions, 1 external\nwithout bitcode: libforeign.a(foreign.o)\nnative in the binary: twice\n",
        "external: twice\n",
        "2.bc: 1 sources, 1 functions, 1 external\nwithout bitcode: fast.o\n",
        "shared library: libc.so.6\n",
        "3.bc: 1 sources, 1 functions, 1 external\nwithout bitcode: ./libforeign.a(foreign.o)\n",
        "4.bc: 1 sources, 1 functions, 1 external\nwithout bitcode: fast.S\n",
        "5.bc: 1 sources, 1 functions, 1 external\nwithout bitcode: fast.o\n",
    ]);
}

/// However code without bitcode came into a program: it is named, by its file or at least by its functions, and the program can be built.
#[test]
fn nothing_comes_in_unseen() {
    let (_, done) = run(
        "\"$HEDDLE\" cc",
        "\"$HEDDLE\" c++",
        "again() { $CC \"$@\" -o p && $HEDDLE extract p -o p.bc && $HEDDLE build p -o e && ./e; }
         $CC -c a.c && as plain.s -o plain.o && ar rcs libplain.a plain.o && ar rcsT thin.a plain.o && cp libplain.a sub/libelse.a
         echo 1 && again a.o thin.a
         echo 2 && again a.o -L. -l:libplain.a
         echo 3 && LIBRARY_PATH=sub again a.o -lelse
         echo 4 && again -s a.o libplain.a
         echo 5 && again a.o --coverage b.c
         echo '__asm__(\".globl twice\\ntwice: lea (%rdi,%rdi), %eax\\nret\\n\");' >asm.c
         echo 6 && again a.o asm.c
         echo 7 && ld -r a.o plain.o -o both.o && $CC both.o -o p && $HEDDLE extract p -o p.bc
         echo 8 && again -static a.o b.c
         echo 9 && $CC -c b.c && ar rcs libb.a b.o && ar rcsT both.a b.o && $CC a.o both.a -o p && rm b.o both.a && $HEDDLE build p -o e && ./e
         echo 10 && $CC a.o -L. -Wl,--whole-archive -lb -Wl,--no-whole-archive -o p && rm libb.a && $HEDDLE build p -o e && ./e",
    );
    let built = "\ne: follows e.heddle\n";
    let done = done.exits(0).says(&[
        "1\np.bc: 1 sources, 1 functions, 1 external\nwithout bitcode: thin.a(plain.o)\n",
        "2\np.bc: 1 sources, 1 functions, 1 external\nwithout bitcode: ./libplain.a(plain.o)\n",
        "3\np.bc: 1 sources, 1 functions, 1 external\nwithout bitcode: sub/libelse.a(plain.o)\n",
        "4\np.bc: 1 sources, 1 functions, 1 external\nwithout bitcode: libplain.a(plain.o)\n",
        "5\np.bc: 1 sources, 1 functions, 1 external\nwithout bitcode: b.c\n",
        "6\np.bc: 2 sources, 1 functions, 1 external\nnative in the binary: twice\n",
        "7\np.bc: 1 sources, 1 functions, 1 external\nnative in the binary: twice\n",
        "8\np.bc: 2 sources, 2 functions, 0 external\n",
    ]);
    assert_eq!(done.stdout.matches(built).count(), 9, "{}", done.stdout);
}

/// `--wrap` means the same to the analysis as to the linker.
#[test]
fn wrapped_names() {
    let (shop, done) = run(
        "\"$HEDDLE\" cc",
        "\"$HEDDLE\" c++",
        "echo 'int __real_twice(int); int __wrap_twice(int x) { return __real_twice(x) + 100; }' >wrap.c
         $CC a.c b.c wrap.c -Wl,--wrap=twice -o p && (./p || echo $?) && $HEDDLE build p -o e && (./e || echo $?)
         as plain.s -o plain.o && $CC a.c plain.o wrap.c -Xlinker --wrap -Xlinker twice -o q && $HEDDLE build q -o e && (./e || echo $?)
         echo 'void *__real_malloc(unsigned long); void *__wrap_malloc(unsigned long n) { return n == 1 ? 0 : __real_malloc(n); }' >allocate.c
         echo 'void *malloc(unsigned long); int main(void) { return malloc(2) && !malloc(1) ? 7 : 0; }' >main.c
         $CC -fno-builtin main.c allocate.c -Wl,--wrap=malloc -o m && $HEDDLE extract m -o m.bc --functions && $HEDDLE build m -o e && (./e || echo $?)",
    );
    let built = |name: &str| {
        format!(
            "{name}: follows {name}.heddle\n{name}.heddle: 1 epoch, 1 schedule, 0 early and 0 late decisions\n"
        )
    };
    let done = done.exits(0);
    assert_eq!(
        done.stdout,
        format!(
            "100\n{0}100\n{0}100\nm.bc: 2 sources, 2 functions, 1 external\nshared library: libc.so.6\nexternal: malloc\n{0}7\n",
            built("e")
        )
    );
    drop(shop);
}

/// What is no 64-bit ELF object stays exactly what clang makes.
#[test]
fn other_targets_are_left_alone() {
    for flags in ["-m32", "--target=wasm32", "-g0", "-gsplit-dwarf"] {
        same(&format!(
            "$CC {flags} -c b.c && objdump -h b.o 2>&1 | grep -o '[.]llvm[a-z]*\\|[.]debug_[a-z]*' | sort || true"
        ));
    }
    same("$CC -O2 -x c-header a.h -o a.h.pch && $CC -O2 -include-pch a.h.pch -c a.c && rm a.h.pch");
}
