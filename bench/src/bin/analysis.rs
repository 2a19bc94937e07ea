//! Question: how does the time of loading and of the static analyses grow with the program, and how precise are they?
//!
//! Expectation, written first: close to linear from 1 K to 100 K instructions, at most 10 s at 40 K; points-to sets of the corpus
//! below 2 places on average. Otherwise a set or a list is scanned where it should be looked up.
//!
//! Columns: seconds in all and by analysis, most memory, instructions that matter, average points-to set, synchronization sites
//! whose object is one place.
//!
//! Runs `heddle analyze --json --times` beside this program (or `$HEDDLE`) on generated modules and on every program of the corpus.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

fn main() -> Result<()> {
    let heddle = match std::env::var_os("HEDDLE") {
        Some(path) => PathBuf::from(path),
        None => std::env::current_exe()?.with_file_name("heddle"),
    };
    let folder = tempfile::tempdir()?;
    println!(
        "{:28} {:>9} {:>9} {:>7} {:>7} {:>7} {:>7} {:>6} {:>9} {:>8} {:>11}",
        "program",
        "instrs",
        "seconds",
        "load",
        "facts",
        "slice",
        "locks",
        "MB",
        "relevant",
        "points",
        "exact sites"
    );
    for functions in [10, 30, 100, 300, 1000] {
        let source = folder.path().join(format!("generated{functions}.c"));
        std::fs::write(&source, generated(functions))?;
        row(&heddle, &source)?;
    }
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut sources: Vec<PathBuf> = std::fs::read_dir(corpus)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    sources.retain(|path| path.extension().is_some_and(|ext| ext == "c"));
    sources.sort();
    for source in &sources {
        row(&heddle, source)?;
    }
    Ok(())
}

/// Analyzes and prints one line; compiling and preparing are not in its seconds.
fn row(heddle: &Path, source: &Path) -> Result<()> {
    let began = Instant::now();
    let output = Command::new(heddle)
        .arg("analyze")
        .arg(source)
        .args(["-O1", "-w", "-g", "--json", "--times"])
        .output()?;
    let elapsed: Duration = began.elapsed();
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let json = String::from_utf8(output.stdout)?;
    let times = String::from_utf8(output.stderr)?;
    println!(
        "{:28} {:>9} {:>9.3} {:>7} {:>7} {:>7} {:>7} {:>6} {:>9} {:>8} {:>11}",
        source.file_stem().unwrap_or_default().to_string_lossy(),
        number(&json, "instructions")?,
        elapsed.as_secs_f64() - lap(&times, "prepare")?.parse::<f64>()?,
        lap(&times, "load")?,
        lap(&times, "points-to and effects")?,
        lap(&times, "relevance")?,
        lap(&times, "locks")?,
        lap(&times, "memory")?.parse::<u64>()? / 1024,
        number(&json, "relevant")?,
        number(&json, "average_points_to")?,
        format!(
            "{}/{}",
            number(&json, "exact_sites")?,
            number(&json, "sync_sites")?
        )
    );
    Ok(())
}

/// What the line of this name says.
fn lap<'t>(times: &'t str, name: &str) -> Result<&'t str> {
    let mut lines = times.lines();
    let rest = lines.find_map(|line| line.strip_prefix(name));
    let rest = rest.with_context(|| format!("no {name} in the times"))?;
    let word = rest.split_whitespace().next();
    word.with_context(|| format!("nothing after {name}"))
}

/// A number of the report, as it is written.
fn number<'j>(json: &'j str, name: &str) -> Result<&'j str> {
    let key = format!("\"{name}\":");
    let at = json
        .find(&key)
        .with_context(|| format!("no {name} in the report"))?
        + key.len();
    let end = json[at..].find([',', '}']).context("a report that stops")?;
    Ok(&json[at..at + end])
}

/// A program of about a hundred instructions per function: lists, tables of functions, locks.
fn generated(functions: u32) -> String {
    let mut text = String::from(
        "#include <pthread.h>\n#include <stdlib.h>\nstruct n { struct n *next; int v[4]; pthread_mutex_t m; } *head;\nint g[64];\n",
    );
    for index in 0..functions {
        let call = if index == 0 {
            "0".to_owned()
        } else {
            format!("f{}(n, a - 1) + f{}(n, a - 2)", index / 2, index - 1)
        };
        let _ = writeln!(
            text,
            "static int f{index}(struct n *n, int a) {{ int s = 0; if (a < 0) return 0;
             for (int i = 0; i < a; i++) {{ struct n *x = malloc(sizeof *x); x->next = n->next; x->v[i & 3] = g[(a + i) & 63]; n->next = x; s += x->v[1]; }}
             for (struct n *t = n; t; t = t->next) {{ s ^= t->v[a & 3]; if (s > {index}) {{ pthread_mutex_lock(&t->m); t->v[2]++; pthread_mutex_unlock(&t->m); }} }}
             switch (s & 3) {{ case 0: g[{index} & 63] += s; break; case 1: g[a & 63] -= s; break; default: s *= 3; }}
             return s + {call}; }}"
        );
    }
    let last = functions - 1;
    let _ = writeln!(
        text,
        "static void *w(void *p) {{ f{last}(p, 3); return p; }}
         int main(int c, char **v) {{ pthread_t t; head = calloc(1, sizeof *head); pthread_create(&t, 0, w, head); pthread_join(t, 0); return f{last}(head, c); }}"
    );
    text
}
