//! A program and everything it may do: what a trial is given.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::generate::{MOST_STATES, Worlds};
use super::oracle::{self, Outcome};
use super::print::c_source;
use super::program::{Program, Source};
use super::random::Random;

/// Programs with at most so many inputs are run on all of them.
pub const SMALL_WORLD: usize = 1 << 16;

/// A program and what it may do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Subject {
    pub source: String,
    pub cases: Vec<Case>,
    /// The same program with something changed each time.
    #[serde(default)]
    pub edited: Vec<String>,
    /// The program takes inputs that are not among the cases: what may happen on those is not known.
    #[serde(default)]
    pub takes_more: bool,
    /// Something that is no input, as addresses are, may decide which way it goes.
    #[serde(default)]
    pub any_way: bool,
}

/// One input and every way in which the program may end on it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Case {
    pub arguments: Vec<String>,
    /// Contents of the file named `data` in the folder of the run.
    pub data: Option<String>,
    pub expected: BTreeSet<Outcome>,
}

impl Case {
    /// True if some order of the native program never ends.
    pub fn may_deadlock(&self) -> bool {
        self.expected.contains(&Outcome::Deadlock)
    }

    /// The input, for messages: what a person would type.
    pub fn shown(&self) -> Vec<String> {
        let data = self.data.iter().map(|data| format!("data: {data}"));
        self.arguments.iter().cloned().chain(data).collect()
    }
}

impl Subject {
    /// A generated program on all inputs, or on `most` of them, chosen by the seed.
    pub fn generated(program: &Program, note: &str, seed: u64, most: usize) -> Self {
        let worlds = program.worlds().into_iter().filter_map(|inputs| {
            let expected = oracle::outcomes(program, &inputs, 4 * MOST_STATES).ok()?;
            Some((inputs, expected))
        });
        Self::of_worlds(program, worlds.collect(), note, seed, most)
    }

    /// The same on the input that is shown so, if there is one, else on all.
    pub fn on_input(
        program: &Program,
        note: &str,
        seed: u64,
        most: usize,
        shown: &[String],
    ) -> Self {
        let is_it = |inputs: &Vec<u32>| case(program, inputs, BTreeSet::new()).shown() == shown;
        let Some(inputs) = program.worlds().into_iter().find(is_it) else {
            return Self::generated(program, note, seed, most);
        };
        let ends = oracle::outcomes(program, &inputs, 4 * MOST_STATES);
        let worlds = ends.into_iter().map(|ends| (inputs.clone(), ends));
        Self::of_worlds(program, worlds.collect(), note, seed, most)
    }

    /// The same, if all that it can do is known already.
    pub fn of_worlds(
        program: &Program,
        mut worlds: Worlds,
        note: &str,
        seed: u64,
        most: usize,
    ) -> Self {
        let mut random = Random::new(seed ^ 0x7472_6961_6c00);
        while worlds.len() > most.min(SMALL_WORLD) {
            let at = random.below(worlds.len());
            worlds.swap_remove(at);
        }
        let cases = (worlds.into_iter()).map(|(inputs, ends)| case(program, &inputs, ends));
        Self {
            source: c_source(program, note),
            cases: cases.collect(),
            edited: Vec::new(),
            takes_more: program.raw_inputs && program.inputs > 0,
            any_way: false,
        }
    }
}

fn case(program: &Program, inputs: &[u32], expected: BTreeSet<Outcome>) -> Case {
    let words = inputs.iter().map(u32::to_string);
    match program.source {
        Source::Arguments => Case {
            arguments: words.collect(),
            data: None,
            expected,
        },
        Source::File => Case {
            arguments: vec!["data".to_owned()],
            data: Some(words.collect()),
            expected,
        },
    }
}
