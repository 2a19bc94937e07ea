//! Question: how do enumeration time and archive size grow, and how does run-time overhead grow with the rate of synchronization?
//!
//! Expectation, written first: linear in phases (epochs) and in lines that cannot matter; overhead near 1 below some hundred thousand
//! synchronizations a second.
//!
//! Growth with threads comes from the enumeration table. Here are families of programs made for one axis each.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use serde_json::json;

use super::enumeration::enumerate;
use super::records::{Record, record};
use super::runtime;
use super::subject::Subject;
use super::workshop::{Workshop, each, hands, limits};
use crate::corpus::Program;

/// Measures all families.
pub fn measure(workshop: &Workshop, times: usize) -> Result<()> {
    let phases = [1usize, 2, 4, 8, 16, 32].map(|n| ("epochs", n, phases(n)));
    let sizes = [0usize, 10, 40, 160, 640].map(|n| ("lines", n, kernel(n)));
    let work: Vec<_> = phases.into_iter().chain(sizes).collect();
    each(&work, hands(), |(series, n, source)| {
        let mut row = match enumerated(workshop, series, *n, source) {
            Ok(row) => row,
            Err(error) => record([("reason", format!("{error:#}").into())]),
        };
        row.insert("series".to_owned(), (*series).into());
        row.insert("parameter".to_owned(), (*n).into());
        row.insert("lines".to_owned(), source.lines().count().into());
        workshop.records.add("growth", row);
    });
    rates(workshop, times)
}

fn written(workshop: &Workshop, name: &str, source: &str, tiny: &str) -> Result<Subject> {
    let path = workshop.file(&format!("{name}.c"));
    std::fs::write(&path, source)?;
    let program = Program::made(name, &path, tiny);
    Ok(Subject::of_corpus(program))
}

fn enumerated(workshop: &Workshop, series: &str, n: usize, source: &str) -> Result<Record> {
    let subject = written(workshop, &format!("growth-{series}-{n}"), source, "3")?;
    let found = enumerate(workshop, &subject, 2, limits(20), &[])?;
    let mut row = found.record(&subject, 2);
    row.remove("lines");
    Ok(row)
}

/// Overhead against the rate: the same archive, more and more work between the locks.
fn rates(workshop: &Workshop, times: usize) -> Result<()> {
    let mut subject = written(workshop, "growth-rate", RATE, "3 3")?;
    let found = enumerate(workshop, &subject, 2, limits(20), &[])?;
    for (rounds, work) in [
        (40_000, 10),
        (40_000, 100),
        (20_000, 1_000),
        (4_000, 10_000),
        (400, 100_000),
    ] {
        subject.program.reference = Some(format!("{rounds} {work}"));
        let mut row = runtime::measure(workshop, &subject, 2, &found, times);
        let native = row.get("native_median").and_then(serde_json::Value::as_f64);
        // Two threads, a lock and an unlock each round.
        let rate = native.map(|seconds| 4.0 * f64::from(rounds) / seconds);
        row.insert("series".to_owned(), "rate".into());
        row.insert("parameter".to_owned(), work.into());
        row.insert("rate".to_owned(), json!(rate));
        workshop.records.add("growth", row);
    }
    Ok(())
}

/// `n` loops after each other, each with a barrier and a bound from the input.
fn phases(n: usize) -> String {
    let mut body = String::new();
    for phase in 0..n {
        let _ = write!(
            body,
            "    for (int i = 0; i < bound[{phase}]; i++)\n        pthread_barrier_wait(&barrier);\n"
        );
    }
    format!(
        "#define _POSIX_C_SOURCE 200809L\n#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\n\
         static pthread_barrier_t barrier;\nstatic int bound[{n}];\n\
         static void *worker(void *unused)\n{{\n{body}    return unused;\n}}\n\
         int main(int argc, char **argv)\n{{\n    pthread_t other;\n    if (argc < 2)\n        return 2;\n\
         \x20   for (int i = 0; i < {n}; i++)\n        bound[i] = atoi(argv[1]) + i;\n\
         \x20   pthread_barrier_init(&barrier, NULL, 2);\n    pthread_create(&other, NULL, worker, NULL);\n\
         \x20   worker(NULL);\n    pthread_join(other, NULL);\n    puts(\"ok\");\n    return 0;\n}}\n"
    )
}

/// Two threads that share a lock and call a kernel of `n` functions that cannot matter to it.
fn kernel(n: usize) -> String {
    let mut text = String::from(
        "#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\n\
         static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\nstatic double sum;\n\
         static double f0(double x, int k) { return x + k; }\n",
    );
    for index in 1..=n {
        let before = index - 1;
        let _ = write!(
            text,
            "static double f{index}(double x, int k)\n{{\n    double y = x;\n    for (int i = 0; i < k % {m}; i++)\n    \
             {{\n        if (y > {index}.5)\n            y = y / 2 - i;\n        else\n            y = y * 1.5 + k;\n    }}\n    \
             return f{before}(y, k + 1);\n}}\n",
            m = index % 7 + 2
        );
    }
    let _ = write!(
        text,
        "static void *worker(void *argument)\n{{\n    double mine = f{n}(1.0, *(int *)argument);\n\
         \x20   pthread_mutex_lock(&lock);\n    sum += mine;\n    pthread_mutex_unlock(&lock);\n    return NULL;\n}}\n\
         int main(int argc, char **argv)\n{{\n    pthread_t other;\n    int k = argc > 1 ? atoi(argv[1]) : 1;\n\
         \x20   pthread_create(&other, NULL, worker, &k);\n    worker(&k);\n    pthread_join(other, NULL);\n\
         \x20   printf(\"ok %g\\n\", sum);\n    return 0;\n}}\n"
    );
    text
}

const RATE: &str = r#"#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long sum;
static int rounds, work;
static void *worker(void *unused)
{
    for (int i = 0; i < rounds; i++) {
        unsigned x = (unsigned)i;
        for (int k = 0; k < work; k++)
            x = x * 1664525u + 1013904223u;
        pthread_mutex_lock(&lock);
        sum += x & 1;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}
int main(int argc, char **argv)
{
    pthread_t other;
    if (argc < 3)
        return 2;
    rounds = atoi(argv[1]);
    work = atoi(argv[2]);
    pthread_create(&other, NULL, worker, NULL);
    worker(NULL);
    pthread_join(other, NULL);
    printf("ok %ld\n", sum);
    return 0;
}
"#;

/// The programs of this file are C: all of them compile.
pub fn sources() -> Vec<String> {
    vec![phases(3), kernel(3), RATE.to_owned()]
}

/// Compiles them for the test.
pub fn compile_all(folder: &Path) -> Result<()> {
    for (index, source) in sources().iter().enumerate() {
        let path = folder.join(format!("{index}.c"));
        std::fs::write(&path, source)?;
        crate::process::compile(&path, &["-O2"], &[], &folder.join(format!("{index}")))?;
    }
    Ok(())
}
