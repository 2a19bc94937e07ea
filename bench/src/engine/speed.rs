//! Question: how many LLVM instructions a second does the engine execute on constant data, and what do unknown inputs cost?
//!
//! Expectation, written first: 400,000 to 600,000 instructions a second on constant data, a hundred times the published 4,000 to 6,000
//! (main's Table 2.2). With unknown inputs most queries must be answered without z3.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use enumerator::symbolic::alone::{self, Bounds};
use enumerator::symbolic::engine::{Budget, Engine};

use super::{Program, generate};

const STRAIGHT: &str = r#"
static unsigned long a = 1, b = 2, c = 3;
int main(void) {
    for (int i = 0; i < 20000; i++) {
        a = a * 6364136223846793005ul + 1442695040888963407ul;
        b ^= a >> 33; c += b << 3; a -= c; b = b * 31 + (a & 255); c ^= a;
    }
    return (int)(a & 1);
}"#;

const BRANCHY: &str = r#"
static unsigned char sieve[20000];
static int count;
int main(void) {
    for (int i = 2; i < 20000; i++) {
        if (sieve[i]) continue;
        count++;
        for (int j = i + i; j < 20000; j += i) if (!sieve[j]) sieve[j] = 1;
    }
    return count & 1;
}"#;

const INPUTS: &str = r#"
#include "heddle.h"
static unsigned char in[8];
static unsigned total;
static unsigned long table[8];
int main(void) {
    heddle_input(in, 8, "in");
    for (int i = 0; i < 8; i++) {
        if (in[i] > 10 * i) total += in[i];
        else table[i] = total ^ in[i];
    }
    return (int)(total & 63);
}"#;

/// One row of the table.
pub struct Row {
    pub name: &'static str,
    pub steps: u64,
    pub time: Duration,
    pub queries: u64,
    /// Parts of queries that went to z3, and parts that something cheaper answered.
    pub asked: u64,
    pub cheap: u64,
    pub paths: usize,
    /// Branches whose sides were joined.
    pub merges: u64,
    /// What a state that is kept adds to the process, in bytes; nothing to say with few of them.
    pub per_state: Option<u64>,
}

/// Fewer states say nothing about one.
const MANY_STATES: usize = 100;

/// Measures everything once.
pub fn measure() -> Result<Vec<Row>> {
    let folder = tempfile::tempdir()?;
    let symbolic = generate::program(2, true);
    let rows = [
        ("straight-line, constant", STRAIGHT, false),
        ("branchy, constant", BRANCHY, false),
        ("unknown inputs, every path", symbolic.as_str(), false),
        ("unknown inputs, merged", symbolic.as_str(), true),
        ("eight bytes, every path", INPUTS, false),
        ("eight bytes, merged", INPUTS, true),
    ];
    let mut measured = Vec::new();
    for (name, text, merging) in rows {
        let program = Program::of_text(text, folder.path())?;
        measured.push(row(name, &program, merging)?);
    }
    Ok(measured)
}

fn row(name: &'static str, program: &Program, merging: bool) -> Result<Row> {
    let main = (program.module)
        .function_named("main")
        .context("no main function")?;
    let mut engine = Engine::new(&program.module, &program.facts);
    engine.alone = true;
    engine.merging = merging;
    if !merging {
        engine.budget = Budget::UNBOUNDED;
    }
    let resident = resident();
    let begun = Instant::now();
    let state = alone::begin(&mut engine, main, &["program".to_owned()]);
    let bounds = Bounds {
        paths: 400,
        steps: 10_000_000,
    };
    let endings = alone::explore(&mut engine, state, bounds);
    let time = begun.elapsed();
    // Terms, caches and all: what the exploration took, shared among the states at its ends.
    let taken = self::resident().saturating_sub(resident);
    let s = engine.solver.statistics();
    Ok(Row {
        name,
        steps: engine.counters.steps,
        time,
        queries: s.queries,
        asked: s.z3_sat + s.z3_unsat + s.z3_unknown,
        cheap: s.trivial + s.models + s.repeated + s.impossible,
        paths: endings.len(),
        merges: engine.counters.merges,
        per_state: (endings.len() >= MANY_STATES).then(|| taken / endings.len() as u64),
    })
}

/// Bytes of memory that the process has now.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number
        .and_then(|number| number.parse::<u64>().ok())
        .unwrap_or(0)
        * 1024
}
