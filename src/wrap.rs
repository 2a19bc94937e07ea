//! The linker's `--wrap` in a link's recorded arguments.

/// Names that the linker was told to wrap.
pub(crate) fn names(arguments: &[String]) -> Vec<String> {
    let mut names = Vec::new();
    for part in parts(arguments) {
        names.extend(part.wrapped);
    }
    names
}

/// The arguments without that option; everything else stays as it is and where it is.
pub(crate) fn without(arguments: Vec<String>) -> Vec<String> {
    let parts = parts(&arguments);
    if parts.iter().all(|part| part.wrapped.is_none()) {
        return arguments;
    }
    let kept = parts.into_iter().filter(|part| part.wrapped.is_none());
    kept.flat_map(|part| part.words).collect()
}

/// One option of the linker, or one word for the compiler.
struct Part {
    /// The words that give it to the compiler.
    words: Vec<String>,
    wrapped: Option<String>,
}

fn parts(arguments: &[String]) -> Vec<Part> {
    // What the linker gets, each with the words that say so to the compiler; other words stand for themselves.
    let mut single: Vec<(Option<&str>, Vec<String>)> = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if let Some(list) = word.strip_prefix("-Wl,") {
            let options = list.split(',');
            single.extend(options.map(|option| (Some(option), vec![format!("-Wl,{option}")])));
        } else if let Some(option) = words.as_slice().first().filter(|_| word == "-Xlinker") {
            single.push((Some(option), vec![word.clone(), option.clone()]));
            words.next();
        } else {
            single.push((None, vec![word.clone()]));
        }
    }
    let mut parts = Vec::new();
    let mut single = single.into_iter();
    while let Some((option, mut words)) = single.next() {
        let value = option.and_then(|option| option.trim_start_matches('-').strip_prefix("wrap"));
        let wrapped = match value {
            Some("") => single.next().and_then(|(name, more)| {
                words.extend(more);
                name.map(str::to_owned)
            }),
            Some(joined) => joined.strip_prefix('=').map(str::to_owned),
            None => None,
        };
        parts.push(Part { words, wrapped });
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::{names, without};

    #[track_caller]
    fn check(line: &str, wrapped: &[&str], rest: &str) {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        assert_eq!(names(&words), wrapped);
        assert_eq!(without(words).join(" "), rest);
    }

    #[test]
    fn every_way_to_say_it() {
        check("-lm -Wl,--wrap=a -O2", &["a"], "-lm -O2");
        check("-Wl,--wrap,a,-z,now", &["a"], "-Wl,-z -Wl,now");
        check("-Wl,-wrap -Wl,a -lm", &["a"], "-lm");
        check("-Xlinker --wrap -Xlinker a -lm", &["a"], "-lm");
        check("-Xlinker --wrap=a -Wl,--wrap=b", &["a", "b"], "");
    }

    #[test]
    fn without_it_nothing_changes() {
        check(
            "-Wl,-z,now -Xlinker -s wrap -Wl,--no-wrapping",
            &[],
            "-Wl,-z,now -Xlinker -s wrap -Wl,--no-wrapping",
        );
    }
}
