//! What may happen from outside in the middle of things: kills, a full disk, little memory, files that change under a running program.
//!
//! Whatever happens, no archive is wrong: it is the old one, the right one, or none, and a program that runs follows the one it opened.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::workshop::Workshop;

/// Two locks chosen by the input; runs long enough to be disturbed.
const PROGRAM: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_mutex_t m[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int rounds, chosen, total;
static void *worker(void *unused) {
    (void)unused;
    for (int i = 0; i < rounds; i++) {
        pthread_mutex_lock(&m[chosen]);
        total++;
        pthread_mutex_unlock(&m[chosen]);
        usleep(200);
    }
    return NULL;
}
int main(int argc, char **argv) {
    rounds = argc > 1 ? atoi(argv[1]) : 0;
    chosen = argc > 2 && atoi(argv[2]) != 0;
    pthread_t a, b;
    pthread_create(&a, NULL, worker, NULL);
    pthread_create(&b, NULL, worker, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d\n", total);
    return 0;
}
"#;

const BUILD: [&str; 4] = ["build", "program.c", "-o", "program"];

fn shop() -> Workshop {
    let shop = Workshop::new();
    std::fs::write(shop.path("program.c"), PROGRAM).expect("a program");
    shop
}

/// The shell's limits are those of the command that follows.
fn limited(shop: &Workshop, limit: &str, words: &[&str]) -> std::process::Output {
    let heddle = env!("CARGO_BIN_EXE_heddle");
    let script = format!("ulimit {limit}; exec \"$0\" \"$@\"");
    let mut command = shop.command("sh");
    command.args(["-c", &script, heddle]).args(words);
    command.output().expect("a shell")
}

fn run(shop: &Workshop, arguments: &[&str]) -> std::process::Output {
    let program = shop.path("program");
    let mut command = shop.command(&program);
    command.args(arguments).output().expect("it starts")
}

/// Nothing is there, or what is there works.
fn works_or_is_absent(shop: &Workshop) -> bool {
    if !shop.path("program").exists() {
        return false;
    }
    let output = run(shop, &["3", "1"]);
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(0) => assert_eq!(output.stdout, b"6\n"),
        // Executable and archive of two builds, or an archive that is not there: refused before anything runs.
        Some(2) => assert!(said.starts_with("heddle: "), "{said}"),
        _ => panic!("{:?}: {said}", output.status),
    }
    output.status.success()
}

#[test]
fn a_build_that_is_killed_leaves_nothing_wrong() {
    let shop = shop();
    let mut finished = 0;
    for wait in [5u64, 15, 30, 50, 80, 120, 180, 260, 360, 500, 3000] {
        shop.heddle_killed(BUILD, Duration::from_millis(wait));
        finished += u32::from(works_or_is_absent(&shop));
    }
    assert!(shop.heddle(BUILD).status.success());
    assert!(works_or_is_absent(&shop), "after {finished} that worked");
}

#[test]
fn a_full_disk_is_an_error_and_what_was_there_stays() {
    let shop = shop();
    assert!(shop.heddle(BUILD).status.success());
    let old = std::fs::read(shop.path("program.heddle")).expect("archive");
    for blocks in ["0", "1", "2", "8", "64"] {
        // SIGXFSZ is ignored, so that writing fails as it does on a full disk.
        let limit = format!("-f {blocks}; trap '' XFSZ");
        let output = limited(&shop, &limit, &BUILD);
        assert_eq!(output.status.code(), Some(2), "{blocks}: {output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.is_empty() && !said.contains("panicked"), "{said}");
        assert_eq!(
            std::fs::read(shop.path("program.heddle")).ok(),
            Some(old.clone()),
            "{blocks}"
        );
        assert!(works_or_is_absent(&shop), "{blocks}");
    }
}

#[test]
fn too_little_memory_is_no_wrong_archive() {
    let shop = shop();
    assert!(shop.heddle(BUILD).status.success());
    let right = std::fs::read(shop.path("program.heddle")).expect("archive");
    for megabytes in [64, 256, 1024, 4096, 16384] {
        let limit = format!("-v {}", megabytes * 1024);
        let words = ["enumerate", "program.c", "-o", "small/program.heddle"];
        let _ = std::fs::create_dir(shop.path("small"));
        let _ = std::fs::remove_file(shop.path("small/program.heddle"));
        let output = limited(&shop, &limit, &words);
        // It may fail in any way; what it calls an archive is the right one.
        match std::fs::read(shop.path("small/program.heddle")) {
            Ok(bytes) => assert_eq!(bytes, right, "{megabytes}"),
            Err(_) => assert!(!output.status.success(), "{megabytes}: {output:?}"),
        }
    }
}

#[test]
fn the_archive_of_a_running_program_may_change() {
    let shop = shop();
    assert!(shop.heddle(BUILD).status.success());
    let archive = shop.path("program.heddle");
    let right = std::fs::read(&archive).expect("archive");
    let program = shop.path("program").to_string_lossy().into_owned();
    let disturb: [&dyn Fn(); 4] = [
        // Cut short in place.
        &|| std::fs::write(&archive, &right[..right.len() / 2]).expect("write"),
        // Overwritten in place.
        &|| std::fs::write(&archive, vec![0xff; right.len()]).expect("write"),
        &|| std::fs::remove_file(&archive).expect("remove"),
        // Replaced by another file.
        &|| {
            std::fs::write(shop.path("other"), b"something else").expect("write");
            std::fs::rename(shop.path("other"), &archive).expect("rename");
        },
    ];
    for (number, disturb) in disturb.iter().enumerate() {
        std::fs::write(&archive, &right).expect("write");
        let child = shop
            .command(&program)
            .args(["400", "1"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        // Its rounds take longer than this.
        std::thread::sleep(Duration::from_millis(40));
        disturb();
        let output = child.wait_with_output().expect("over");
        let said = String::from_utf8_lossy(&output.stderr);
        // On a slow machine it may have been disturbed before it had opened the archive: then it did not run.
        match output.status.code() {
            Some(0) => assert_eq!(output.stdout, b"800\n", "{number}"),
            Some(2) => assert!(output.stdout.is_empty(), "{number}: {said}"),
            _ => panic!("{number}: {:?} {said}", output.status),
        }
    }
}

#[test]
fn a_program_that_is_killed_leaves_a_log_that_conforms() {
    let shop = shop();
    assert!(shop.heddle(BUILD).status.success());
    let program = shop.path("program").to_string_lossy().into_owned();
    for wait in [1, 10, 30, 60] {
        let _ = std::fs::remove_file(shop.path("trace"));
        let mut child = shop
            .command(&program)
            .args(["100000", "0"])
            .env("HEDDLE_OPTIONS", "trace=trace:jitter=5")
            .stdout(Stdio::null())
            .spawn()
            .expect("starts");
        std::thread::sleep(Duration::from_millis(wait));
        child.kill().expect("it runs for a long time");
        let status = child.wait().expect("over");
        assert_eq!(status.signal(), Some(9));
        if std::fs::metadata(shop.path("trace")).is_ok_and(|file| file.len() > 48) {
            let conform = shop.heddle(["conform", "program.heddle", "trace"]);
            assert!(conform.status.success(), "{}", conform.stdout);
        }
    }
}

/// Order does not come from clocks: a program whose clocks are days ahead or behind ends as it should.
#[test]
fn clocks_that_jump_do_not_matter() {
    let shop = shop();
    assert!(shop.heddle(BUILD).status.success());
    let program = shop.path("program");
    for offset in ["86400", "-1000"] {
        let mut command = Command::new("unshare");
        command
            .args(["--user", "--map-root-user", "--time", "--fork"])
            .args([
                &format!("--monotonic={offset}"),
                &format!("--boottime={offset}"),
            ])
            .arg(&program)
            .args(["20", "1"]);
        let Ok(output) = command.output() else {
            eprintln!("skipped: there is no `unshare` to give a program clocks of its own");
            return;
        };
        let said = String::from_utf8_lossy(&output.stderr);
        if said.contains("unshare") {
            eprintln!("skipped: the system gives no clocks of its own to a program: {said}");
            return;
        }
        assert_eq!(output.stdout, b"40\n", "{offset}: {said}");
    }
}
