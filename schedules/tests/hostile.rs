//! Hostile input: what fuzzing once found, and a bounded run of the same kind at each test.

#[path = "hostile/exercise.rs"]
#[allow(dead_code)]
mod exercise;

use exercise::exercise;

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
        println!("{}", seed.file_name().unwrap().display());
        exercise(&std::fs::read(&seed).unwrap());
    }
}
