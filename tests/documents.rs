//! The documents tell the truth: every command in README and guide is run, and what they show is what comes out.
//!
//! In: `console` blocks (`$ command   # status N: why`, then lines that must come out in this order, `...` for any), and
//! blocks whose first line names the file they are (`/* queue.c */`, `# Makefile`). All blocks of a page run in one folder, with an
//! installation of this build on `PATH`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Commands that other tests or people run: they build or test Heddle itself.
const ELSEWHERE: &[&str] = &["make install PREFIX=$HOME/.local"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(page: &str) -> String {
    std::fs::read_to_string(root().join(page)).expect(page)
}

/// A fenced block: its language and its text.
fn blocks(page: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let text = read(page);
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            found.push((language.to_owned(), body.join("\n") + "\n"));
        }
    }
    found
}

/// A command, the status it ends with, and what it prints.
struct Step {
    command: String,
    status: i32,
    expected: Vec<String>,
}

fn steps(block: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in block.lines() {
        match line.strip_prefix("$ ") {
            Some(line) => {
                let (command, remark) = line.split_once("   # ").unwrap_or((line, ""));
                let status = remark.strip_prefix("status ");
                let status = status.and_then(|rest| rest.split(':').next()?.parse().ok());
                steps.push(Step {
                    command: command.trim().to_owned(),
                    status: status.unwrap_or(0),
                    expected: Vec::new(),
                });
            }
            None => steps
                .last_mut()
                .expect("a block begins with a command")
                .expected
                .push(line.to_owned()),
        }
    }
    steps
}

/// The file that a block is, by its first line.
fn file_of(block: &str) -> Option<&str> {
    let first = block.lines().next()?;
    let name = first
        .strip_prefix("/* ")
        .and_then(|rest| rest.strip_suffix(" */"))
        .or_else(|| first.strip_prefix("# "))?;
    (!name.contains(' ')).then_some(name)
}

/// This build, installed.
fn install(prefix: &Path) {
    let build = Path::new(env!("CARGO_BIN_EXE_heddle"))
        .parent()
        .expect("folder");
    let output = Command::new(root().join("scripts/install"))
        .arg(prefix)
        .env("HEDDLE_BUILD", build)
        .env_remove("DESTDIR")
        .output()
        .expect("bash");
    assert!(output.status.success(), "{output:?}");
}

struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("temporary folder");
        install(&folder.path().join("prefix"));
        std::fs::create_dir(folder.path().join("desk")).expect("folder");
        Self { folder }
    }

    fn prefix(&self) -> PathBuf {
        self.folder.path().join("prefix")
    }

    fn desk(&self) -> PathBuf {
        self.folder.path().join("desk")
    }

    #[track_caller]
    fn page(&self, page: &str) {
        for (language, block) in blocks(page) {
            match (language.as_str(), file_of(&block)) {
                ("console", _) => {
                    for step in steps(&block) {
                        self.step(page, &step);
                    }
                }
                (_, Some(name)) => {
                    std::fs::write(self.desk().join(name), &block).expect("file");
                }
                // An outline with names of the reader's own project; `tests/road/projects.rs` runs its likes.
                ("sh", None) => {}
                (other, None) => panic!("{page}: a block of `{other}` that is no file"),
            }
        }
    }

    #[track_caller]
    fn step(&self, page: &str, step: &Step) {
        if ELSEWHERE.contains(&step.command.as_str()) {
            return;
        }
        let path = std::env::var("PATH").unwrap_or_default();
        let output = Command::new("bash")
            .args(["-c", &step.command])
            .current_dir(self.desk())
            .env(
                "PATH",
                format!("{}:{path}", self.prefix().join("bin").display()),
            )
            .env("HEDDLE_PREFIX", self.prefix())
            .env_remove("HEDDLE_OPTIONS")
            .output()
            .expect("bash");
        let stdout = String::from_utf8_lossy(&output.stdout);
        let said = format!("{stdout}{}", String::from_utf8_lossy(&output.stderr));
        let status = exit_status(&output);
        assert_eq!(status, step.status, "{page}: $ {}\n{said}", step.command);
        if let Err(missing) = matches(&step.expected, &said) {
            panic!(
                "{page}: $ {}\nno line `{missing}` in:\n{said}",
                step.command
            );
        }
    }
}

/// As a shell tells it.
fn exit_status(output: &std::process::Output) -> i32 {
    use std::os::unix::process::ExitStatusExt as _;
    let signal = output.status.signal().map(|signal| 128 + signal);
    output.status.code().or(signal).expect("ended")
}

/// Do the expected lines come in this order? `...` at the end of a line stands for its rest.
fn matches<'a>(expected: &'a [String], said: &str) -> Result<(), &'a str> {
    let mut lines = said.lines();
    for wanted in expected.iter().filter(|line| *line != "...") {
        let fits = |line: &str| match wanted.strip_suffix("...") {
            Some(beginning) => line.starts_with(beginning),
            None => line.trim_end() == wanted,
        };
        if !lines.any(fits) {
            return Err(wanted);
        }
    }
    Ok(())
}

/// The commands of the GitHub Action example, in a project like the one it is for; what installs packages is left out.
#[test]
fn the_action_example_does_what_it_says() {
    let text = read("packaging/github-action.yml");
    assert!(!text.contains('\t'), "YAML has no tabs");
    let desk = Desk::new();
    let (_, program) = blocks("README.md")
        .into_iter()
        .find(|(language, _)| language == "c")
        .expect("README has a program");
    std::fs::write(desk.desk().join("prog.c"), program).expect("file");
    let makefile = "prog: prog.c\n\t$(CC) -O2 prog.c -o prog -lpthread\n";
    std::fs::write(desk.desk().join("Makefile"), makefile).expect("file");
    let commands: Vec<&str> = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- run: "))
        .filter(|command| !command.starts_with("apt-get"))
        .collect();
    assert_eq!(commands.len(), 3, "{commands:?}");
    for command in commands {
        desk.step(
            "packaging/github-action.yml",
            &Step {
                command: command.to_owned(),
                status: 0,
                expected: Vec::new(),
            },
        );
    }
    // What it uploads is there.
    let kept = text.lines().map(str::trim).filter(|line| {
        let words = ["heddle.html", "prog.enforced", "prog.enforced.heddle"];
        words.contains(line)
    });
    assert_eq!(kept.clone().count(), 3);
    for file in kept.chain(["heddle.sarif"]) {
        assert!(desk.desk().join(file).is_file(), "{file}");
    }
}

/// The variables that the guide names for the commands themselves.
#[test]
fn variables_of_the_commands_count() {
    let desk = Desk::new();
    let program = "int main(void) { return 0; }\n";
    std::fs::write(desk.desk().join("prog.c"), program).expect("file");
    let wrapper = "#!/bin/sh\necho \"$0\" >> used\ncase $0 in *++*) exec clang++-19 \"$@\";; esac\nexec clang-19 \"$@\"\n";
    for name in ["other", "other++"] {
        std::fs::write(desk.desk().join(name), wrapper).expect("file");
    }
    let run = |command: &str, status: i32, expected: &[&str]| {
        desk.step(
            "variables",
            &Step {
                command: command.to_owned(),
                status,
                expected: expected.iter().map(ToString::to_string).collect(),
            },
        );
    };
    run("chmod +x other other++", 0, &[]);
    run(
        "HEDDLE_CLANG=$PWD/other heddle cc -c prog.c && grep -c other used",
        0,
        &["1"],
    );
    run(
        "HEDDLE_CLANGXX=$PWD/other++ heddle c++ -x c -c prog.c && grep -c other++ used",
        0,
        &["1"],
    );
    run(
        "rm used && HEDDLE_CLANG=$PWD/other heddle build prog.c -o prog && test -s used",
        0,
        &[],
    );
    run(
        "HEDDLE_CLANG=$PWD/none heddle cc -c prog.c",
        2,
        &["heddle cc: cannot run ..."],
    );
    // The wider the window, the fewer lines.
    let (_, transfer) = blocks("README.md")
        .into_iter()
        .find(|(language, _)| language == "c")
        .expect("README has a program");
    std::fs::write(desk.desk().join("transfer.c"), transfer).expect("file");
    let lines = |columns: u32| {
        let count =
            format!("COLUMNS={columns} heddle check --native transfer.c > out{columns} || true");
        run(&count, 0, &[]);
        let text = std::fs::read_to_string(desk.desk().join(format!("out{columns}")));
        text.expect("written").lines().count()
    };
    let (narrow, wide) = (lines(50), lines(200));
    assert!(narrow > wide, "{narrow} lines against {wide}");
    // Colours on a terminal, unless somebody does not want them.
    let on_terminal =
        "script -qec 'heddle check --native transfer.c' /dev/null | grep -c $'\\033\\['";
    run(&format!("test $({on_terminal}) -gt 5"), 0, &[]);
    run(&format!("test $(NO_COLOR=1 {on_terminal}) = 0"), 0, &[]);
}

#[test]
fn readme_and_guide_say_what_happens() {
    let desk = Desk::new();
    desk.page("README.md");
    desk.page("docs/guide.md");
    looks_like_a_page(&desk.desk().join("queue.html"));
    looks_like_sarif(&desk.desk().join("queue.sarif"));
    installation_is_whole(&desk.prefix());
}

/// One file that needs nothing else; in a browser, if there is one.
fn looks_like_a_page(path: &Path) {
    let text = std::fs::read_to_string(path).expect("page");
    for foreign in ["http:", "https:", "src=", "<script", "@import", "url(h"] {
        assert!(!text.contains(foreign), "`{foreign}` in the page");
    }
    for part in [
        "nobody is left to signal",
        "<svg class=\"lanes\"",
        "id=\"epochs\"",
        "id=\"waiting\"",
    ] {
        assert!(text.contains(part), "no `{part}` in the page");
    }
    let Some(browser) = browser() else {
        println!("skipped: no chromium here, so the page was not opened in a browser");
        return;
    };
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .arg(format!(
            "--user-data-dir={}",
            path.with_extension("profile").display()
        ))
        .arg(format!("file://{}", path.display()))
        .output()
        .expect("the browser starts");
    assert!(output.status.success(), "{output:?}");
    let seen = String::from_utf8_lossy(&output.stdout);
    // The parser closes what is open and moves what is misplaced: nothing of ours may be either.
    for tag in ["article", "figure", "table", "details", "svg", "dl", "h2"] {
        let count = |text: &str| text.matches(&format!("<{tag}")).count();
        assert_eq!(count(&seen), count(&text), "<{tag}>");
        assert_eq!(
            count(&text),
            text.matches(&format!("</{tag}>")).count(),
            "<{tag}>"
        );
    }
    assert!(seen.contains("possible"), "{seen}");
}

fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|program| program.is_file())
}

/// The parts of SARIF 2.1.0 that its schema requires, and those that viewers walk through.
fn looks_like_sarif(path: &Path) {
    let text = std::fs::read_to_string(path).expect("file");
    let log: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let driver = &run["tool"]["driver"];
    assert_eq!(driver["name"], "heddle");
    let rules = driver["rules"].as_array().expect("rules");
    let results = run["results"].as_array().expect("results");
    assert!(!results.is_empty());
    for result in results {
        let rule = &rules[result["ruleIndex"].as_u64().expect("index") as usize];
        assert_eq!(result["ruleId"], rule["id"]);
        assert!(
            result["message"]["text"]
                .as_str()
                .is_some_and(|text| !text.is_empty())
        );
        assert!(["error", "warning", "note"].contains(&result["level"].as_str().expect("level")));
        for location in result["locations"].as_array().expect("locations") {
            in_sources(location);
        }
    }
    let flows = &results[0]["codeFlows"][0]["threadFlows"];
    let mut order = Vec::new();
    for flow in flows.as_array().expect("thread flows") {
        for step in flow["locations"].as_array().expect("locations") {
            in_sources(&step["location"]);
            order.push(step["executionOrder"].as_u64().expect("order"));
        }
    }
    assert!(!order.is_empty());
    assert_eq!(results[0]["ruleId"], "HD0105");
}

fn in_sources(location: &serde_json::Value) {
    let physical = &location["physicalLocation"];
    assert_eq!(physical["artifactLocation"]["uri"], "queue.c");
    assert!(
        physical["region"]["startLine"]
            .as_u64()
            .is_some_and(|line| (1..40).contains(&line))
    );
}

fn installation_is_whole(prefix: &Path) {
    for file in [
        "bin/heddle-c++",
        "lib/heddle/libheddle_rt.a",
        "lib/cmake/Heddle/HeddleConfig.cmake",
        "share/heddle/heddle.ini",
        "share/man/man1/heddle.1",
        "share/man/man1/heddle-check.1",
        "share/bash-completion/completions/heddle",
        "share/zsh/site-functions/_heddle",
        "share/fish/vendor_completions.d/heddle.fish",
        "share/doc/heddle/guide.md",
    ] {
        assert!(prefix.join(file).exists(), "{file} is not installed");
    }
    let output = Command::new("pkg-config")
        .args(["--variable=cc", "heddle"])
        .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"))
        .output()
        .expect("pkg-config");
    let cc = String::from_utf8_lossy(&output.stdout);
    assert!(Path::new(cc.trim()).exists(), "{output:?}");
    let completions = prefix.join("share/bash-completion/completions/heddle");
    let status = Command::new("bash").arg("-n").arg(completions).status();
    assert!(status.expect("bash").success());
}

/// The programs in the explanations of findings and warnings show what they explain.
#[test]
fn every_explained_program_shows_its_code() {
    let page = read("docs/codes.md");
    let folder = tempfile::tempdir().expect("temporary folder");
    let mut shown = 0;
    for section in page.split("\n## ").skip(1) {
        let code = section.split(' ').next().expect("a heading");
        let Some((_, rest)) = section.split_once("```c\n") else {
            continue;
        };
        let program = rest.split("```").next().expect("a block");
        std::fs::write(folder.path().join("a.c"), program).expect("file");
        let heddle = |words: &[&str]| {
            Command::new(env!("CARGO_BIN_EXE_heddle"))
                .args(words)
                .current_dir(folder.path())
                .output()
                .expect("heddle")
        };
        let made = heddle(&["enumerate", "--quiet", "a.c", "-o", "a.heddle"]);
        assert!(made.status.success(), "{code}: {made:?}");
        let checked = heddle(&["check", "a.heddle"]);
        let said = String::from_utf8_lossy(&checked.stdout);
        let first = said.lines().next().unwrap_or_default();
        assert!(first.ends_with(&format!("[{code}]")), "{code}:\n{said}");
        let is_error = code.starts_with("HD01");
        assert_eq!(
            checked.status.code(),
            Some(i32::from(is_error)),
            "{code}:\n{said}"
        );
        shown += 1;
    }
    assert!(shown >= 12, "{shown} programs");
}

/// Programs that follow their archive use numbers that the command explains, and the command explains no others of theirs.
#[test]
fn codes_of_the_runtime_are_explained() {
    let numbers =
        |text: String, pattern: fn(&str) -> Option<(&str, &str)>| -> Vec<(String, String)> {
            let rows = text.lines().filter_map(pattern);
            rows.map(|(name, number)| (name.trim().to_owned(), number.trim().to_owned()))
                .filter(|(_, number)| number.len() == 3 && number.starts_with('4'))
                .collect()
        };
    let theirs = numbers(read("rt/src/codes.rs"), |line| {
        line.trim_end_matches(',').split_once(" = ")
    });
    let ours = numbers(read("src/codes.rs"), |line| {
        let (row, _) = line.split_once('"')?;
        row.trim().rsplit_once(' ')
    });
    assert_eq!(theirs, ours);
    assert!(theirs.len() >= 12);
    let page = read("docs/codes.md");
    for (_, number) in theirs {
        assert!(page.contains(&format!("\n## HD0{number} ")), "{number}");
    }
}

/// What HEDDLE_OPTIONS=help prints and what the guide lists are the same keys.
#[test]
fn options_are_documented() {
    let options = read("rt/src/options.rs");
    let guide = read("docs/guide.md");
    let table = options.split("const HELP").nth(1).expect("the table");
    let table = table.split("];").next().expect("its end");
    let keys = table.split('"').skip(1).step_by(2);
    let mut count = 0;
    for key in keys.filter(|text| !text.contains(' ')) {
        let name = key.split('=').next().expect("a key");
        let is_there =
            guide.contains(&format!("| `{name}=")) || guide.contains(&format!("| `{name}`"));
        assert!(is_there, "`{name}` is not in the guide");
        count += 1;
    }
    assert!(count >= 8, "{count} keys");
}
