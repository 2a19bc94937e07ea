//! Archives on a real file system: strange files, missing rights, killed writers, full disks.
//!
//! Some cases need another user, another process or another mount: there the test runs itself again with `CHILD` set. A case
//! that this machine does not allow says that it was skipped.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use schedules::file::BuiltFor;
use schedules::text::parse;
use schedules::{Archive, OpenArchive};

const CHILD: &str = "HEDDLE_DISK_TEST";
const NOBODY: u32 = 65534;

fn small() -> Archive {
    parse(include_str!("archives/relock.txt")).unwrap()
}

/// The same with half a megabyte of assumptions.
fn large() -> Archive {
    let mut archive = small();
    archive.program.assumptions = (0..20_000).map(|n| format!("assumption {n:>12}")).collect();
    archive
}

fn refusal(path: &Path) -> String {
    OpenArchive::open(path).unwrap_err().reason.to_string()
}

/// Not a test by itself: what the tests below run in another process.
#[test]
fn child() {
    let Ok(order) = std::env::var(CHILD) else {
        return;
    };
    let (order, path) = order.split_once(' ').unwrap();
    let path = Path::new(path);
    match order {
        "open" => println!(
            "result: {:?}",
            OpenArchive::open(path)
                .map(|_| ())
                .map_err(|e| e.to_string())
        ),
        "write" => println!(
            "result: {:?}",
            large().write(path).map_err(|e| e.to_string())
        ),
        "write-for-ever" => loop {
            small().write(path).unwrap();
            large().write(path).unwrap();
        },
        other => panic!("{other}"),
    }
}

/// This test program again, as a child that follows an order.
fn child_command(order: &str, path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "child", "--nocapture"])
        .env(CHILD, format!("{order} {}", path.display()));
    command
}

/// What a child printed as its result, if it came that far.
fn result(output: &Output) -> Option<String> {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let at = text.find("result: ")? + "result: ".len();
    Some(text[at..].lines().next().unwrap_or("").to_owned())
}

/// The result of a child that runs as nobody; none if this machine does not allow that.
fn as_nobody(order: &str, path: &Path) -> Option<String> {
    let mut command = child_command(order, path);
    command.uid(NOBODY).gid(NOBODY).current_dir("/");
    let result = command.output().ok().and_then(|output| result(&output));
    if result.is_none() {
        println!("skipped: cannot run this test as another user");
    }
    result
}

#[test]
fn strange_files_have_their_errors() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    assert_eq!(refusal(folder.path()), "is a directory, not an archive");
    assert!(
        Command::new("mkfifo")
            .arg(at("fifo"))
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(refusal(&at("fifo")), "is not a regular file");
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    assert_eq!(refusal(&at("socket")), "is not a regular file");
    assert_eq!(refusal(Path::new("/dev/zero")), "is not a regular file");
    assert_eq!(refusal(&at("missing")), "no such file");
    assert_eq!(refusal(&at("fifo").join("x")), "no such file");
    std::os::unix::fs::symlink(at("missing"), at("dangling")).unwrap();
    assert_eq!(refusal(&at("dangling")), "no such file");
    std::os::unix::fs::symlink(at("round"), at("round")).unwrap();
    assert!(refusal(&at("round")).starts_with("cannot be read"));
    fs::write(at("empty"), "").unwrap();
    assert_eq!(refusal(&at("empty")), "is empty");
    fs::write(at("text"), "#!/bin/sh\n").unwrap();
    assert_eq!(refusal(&at("text")), "is not a Heddle archive");
    small().write(&at("good")).unwrap();
    std::os::unix::fs::symlink(at("good"), at("link")).unwrap();
    assert_eq!(Archive::read(&at("link")).unwrap(), small());
}

#[test]
fn other_programs_have_their_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.heddle");
    small().write(&path).unwrap();
    let other = BuiltFor {
        fingerprint: [7; 16],
        plan: BuiltFor::ANY_PLAN,
    };
    let error = OpenArchive::open_for(&path, other).unwrap_err().to_string();
    assert!(error.contains("belongs to another program"), "{error}");
    assert!(error.contains("a.heddle"), "{error}");
}

#[test]
fn a_file_without_permission_has_its_error() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let path = folder.path().join("secret.heddle");
    small().write(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    if let Some(result) = as_nobody("open", &path) {
        assert!(result.contains("no permission to read it"), "{result}");
    }
}

#[test]
fn a_read_only_folder_keeps_its_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let path = folder.path().join("a.heddle");
    small().write(&path).unwrap();
    if let Some(result) = as_nobody("write", &path) {
        assert!(
            result.contains("cannot be created: Permission denied"),
            "{result}"
        );
    }
    assert_eq!(Archive::read(&path).unwrap(), small());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    assert!(small().write(Path::new("/proc/a.heddle")).is_err());
    assert!(
        small()
            .write(&folder.path().join("no/such/folder"))
            .is_err()
    );
    assert!(
        small()
            .write(folder.path())
            .unwrap_err()
            .to_string()
            .contains("is not a regular file")
    );
    assert!(small().write(Path::new("/dev/null")).is_err());
}

#[test]
fn a_file_that_shrinks_or_changes_does_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.heddle");
    large().write(&path).unwrap();
    let open = OpenArchive::open(&path).unwrap();
    fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(0)
        .unwrap();
    assert_eq!(
        open.to_archive(),
        large(),
        "an open archive does not depend on its file"
    );
    // Another thread rewrites the file in place, against all rules, while it is opened again and again.
    let bytes = large().to_bytes();
    let (mut opened, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for round in 0..200 {
                fs::write(&path, &bytes[..bytes.len() / (1 + round % 3)]).unwrap();
            }
        });
        while !writer.is_finished() {
            match OpenArchive::open(&path) {
                Ok(open) => {
                    assert_eq!(open.to_archive(), large());
                    opened += 1;
                }
                Err(_) => refused += 1,
            }
        }
    });
    println!("{opened} opened, {refused} refused");
    assert!(opened + refused > 0);
}

/// Either the old archive or the new one is at the path.
#[track_caller]
fn is_one_of_two(path: &Path) {
    let found = Archive::read(path).unwrap();
    assert!(found == small() || found == large());
}

#[test]
fn a_killed_writer_leaves_one_of_two_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.heddle");
    small().write(&path).unwrap();
    let mut left_over = 0;
    for round in 0..40 {
        let mut child = child_command("write-for-ever", &path)
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(20_000 + round * 997));
        child.kill().unwrap();
        let end = child.wait().unwrap();
        assert_eq!(end.signal(), Some(9), "the child was still writing");
        is_one_of_two(&path);
        left_over += remove_left_over(folder.path(), &path);
    }
    println!("{left_over} of 40 writers were killed in the middle of writing");
    assert!(
        left_over > 0,
        "no writer was killed in the middle of writing"
    );
}

/// What a killed writer leaves has a name of its own. Removes it; returns how many there were.
fn remove_left_over(folder: &Path, path: &Path) -> usize {
    let others: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|other| other != path)
        .collect();
    for other in &others {
        assert!(
            other.display().to_string().ends_with(".partial"),
            "{other:?}"
        );
        fs::remove_file(other).unwrap();
    }
    others.len()
}

#[test]
fn a_full_disk_keeps_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.heddle");
    small().write(&path).unwrap();
    // A limit on file sizes: writing fails in the middle, as on a full disk.
    let child = child_command("write", &path);
    let limited = in_shell("trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\"", &child)
        .output()
        .unwrap();
    let said = result(&limited).expect("the child runs");
    assert!(said.contains("cannot be written: File too large"), "{said}");
    assert_eq!(Archive::read(&path).unwrap(), small());
    assert_eq!(
        remove_left_over(folder.path(), &path),
        0,
        "a failed writer cleans up"
    );
    // A disk that is really full.
    let script = format!(
        "mount -t tmpfs -o size=128k none {folder} && cp {copy} {path} && \"$0\" \"$@\" && echo && cat {path} > {copy} && ls -A {folder} | wc -l",
        folder = folder.path().display(),
        copy = folder.path().with_extension("copy").display(),
        path = path.display(),
    );
    let copy = folder.path().with_extension("copy");
    fs::copy(&path, &copy).unwrap();
    let mut command = Command::new("unshare");
    let shell = in_shell(&script, &child);
    command.args(["-rm", "sh"]).args(shell.get_args());
    for (name, value) in shell.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    let output = command.output();
    match output
        .ok()
        .and_then(|output| Some((result(&output)?, output)))
    {
        None => println!("skipped: cannot mount a small disk here"),
        Some((said, output)) => {
            assert!(said.contains("No space left on device"), "{said}");
            assert_eq!(Archive::read(&copy).unwrap(), small());
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert_eq!(text.trim_end().lines().next_back(), Some("1"), "{text}");
        }
    }
    fs::remove_file(copy).unwrap();
}

/// `command` as the arguments of a shell script.
fn in_shell(script: &str, command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(script).arg(command.get_program());
    shell.args(command.get_args());
    for (name, value) in command.get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    shell
}
