//! Many inputs from one line: `{P} <1..200> <|-t>` stands for every combination of its parts.
//!
//! `<a..b>` is each number from a to b, `<x|y|>` each of the texts (one may be empty). [`spread`] takes some of the
//! combinations, evenly over all of them and always the same ones.
//!
//! Deliberately absent: chance. The same manifest gives the same inputs.

/// One place of a template.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Numbers(i64, i64),
    Texts(Vec<String>),
}

impl Part {
    fn count(&self) -> u128 {
        match self {
            Part::Text(_) => 1,
            Part::Numbers(low, high) => u128::try_from(high - low + 1).unwrap_or(0),
            Part::Texts(texts) => texts.len() as u128,
        }
    }

    fn nth(&self, index: u128) -> String {
        match self {
            Part::Text(text) => text.clone(),
            Part::Numbers(low, _) => (low + index as i64).to_string(),
            Part::Texts(texts) => texts[index as usize].clone(),
        }
    }
}

fn parts(template: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once('<') {
        let Some((inside, after)) = behind.split_once('>') else {
            break;
        };
        parts.push(Part::Text(before.to_owned()));
        parts.push(choice(inside));
        rest = after;
    }
    parts.push(Part::Text(rest.to_owned()));
    parts
}

fn choice(inside: &str) -> Part {
    let numbers = inside
        .split_once("..")
        .and_then(|(low, high)| Some(Part::Numbers(low.parse().ok()?, high.parse().ok()?)));
    numbers.unwrap_or_else(|| Part::Texts(inside.split('|').map(str::to_owned).collect()))
}

/// At most `most` of the combinations that `template` stands for.
pub fn spread(template: &str, most: usize) -> Vec<String> {
    let parts = parts(template);
    let total = parts
        .iter()
        .fold(1u128, |all, part| all.saturating_mul(part.count()));
    let taken = total.min(most as u128);
    // An odd distance from one to the next, so that the last places change, too.
    let chosen = (0..taken).map(|turn| {
        let even = turn * (total / taken.max(1));
        if taken < total { even + turn % 7 } else { even }
    });
    chosen
        .map(|index| combination(&parts, index.min(total - 1)))
        .collect()
}

fn combination(parts: &[Part], mut index: u128) -> String {
    let mut texts = Vec::new();
    for part in parts.iter().rev() {
        texts.push(part.nth(index % part.count().max(1)));
        index /= part.count().max(1);
    }
    texts.reverse();
    texts.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_or_some() {
        assert_eq!(
            spread("x <1..2> <|-t>", 9),
            ["x 1 ", "x 1 -t", "x 2 ", "x 2 -t"]
        );
        assert_eq!(spread("same", 9), ["same"]);
        let some = spread("<0..999> <a|b|c>", 50);
        let different: std::collections::BTreeSet<_> = some.iter().collect();
        assert_eq!(different.len(), 50);
        assert!(some.iter().any(|text| text.ends_with('c')));
    }
}
