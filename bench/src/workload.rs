//! Text files for programs that read files: words from a fixed list, in an order that never changes.

use std::path::PathBuf;

const WORDS: &[&str] = &[
    "the", "quick", "brown", "dog", "jumps", "over", "a", "lazy", "cat", "while", "nobody", "looks",
];

/// The paths of `count` texts of about `kilobytes` each, made if they are not there.
pub(crate) fn texts(kilobytes: usize, count: usize) -> Vec<String> {
    let folder = std::env::temp_dir().join(format!("heddle-bench-text-{kilobytes}"));
    // What cannot be written is missed by the program that reads it, which says so.
    let _ = std::fs::create_dir_all(&folder);
    let paths = (0..count).map(|number| folder.join(format!("{number}.txt")));
    paths
        .map(|path| written(path, kilobytes).display().to_string())
        .collect()
}

fn written(path: PathBuf, kilobytes: usize) -> PathBuf {
    let size = kilobytes * 1024;
    if path.metadata().is_ok_and(|file| file.len() >= size as u64) {
        return path;
    }
    let mut text = String::with_capacity(size + 16);
    let mut seed = 0x2545_f491u64;
    while text.len() < size {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let turn = (seed >> 33) as usize;
        // A rare word to look for.
        let word = match turn % 4001 {
            0 => "fox",
            _ => WORDS[turn % WORDS.len()],
        };
        text.push_str(word);
        text.push(if turn.is_multiple_of(11) { '\n' } else { ' ' });
    }
    // Written aside and renamed: two measurements may want the same file at once.
    let aside = path.with_extension(format!("{}", std::process::id()));
    if std::fs::write(&aside, text).is_ok() {
        let _ = std::fs::rename(&aside, &path);
    }
    path
}
