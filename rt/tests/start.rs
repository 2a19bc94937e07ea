//! Before `main`: options, and which archive is trusted.

mod run;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::Output;

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

/// A program with more rights than its caller does not listen to the caller. Only root can make one.
#[test]
fn the_environment_of_a_set_uid_program_is_ignored() {
    let copy = |from: &std::path::Path, to: &std::path::Path, mode| {
        fs::copy(from, to).unwrap();
        fs::set_permissions(to, fs::Permissions::from_mode(mode)).unwrap();
    };
    let program = ready("setuid");
    let folder = tempdir_of_everybody();
    let (executable, archive) = (folder.join("setuid"), folder.join("setuid.heddle"));
    copy(&program.executable, &executable, 0o4755);
    copy(&program.archive, &archive, 0o644);
    let run = || {
        std::process::Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(&executable)
            .arg("alone")
            .env("HEDDLE_OPTIONS", "polcy=free:help")
            .output()
            .unwrap()
    };
    let is_root = fs::metadata(&executable).unwrap().uid() == 0;
    if is_root {
        let output = run();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "alone 1 0\n");
        // Nor is a file trusted that a group could have changed.
        fs::set_permissions(&archive, fs::Permissions::from_mode(0o664)).unwrap();
        assert_refused(&run(), "can be changed by other users");
    }
    fs::remove_dir_all(&folder).unwrap();
}

/// A folder that every user can enter and only we can write.
fn tempdir_of_everybody() -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("heddle-setuid-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    folder
}
