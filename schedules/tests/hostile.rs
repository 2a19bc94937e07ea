//! Hostile input: what fuzzing once found, and a bounded run of the same kind at each test.

#[path = "hostile/exercise.rs"]
#[allow(dead_code)]
mod exercise;

use exercise::{Fate, exercise};
use schedules::{Archive, Next, TextId};

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
        // Logs are refused. Archives have to be opened, or nothing is tried.
        assert!(name.starts_with("log-") || fate != Fate::Refused);
    }
}

/// What fuzzing found in bodies, made again here because a body changes with the format.
#[test]
fn bodies_that_break_rules_are_opened_and_used() {
    let everything = || schedules::text::parse(include_str!("archives/everything.txt")).unwrap();
    let equal_strings = |archive: &mut Archive| {
        let file = archive.sites[3].position.file;
        let again = TextId(archive.texts.len() as u32);
        archive.texts.push(archive.texts[file.0 as usize].clone());
        archive.sites[3].position.file = again;
        archive.objects[2].name = again;
    };
    let many_slots = |archive: &mut Archive| archive.epochs[0].slots = u16::MAX - 1;
    let steps_of_no_epoch = |archive: &mut Archive| {
        let leaf = archive.steps.iter().find(|step| step.next == Next::Exit);
        let leaf = leaf.expect("some path exits").clone();
        archive.steps.extend([leaf.clone(), leaf]);
    };
    let breaks: [&dyn Fn(&mut Archive); 3] = [&equal_strings, &many_slots, &steps_of_no_epoch];
    for (index, change) in breaks.into_iter().enumerate() {
        let mut archive = everything();
        change(&mut archive);
        let fate = exercise::open(&archive.to_bytes(), exercise::Effort::FULL);
        assert_ne!(fate, Fate::Refused, "{index}");
    }
}
