//! Before `main`: options, and which archive is trusted.

mod run;

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use run::{Program, straight};

fn ready(name: &str) -> Program {
    Program::build_as(name, "process", &[]).with(&straight(&["lock@20 unlock@21"]))
}

#[track_caller]
fn assert_refused(output: &Output, why: &str) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(output.stdout.is_empty());
    assert!(text.starts_with("heddle: ") && text.contains(why), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.contains(" [HD04"), "{text}");
}

#[test]
fn options_are_listed_and_mistakes_are_errors() {
    let program = ready("options");
    let help = program.run_with("help", &["alone"]);
    assert!(help.status.success());
    let text = String::from_utf8_lossy(&help.stderr);
    for key in [
        "archive=",
        "policy=",
        "deadlock=",
        "trace=",
        "jitter=",
        "stats=",
        "stall=",
    ] {
        assert!(text.contains(key), "{text}");
    }
    assert_refused(
        &program.run_with("polcy=free", &["alone"]),
        "unknown key `polcy`",
    );
    assert_refused(
        &program.run_with("stall=x", &["alone"]),
        "`x` is not a value of `stall`",
    );
    assert_refused(
        &program.run_with("trace=/no/such/folder/t", &["alone"]),
        "cannot write the trace",
    );
}

#[test]
fn a_missing_or_foreign_archive_is_refused() {
    let program = ready("missing");
    fs::write(
        &program.archive,
        "not an archive, but long enough to be looked at as if it were one: header and all",
    )
    .unwrap();
    assert_refused(&program.run_with("", &["alone"]), "is not a Heddle archive");
    fs::remove_file(&program.archive).unwrap();
    assert_refused(
        &program.run_with("", &["alone"]),
        "missing.heddle: no such file",
    );
    let without = program.run_with("archive=none", &["alone"]);
    assert_eq!(
        String::from_utf8_lossy(&without.stdout).trim_end(),
        "alone 1 0"
    );
}

#[test]
fn an_archive_that_others_can_change_is_refused() {
    let program = ready("trust");
    let elsewhere = program.archive.with_extension("elsewhere");
    fs::rename(&program.archive, &elsewhere).unwrap();
    symlink(&elsewhere, &program.archive).unwrap();
    assert_refused(&program.run_with("", &["alone"]), "is a symbolic link");
    fs::remove_file(&program.archive).unwrap();
    let named = format!("archive={}", elsewhere.display());
    assert!(program.run_with(&named, &["alone"]).status.success());
    fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o666)).unwrap();
    assert_refused(
        &program.run_with(&named, &["alone"]),
        "can be changed by other users",
    );
    let folder = program.archive.with_extension("folder");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    let inside = folder.join("a.heddle");
    fs::copy(&elsewhere, &inside).unwrap();
    fs::set_permissions(&inside, fs::Permissions::from_mode(0o644)).unwrap();
    let named = format!("archive={}", inside.display());
    assert_refused(
        &program.run_with(&named, &["alone"]),
        "every user may replace it",
    );
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o1777)).unwrap();
    assert!(program.run_with(&named, &["alone"]).status.success());
}

/// A program with more rights than its caller does not listen to the caller, wherever the rights come from. Only root can make one.
#[test]
fn the_environment_of_a_privileged_program_is_ignored() {
    let program = ready("privileged");
    let folder = tempdir_of_everybody();
    let executable = folder.join("privileged");
    let archive = folder.join("privileged.heddle");
    copy(&program.executable, &executable, 0o755);
    copy(&program.archive, &archive, 0o644);
    let run = || {
        Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(&executable)
            .arg("alone")
            .env("HEDDLE_OPTIONS", "polcy=free:help")
            .output()
            .unwrap()
    };
    if fs::metadata(&executable).unwrap().uid() == 0 {
        assert_refused(&run(), "unknown key `polcy`");
        let mut ways: Vec<fn(&Path)> = vec![|file| {
            fs::set_permissions(file, fs::Permissions::from_mode(0o4755)).unwrap();
        }];
        // Not every machine has the tool, nor every file system the capability.
        let granted = |file: &Path| {
            let mut command = Command::new("setcap");
            let status = command.arg("cap_net_raw+ep").arg(file).status();
            status.is_ok_and(|status| status.success())
        };
        if granted(&executable) {
            ways.push(|file| {
                fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
                let mut command = Command::new("setcap");
                assert!(
                    command
                        .arg("cap_net_raw+ep")
                        .arg(file)
                        .status()
                        .unwrap()
                        .success()
                );
            });
        }
        for make_privileged in ways {
            make_privileged(&executable);
            fs::set_permissions(&archive, fs::Permissions::from_mode(0o644)).unwrap();
            let output = run();
            let text = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{text}");
            assert_eq!(String::from_utf8_lossy(&output.stdout), "alone 1 0\n");
            // Nor is a file trusted that a group could have changed.
            fs::set_permissions(&archive, fs::Permissions::from_mode(0o664)).unwrap();
            assert_refused(&run(), "can be changed by other users");
        }
    }
    fs::remove_dir_all(&folder).unwrap();
}

fn copy(from: &Path, to: &Path, mode: u32) {
    fs::copy(from, to).unwrap();
    fs::set_permissions(to, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn an_archive_inside_the_program_needs_no_file() {
    let file = ready("inside_source").archive;
    let flags = [
        format!("-DEMBEDDED=\"{}\"", file.display()),
        format!("-DEMBEDDED_SIZE={}", fs::metadata(&file).unwrap().len()),
    ];
    let program = Program::build_as("inside", "process", &flags.each_ref().map(String::as_str));
    assert!(!program.archive.exists());
    let output = program.run_with("stats=1", &["alone"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "alone 1 0\n");
    assert!(text.starts_with("heddle: 2 nodes"), "{text}");
}

/// What was opened is what counts: a file that is overwritten, cut short or removed changes nothing for who runs.
#[test]
fn an_archive_that_changes_under_a_running_program_does_not_matter() {
    let archive = straight(&[
        "create@1=1 lock@20<1.3 unlock@21 join@4<1.4",
        "start@0<0.1 lock@10 unlock@11 exit@0",
    ]);
    let program = Program::build_as("overwritten", "process", &[]).with(&archive);
    let good = fs::read(&program.archive).unwrap();
    let damages: [fn(&Path); 3] = [
        // In place: the file stays the same one.
        |file| {
            let len = fs::metadata(file).unwrap().len();
            let mut open = fs::OpenOptions::new().write(true).open(file).unwrap();
            open.write_all(&vec![0xff; len as usize]).unwrap();
        },
        |file| {
            let open = fs::OpenOptions::new().write(true).open(file).unwrap();
            open.set_len(0).unwrap();
        },
        |file| fs::remove_file(file).unwrap(),
    ];
    for damage in damages {
        fs::write(&program.archive, &good).unwrap();
        let run = Command::new(&program.executable)
            .arg("alarm")
            .env("HEDDLE_OPTIONS", "")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // Its worker takes more than a second before its turn.
        std::thread::sleep(Duration::from_millis(400));
        damage(&program.archive);
        let output = run.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", output.status);
        assert!(String::from_utf8_lossy(&output.stdout).ends_with("alarm 1 1\n"));
    }
}

/// A folder that every user can enter and only we can write.
fn tempdir_of_everybody() -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("heddle-setuid-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    folder
}
