//! Side-by-side measurements of the corpus.

fn main() {}
