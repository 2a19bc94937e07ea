//! Opening, verifying, evaluating and printing whatever bytes come. A panic, a hang or an address error is a finding.

#![no_main]

#[path = "../../tests/hostile/exercise.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    exercise::exercise(bytes);
});
