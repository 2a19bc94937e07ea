//! Valgrind finds nothing. It also refuses `membarrier`, so these runs take the other way to sleep.

mod run;

use std::process::Command;

use run::{Program, straight};

#[test]
fn memcheck_finds_nothing() {
    let installed = Command::new("valgrind").arg("--version").output();
    if !installed.is_ok_and(|output| output.status.success()) {
        println!("skipped: valgrind is not installed");
        return;
    }
    let archive = straight(&[
        "create@1=1 create@2=2 join@5<1.8 join@6<2.8",
        "start@0<0.1 lock@3 unlock@4 lock@3<2.3 unlock@4 lock@3<2.5 unlock@4 exit@0",
        "start@0<0.2 lock@3<1.3 unlock@4 lock@3<1.5 unlock@4 lock@3<1.7 unlock@4 exit@0",
    ]);
    // Valgrind 3.19 does not read DWARF 5.
    let program = Program::build_as("memcheck", "two_locks", &["-gdwarf-4"]).with(&archive);
    let trace = program.executable.with_extension("trace");
    let options = format!("stats=1:trace={}", trace.display());
    for options in ["", &options] {
        let output = Command::new("timeout")
            .args(["--signal=KILL", "100", "valgrind", "-q", "--fair-sched=yes"])
            .args(["--error-exitcode=9", "--leak-check=full"])
            .args([
                "--errors-for-leak-kinds=definite",
                "--show-leak-kinds=definite",
            ])
            .arg(&program.executable)
            .env("HEDDLE_OPTIONS", options)
            .output()
            .unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{complaint}");
        assert!(!complaint.contains("=="), "{complaint}");
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim_end(), "ababab");
    }
}
