//! What C constructs become in the model. Tests are data; expectations are dumps.

use expect_test::{Expect, expect};

use crate::model::testing::{compile, func, refusal};
use crate::model::{InstrKind, dump, layout};

/// Dumps one function of a program.
#[track_caller]
fn check(source: &str, name: &str, expected: Expect) {
    let module = compile(source);
    expected.assert_eq(&dump::function(&module, func(&module, name)));
}

#[test]
fn loops_have_names_and_lines() {
    check(
        r#"
        int sum(int n) {
            int total = 0;
            for (int i = 0; i < n; i++)
                total += i;
            return total;
        }"#,
        "sum",
        expect![[r#"
            define f0 sum(i32 n) i32 ; test.c:2
              b0: 
                i0 br b1 ; test.c:4:18
              b1: b0 b2
                i1 i32 = phi b0: 0:32, b2: %i5 ; total, test.c:4:0
                i2 i32 = phi b0: 0:32, b2: %i6 ; i, test.c:4:0
                i3 i1 = icmp Slt i32 %i2, %arg0 ; test.c:4:31
                i4 br %i3 ? b2 : b3 ; test.c:4:13
              b2: b1
                i5 i32 = Add %i1, %i2 ; total, test.c:5:23
                i6 i32 = Add %i2, 1:32 ; i, test.c:4:37
                i7 br b1 ; test.c:4:13
              b3: b1
                i8 ret %i1 ; test.c:6:13
        "#]],
    );
}

#[test]
fn addresses_are_base_offset_and_terms() {
    check(
        r#"
        struct node { int key; struct node *next; int values[4]; };
        struct node table[8];
        int get(struct node *p, long i, int j) { return p->next[2].values[i] + table[j].values[3]; }"#,
        "get",
        expect![[r#"
            define f0 get(ptr p, i64 i, i32 j) i32 ; test.c:4
              b0: 
                i0 ptr = gep %arg0 +8 ; test.c:4:60
                i1 ptr = load %i0 ; test.c:4:60
                i2 ptr = gep %i1 +64 ; test.c:4:57
                i3 ptr = gep %i2 +16 ; test.c:4:68
                i4 ptr = gep %i3 +0 + %arg1 * 4 ; test.c:4:57
                i5 i32 = load %i4 ; test.c:4:57
                i6 i64 = SExt i32 %arg2 ; test.c:4:80
                i7 ptr = gep @table +0 + %i6 * 32 ; test.c:4:80
                i8 ptr = gep %i7 +16 ; test.c:4:89
                i9 ptr = gep %i8 +12 ; test.c:4:80
                i10 i32 = load %i9 ; test.c:4:80
                i11 i32 = Add %i5, %i10 ; test.c:4:78
                i12 ret %i11 ; test.c:4:50
        "#]],
    );
}

#[test]
fn calls_of_every_kind() {
    check(
        r#"
        #include <stdarg.h>
        struct big { long words[8]; };
        extern void take(struct big b);
        extern void stop(void) __attribute__((noreturn));
        int call(int (*f)(int), struct big *b, int n, ...) {
            va_list list;
            va_start(list, n);
            int extra = va_arg(list, int);
            va_end(list);
            take(*b);
            __asm__ volatile("nop" ::: "memory");
            if (n < 0) stop();
            return f(n + extra);
        }"#,
        "call",
        expect![[r#"
            define f0 call(ptr f, ptr b, i32 n, ...) i32 ; test.c:6
              b0: 
                i0 ptr = alloca 24 x 1:32 ; list, test.c:7:13
                i1 call llvm.lifetime.start.p0(24:64, %i0) ; test.c:7:13
                i2 call llvm.va_start.p0(%i0) ; test.c:8:13
                i3 i32 = load %i0 ; test.c:9:25
                i4 i1 = icmp Ule i32 %i3, 40:32 ; test.c:9:25
                i5 br %i4 ? b1 : b2 ; test.c:9:25
              b1: b0
                i6 ptr = gep %i0 +16 ; test.c:9:25
                i7 ptr = load %i6 ; test.c:9:25
                i8 ptr = gep %i7 +0 + %i3 * 1 ; test.c:9:25
                i9 i32 = Add %i3, 8:32 ; test.c:9:25
                i10 store i32 %i9 to %i0 ; test.c:9:25
                i11 br b3 ; test.c:9:25
              b2: b0
                i12 ptr = gep %i0 +8 ; test.c:9:25
                i13 ptr = load %i12 ; test.c:9:25
                i14 ptr = gep %i13 +8 ; test.c:9:25
                i15 store ptr %i14 to %i12 ; test.c:9:25
                i16 br b3 ; test.c:9:25
              b3: b1 b2
                i17 ptr = phi b1: %i8, b2: %i13 ; test.c:9:25
                i18 i32 = load %i17 ; extra, test.c:9:25
                i19 call llvm.va_end.p0(%i0) ; test.c:10:13
                i20 call take(%arg1) ; test.c:11:13
                i21 call asm "nop" "~{memory},~{dirflag},~{fpsr},~{flags}"() ; test.c:12:13
                i22 i1 = icmp Slt i32 %arg2, 0:32 ; test.c:13:19
                i23 br %i22 ? b4 : b5 ; test.c:13:17
              b4: b3
                i24 call stop() noreturn ; test.c:13:24
                i25 unreachable ; test.c:13:24
              b5: b3
                i26 i32 = Add %arg2, %i18 ; test.c:14:24
                i27 i32 = call *%arg0(%i26) ; test.c:14:20
                i28 call llvm.lifetime.end.p0(24:64, %i0) ; test.c:15:9
                i29 ret %i27 ; test.c:14:13
        "#]],
    );
}

#[test]
fn switches_and_computed_gotos() {
    check(
        r#"
        int choose(int x) {
            static void *targets[] = { &&one, &&two };
            switch (x) { case 3: return 30; case -1: return 10; case 7: goto *targets[x & 1]; }
            return 0;
        one: return 1;
        two: return 2;
        }"#,
        "choose",
        expect![[r#"
            define f0 choose(i32 x) i32 ; test.c:2
              b0: 
                i0 switch %arg0, 3: b5, 4294967295: b1, 7: b2, default: b3 ; test.c:4:13
              b1: b0
                i1 br b5 ; test.c:4:54
              b2: b0
                i2 i32 = And %arg0, 1:32 ; test.c:4:89
                i3 i64 = SExt i32 %i2 ; test.c:4:79
                i4 ptr = gep @choose.targets +0 + %i3 * 8 ; test.c:4:79
                i5 ptr = load %i4 ; test.c:4:79
                i6 indirectbr %i5 [b5 b4]
              b3: b0
                i7 br b5 ; test.c:5:13
              b4: b2
                i8 br b5 ; test.c:7:14
              b5: b0 b1 b2 b3 b4
                i9 i32 = phi b3: 0:32, b4: 2:32, b1: 10:32, b0: 30:32, b2: 1:32
                i10 ret %i9 ; test.c:8:9
        "#]],
    );
}

#[test]
fn atomics_and_wide_integers() {
    check(
        r#"
        #include <stdatomic.h>
        _Atomic long counter;
        __int128 wide(__int128 x) {
            long expected = 4;
            atomic_fetch_add(&counter, 1);
            atomic_compare_exchange_strong(&counter, &expected, 5);
            atomic_thread_fence(memory_order_seq_cst);
            return x * ((__int128)7 << 100) + atomic_load(&counter);
        }"#,
        "wide",
        expect![[r#"
            define f0 wide(i64, i64) {i64 i64}:16 ; test.c:4
              b0: 
                i0 i128 = ZExt i64 %arg1 ; test.c:6:13
                i1 i128 = Shl %i0, 64:128
                i2 i128 = ZExt i64 %arg0
                i3 i128 = Or %i1, %i2 ; x
                i4 i64 = rmw Add @counter, 1:64 ; test.c:6:13
                i5 {i64 i1}:16 = cmpxchg @counter, 4:64, 5:64 ; test.c:7:13
                i6 i1 = extractvalue %i5 [1] ; test.c:7:13
                i7 i8 = ZExt i1 %i6 ; test.c:7:13
                i8 fence ; test.c:8:13
                i9 i128 = Mul %i3, 8873554201597605810476922437632:128 ; test.c:9:22
                i10 i64 = load atomic @counter ; test.c:9:47
                i11 i128 = SExt i64 %i10 ; test.c:9:47
                i12 i128 = Add %i9, %i11 ; test.c:9:45
                i13 i64 = Trunc i128 %i12 ; test.c:9:13
                i14 i128 = LShr %i12, 64:128 ; test.c:9:13
                i15 i64 = Trunc i128 %i14 ; test.c:9:13
                i16 {i64 i64}:16 = insertvalue undef, %i13 [0] ; test.c:10:9
                i17 {i64 i64}:16 = insertvalue %i16, %i15 [1] ; test.c:10:9
                i18 ret %i17 ; test.c:10:9
        "#]],
    );
}

#[test]
fn initializers_hold_bytes_and_addresses() {
    let module = compile(
        r#"
        #include <stddef.h>
        extern int outside;
        int inside[4];
        static int helper(int x) { return x; }
        struct row { const char *name; int (*run)(int); int *where; double weight; _Bool flag; long long far; };
        struct row rows[3] = {
            { "first", helper, &inside[2], 1.5, 1, 0 },
            { NULL, NULL, &outside, 0, 0, (long long)(&inside[3]) },
        };
        __thread int mine = 7;
        long distance = (char *)&inside[3] - (char *)&inside[1];
        "#,
    );
    let mut text = String::new();
    for line in dump::module(&module).lines() {
        if line.starts_with("define") || line.starts_with("declare") {
            break;
        }
        text.push_str(line);
        text.push('\n');
    }
    expect![[r#"
        module test.bc
        global g0 .str size 6 constant internal
          +0 666972737400
        global g1 inside size 16
        global g2 outside size 4 extern
        global g3 rows size 144
          +0 @.str
          +8 &helper
          +16 @inside+8
          +24 000000000000f83f01
          +64 @outside
          +88 @inside+12
        global g4 mine size 4 thread_local
          +0 07000000
        global g5 distance size 8
          +0 0800000000000000

    "#]]
    .assert_eq(&text);
}

#[test]
fn globals_are_named_by_their_source_types() {
    let module = compile(
        r#"
        #include <pthread.h>
        typedef struct { int id; pthread_mutex_t lock; struct { int a, b; } in; } account_t;
        account_t accounts[2][3];
        void touch(void) { pthread_mutex_lock(&accounts[1][2].lock); }"#,
    );
    let (_, global) = module
        .globals
        .iter()
        .find(|(_, global)| global.name == "accounts")
        .expect("the array");
    let stride = global.size / 6;
    let ty = global.layout.expect("has a type");
    let name = |offset, size| layout::path(&module.layouts, ty, offset, size);
    assert_eq!(name(5 * stride + 8, 40), "[1][2].lock");
    assert_eq!(name(stride - 4, 4), "[0][0].in.b");
}

#[test]
fn constructors_run_in_order() {
    let module = compile(
        r#"
        __attribute__((constructor(300))) static void late(void) {}
        __attribute__((constructor(200))) static void early(void) {}
        __attribute__((destructor)) static void end(void) {}
        int main(void) { return 0; }"#,
    );
    let names = |list: &[crate::model::FuncId]| -> Vec<String> {
        list.iter()
            .map(|func| module.functions[*func].name.clone())
            .collect()
    };
    assert_eq!(names(&module.constructors), ["early", "late"]);
    assert_eq!(names(&module.destructors), ["end"]);
}

#[test]
fn aliases_are_what_they_stand_for() {
    check(
        r#"
        int real(int x) { return x + 1; }
        extern int other(int x) __attribute__((alias("real")));
        int use(int x) { return other(x); }"#,
        "use",
        expect![[r#"
            define f1 use(i32 x) i32 ; test.c:4
              b0: 
                i0 i32 = call real(%arg0) ; test.c:4:33
                i1 ret %i0 ; test.c:4:26
        "#]],
    );
}

#[test]
fn inlined_code_keeps_its_chain() {
    check(
        r#"
        int g;
        static inline __attribute__((always_inline)) void inner(int x) { g = x; }
        static inline __attribute__((always_inline)) void outer(int x) { inner(x + 1); }
        void top(int x) { outer(x); }"#,
        "top",
        expect![[r#"
            define f0 top(i32 x) void ; test.c:5
              b0: 
                i0 i32 = Add %arg0, 1:32 ; x, test.c:4:82, inlined at test.c:5
                i1 store i32 %i0 to @g ; test.c:3:76, inlined at test.c:4, inlined at test.c:5
                i2 ret ; test.c:5:37
        "#]],
    );
}

#[test]
fn refusals_name_the_construct_and_the_line() {
    let error = refusal(
        r#"
        int f(int x) {
            __asm__ goto("jmp %l0" :::: out);
            return 1;
        out: return x;
        }"#,
    );
    expect![[r#"test.c:3: the instruction `callbr void asm sideeffect "jmp ${0:l}", "!i,~{dirflag},~{fpsr},~{flags}"() #2` is not supported"#]].assert_eq(&error.to_string());
}

#[test]
fn ordinary_files_are_not_bitcode() {
    let error = crate::model::load::load_bytes(b"hello", "notes.txt").expect_err("refused");
    expect!["notes.txt is not LLVM 19 bitcode: wrong magic number"].assert_eq(&error.to_string());
}

#[test]
fn stable_ids_survive_unrelated_edits() {
    let sites = |source: &str| -> Vec<u64> {
        let module = compile(source);
        let function = &module.functions[func(&module, "work")];
        let mut ids: Vec<u64> = function.instrs.rows().iter().map(|i| i.site).collect();
        ids.retain(|id| *id != 0);
        ids
    };
    let before = sites("void a(void); void b(int); void work(int x) { a(); if (x) b(1); a(); }");
    let after = sites(
        "int extra(void) { return 1; } void a(void); void b(int); void work(int x) { a(); if (x) b(1); a(); }",
    );
    assert_eq!(before, after);
    assert_eq!(before.len(), 4);
    let unique: std::collections::BTreeSet<u64> = before.iter().copied().collect();
    assert_eq!(unique.len(), 4);
}

/// A loop's header begins with values that the compiler joined: these have no line of their own.
#[test]
fn sites_that_the_compiler_made_up_stand_where_their_block_goes_on() {
    let module = compile(
        "int f(int);\nvoid work(int n) {\n  int i = 0;\n  do {\n    i = f(i);\n  } while (i < n);\n}",
    );
    let function = &module.functions[func(&module, "work")];
    let joined: Vec<u32> = function
        .instrs
        .rows()
        .iter()
        .filter(|instr| matches!(instr.kind, InstrKind::Phi(_)) && instr.site != 0)
        .map(|instr| instr.position.line)
        .collect();
    assert_eq!(joined, [5]);
}
