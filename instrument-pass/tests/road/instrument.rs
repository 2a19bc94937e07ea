use expect_test::expect;
use instrument_pass::{Bitcode, Error, InstrumentOptions, instrument};
use schedules::{Archive, Elastic, Register, RegisterKind, Root, Shadow};

use crate::{archive_of, body, prepared, site};

fn apply(prepared: &Bitcode, archive: &Archive) -> Bitcode {
    let options = InstrumentOptions {
        archive_name: "t.heddle".to_owned(),
        embedded: None,
    };
    instrument(prepared, archive, &options).expect("archive fits the program")
}

const LOCKS: &str = r#"
#include <pthread.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int limit;
void other(void);
int main(int argc, char **argv) {
    if (argc > limit) {
        pthread_mutex_lock(&m);
        limit++;
        pthread_mutex_unlock(&m);
    }
    while (limit < 10) {
        pthread_mutex_lock(&m);
        limit++;
        pthread_mutex_unlock(&m);
    }
    return 0;
}
"#;

#[test]
fn everything_the_plan_names() {
    let prepared = prepared(LOCKS);
    let mut archive = archive_of(&prepared);
    archive.plan.elastic.push(Elastic {
        site: site(&prepared, "main", "LLVMBr"),
        join_block: 2,
    });
    archive.roots.push(Root {
        symbol: "limit".to_owned(),
        size: 4,
    });
    let header = site(&prepared, "main", "LLVMLoad");
    archive.plan.markers.push(header);
    archive.shadows.push(Shadow {
        at: header,
        value: Register {
            function: "main".to_owned(),
            value: RegisterKind::Argument(0),
        },
        width: 32,
    });
    let out = apply(&prepared, &archive);
    expect![[r#"
        %3 = zext i32 %0 to i64
        %4 = call ptr @llvm.threadlocal.address.p0(ptr @__heddle_shadow)
        %5 = getelementptr inbounds i64, ptr %4, i64 0
        store i64 %3, ptr %5, align 8
        call void @heddle_enter_main(i32 0)
        call void @heddle_marker(i32 0)
        %6 = load i32, ptr @limit, align 4
        %7 = icmp slt i32 %6, %0
        %8 = select i1 %7, i32 0, i32 1
        call void @heddle_arm(i32 1, i32 %8)
        br i1 %7, label %9, label %14
        9:
        %10 = call i32 @heddle_pthread_mutex_lock(ptr noundef nonnull @m, i32 2)
        %11 = load i32, ptr @limit, align 4
        %12 = add nsw i32 %11, 1
        store i32 %12, ptr @limit, align 4
        %13 = call i32 @heddle_pthread_mutex_unlock(ptr noundef nonnull @m, i32 3)
        br label %14
        14:
        call void @heddle_arms_end(i32 1)
        br label %15
        15:
        %16 = load i32, ptr @limit, align 4
        %17 = icmp slt i32 %16, 10
        br i1 %17, label %18, label %23
        18:
        %19 = call i32 @heddle_pthread_mutex_lock(ptr noundef nonnull @m, i32 6)
        %20 = load i32, ptr @limit, align 4
        %21 = add nsw i32 %20, 1
        store i32 %21, ptr @limit, align 4
        %22 = call i32 @heddle_pthread_mutex_unlock(ptr noundef nonnull @m, i32 7)
        br label %15
        23:
        call void @heddle_exit_main()
        ret i32 0
    "#]]
    .assert_eq(&body(&out, "main"));
}

#[test]
fn program_description() {
    let prepared = prepared(LOCKS);
    let archive = archive_of(&prepared);
    let text = apply(&prepared, &archive).to_text().expect("valid");
    let line = text
        .lines()
        .find(|line| line.starts_with("@__heddle_program"));
    let program = archive.built_for();
    let line = line
        .expect("defined")
        .replace(&llvm_string(&program.fingerprint), "FINGERPRINT")
        .replace(&llvm_string(&program.plan), "PLAN");
    expect![[r#"@__heddle_program = constant { [8 x i8], [16 x i8], [16 x i8], i64, ptr, i64, ptr, i64, ptr, ptr, i64 } { [8 x i8] c"HEDDLE\00\02", [16 x i8] FINGERPRINT, [16 x i8] PLAN, i64 0, ptr @heddle.roots, i64 0, ptr @heddle.shadow_address, i64 8, ptr @heddle.archive_name, ptr null, i64 0 }"#]].assert_eq(&line);
}

/// Bytes as LLVM prints them.
fn llvm_string(bytes: &[u8]) -> String {
    let letter = |byte: &u8| match byte {
        b' '..=b'~' if !matches!(byte, b'"' | b'\\') => char::from(*byte).to_string(),
        _ => format!("\\{byte:02X}"),
    };
    format!("c\"{}\"", bytes.iter().map(letter).collect::<String>())
}

#[test]
fn unordered_site_keeps_its_native_call() {
    let prepared = prepared(LOCKS);
    let mut archive = archive_of(&prepared);
    archive
        .plan
        .unordered
        .push(site(&prepared, "main", "@pthread_mutex_lock"));
    let text = body(&apply(&prepared, &archive), "main");
    assert_eq!(text.matches("@pthread_mutex_lock").count(), 1, "{text}");
    assert_eq!(
        text.matches("@heddle_pthread_mutex_lock").count(),
        1,
        "{text}"
    );
}

#[test]
fn unknown_site_is_still_gated() {
    let prepared = prepared(LOCKS);
    let mut archive = archive_of(&prepared);
    archive.sites.clear();
    let text = body(&apply(&prepared, &archive), "main");
    assert_eq!(text.matches("i32 -1)").count(), 5, "{text}");
    assert!(!text.contains("@pthread_mutex"), "{text}");
}

#[test]
fn archive_of_another_program() {
    let prepared = prepared(LOCKS);
    let mut archive = archive_of(&prepared);
    archive.program.fingerprint[0] ^= 1;
    let error = instrument(&prepared, &archive, &InstrumentOptions::default());
    assert!(
        matches!(error, Err(Error::OtherProgram { .. })),
        "{error:?}"
    );
}

#[test]
fn raw_bitcode_is_not_prepared() {
    let raw = crate::compile(LOCKS).expect("C");
    let mut archive = Archive::default();
    archive.program.fingerprint = raw.fingerprint();
    let error = instrument(&raw, &archive, &InstrumentOptions::default());
    assert!(matches!(error, Err(Error::NotPrepared { .. })), "{error:?}");
}

/// The join is also reached without the branch, so that the end of the arms needs a block of its own.
#[test]
fn join_with_other_ways_in() {
    let prepared = prepared(
        r#"
        #include <pthread.h>
        pthread_mutex_t m;
        int x;
        int f(int a, int b) {
            int r = 1;
            if (a) {
                if (b) { pthread_mutex_lock(&m); r = x; pthread_mutex_unlock(&m); }
            } else r = 7;
            pthread_mutex_lock(&m);
            return r;
        }
        int main(int argc, char **argv) { return f(argc > 1, argc > 2); }"#,
    );
    let text = body(&prepared, "f");
    let mut archive = archive_of(&prepared);
    let branches: Vec<_> = crate::sites(&prepared)
        .iter()
        .enumerate()
        .filter(|(_, row)| row.function == "f" && row.text.starts_with("LLVMBr"))
        .map(|(index, _)| schedules::SiteId(u32::try_from(index).expect("few")))
        .collect();
    let blocks = 1 + text.lines().filter(|line| line.ends_with(':')).count();
    for site in branches {
        archive.plan.elastic.push(Elastic {
            site,
            join_block: u32::try_from(blocks - 1).expect("few"),
        });
    }
    expect![[r#"
        %.not = icmp eq i32 %0, 0
        br i1 %.not, label %8, label %3
        3:
        %.not3 = icmp eq i32 %1, 0
        br i1 %.not3, label %8, label %4
        4:
        %5 = call i32 @pthread_mutex_lock(ptr noundef nonnull @m)
        %6 = load i32, ptr @x, align 4
        %7 = call i32 @pthread_mutex_unlock(ptr noundef nonnull @m)
        br label %8
        8:
        %.0 = phi i32 [ %6, %4 ], [ 1, %3 ], [ 7, %2 ]
        %9 = call i32 @pthread_mutex_lock(ptr noundef nonnull @m)
        ret i32 %.0
    "#]]
    .assert_eq(&text);
    expect![[r#"
        %.not = icmp eq i32 %0, 0
        %3 = select i1 %.not, i32 0, i32 1
        call void @heddle_arm(i32 1, i32 %3)
        br i1 %.not, label %10, label %4
        4:
        %.not3 = icmp eq i32 %1, 0
        %5 = select i1 %.not3, i32 0, i32 1
        call void @heddle_arm(i32 2, i32 %5)
        br i1 %.not3, label %heddle.way, label %6
        6:
        %7 = call i32 @heddle_pthread_mutex_lock(ptr noundef nonnull @m, i32 3)
        %8 = load i32, ptr @x, align 4
        %9 = call i32 @heddle_pthread_mutex_unlock(ptr noundef nonnull @m, i32 4)
        br label %heddle.way
        10:
        %11 = phi i32 [ 7, %2 ], [ %13, %heddle.way ]
        call void @heddle_arms_end(i32 1)
        %12 = call i32 @heddle_pthread_mutex_lock(ptr noundef nonnull @m, i32 5)
        ret i32 %11
        heddle.way:
        %13 = phi i32 [ %8, %6 ], [ 1, %4 ]
        call void @heddle_arms_end(i32 2)
        br label %10
    "#]]
    .assert_eq(&body(&apply(&prepared, &archive), "f"));
}

#[test]
fn outcome_of_a_switch() {
    let prepared = prepared(
        r#"
        #include <pthread.h>
        pthread_mutex_t m;
        void a(void), b(void), c(void), d(void);
        int main(int argc, char **argv) {
            switch (argc) {
            case 1: a(); break;
            case 2: b(); break;
            case 4: c(); break;
            case 9: d(); break;
            }
            return 0;
        }"#,
    );
    let mut archive = archive_of(&prepared);
    archive
        .plan
        .decisions
        .push(site(&prepared, "main", "LLVMSwitch"));
    let text = body(&apply(&prepared, &archive), "main");
    let head: Vec<&str> = text
        .lines()
        .take_while(|line| !line.contains("switch"))
        .collect();
    expect![[r#"
          call void @heddle_enter_main(i32 0)
          %3 = sub i32 %0, 1
          %4 = icmp ult i32 %3, 9
          %5 = select i1 %4, i32 %3, i32 0
          %6 = zext i32 %5 to i64
          %7 = getelementptr inbounds i32, ptr @heddle.outcomes, i64 %6
          %8 = load i32, ptr %7, align 4
          %9 = select i1 %4, i32 %8, i32 0
          call void @heddle_decide(i32 0, i32 %9)"#]]
    .assert_eq(&head.join("\n"));
}
