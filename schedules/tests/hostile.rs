//! Hostile input: what fuzzing once found, and a bounded run of the same kind at each test.

#[path = "hostile/exercise.rs"]
#[allow(dead_code)]
mod exercise;

use exercise::{Fate, exercise};

#[test]
fn what_fuzzing_found_stays_fixed() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hostile/seeds");
    let mut seeds: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    seeds.sort();
    assert!(!seeds.is_empty());
    for seed in seeds {
        let name = seed.file_name().unwrap().to_string_lossy().into_owned();
        println!("{name}");
        let fate = exercise(&std::fs::read(&seed).unwrap());
        // Logs are refused. Archives have to be opened, or nothing is tried: they are made again when the format changes.
        assert!(name.starts_with("log-") || fate != Fate::Refused);
    }
}
