//! Differential tests of construction against plain evaluation.

use super::*;

/// A small deterministic generator (xorshift), so that failures replay.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// Small values, powers of two and their neighbours, all ones: where bugs live.
    pub(super) fn value(&mut self, width: u32) -> u128 {
        let raw = match self.below(5) {
            0 => self.below(4) as u128,
            1 => (1u128 << self.below(width as usize)).wrapping_sub(self.below(3) as u128),
            2 => u128::MAX - self.below(3) as u128,
            3 => 0x0101_0101_0101_0101_0101_0101_0101_0101 * self.below(256) as u128,
            _ => u128::from(self.next()) << 64 | u128::from(self.next()),
        };
        raw & concrete::mask(width)
    }
}

const COMPARISONS: &[Cmp] = &[
    Cmp::Eq,
    Cmp::Ne,
    Cmp::Ult,
    Cmp::Ule,
    Cmp::Ugt,
    Cmp::Uge,
    Cmp::Slt,
    Cmp::Sle,
    Cmp::Sgt,
    Cmp::Sge,
];

fn naive_cmp(op: Cmp, width: u32, a: u128, b: u128) -> bool {
    let (x, y) = (concrete::signed(width, a), concrete::signed(width, b));
    match op {
        Cmp::Eq => a == b,
        Cmp::Ne => a != b,
        Cmp::Ult => a < b,
        Cmp::Ule => a <= b,
        Cmp::Ugt => a > b,
        Cmp::Uge => a >= b,
        Cmp::Slt => x < y,
        Cmp::Sle => x <= y,
        Cmp::Sgt => x > y,
        Cmp::Sge => x >= y,
    }
}

/// Terms of one pool, each beside its value under a few assignments computed without the pool.
/// A term and its values under the samples.
type Sampled = (Expr, Vec<u128>);

struct Field {
    pool: Pool,
    inputs: Vec<Assignment>,
    terms: Vec<(Expr, Vec<u128>)>,
}

impl Field {
    fn new(random: &mut Random) -> Self {
        let mut pool = Pool::new();
        let widths = [1, 1, 3, 8, 8, 16, 32, 32, 64, 64, 128];
        let symbols: Vec<Expr> = (widths.iter().enumerate())
            .map(|(i, &width)| {
                pool.symbol(
                    width,
                    Origin::Input {
                        name: format!("x{i}"),
                    },
                )
            })
            .collect();
        let inputs: Vec<Assignment> = (0..6)
            .map(|_| {
                (symbols.iter().zip(widths))
                    .map(|(&symbol, width)| (symbol, random.value(width)))
                    .collect()
            })
            .collect();
        let mut field = Field {
            pool,
            inputs,
            terms: Vec::new(),
        };
        for symbol in symbols {
            let values = field
                .inputs
                .iter()
                .map(|input| input.get(symbol).unwrap())
                .collect();
            field.terms.push((symbol, values));
        }
        for width in [1, 3, 8, 16, 32, 64, 128] {
            for _ in 0..3 {
                let value = random.value(width);
                let e = field.pool.constant(width, value);
                field.terms.push((e, vec![value; 6]));
            }
        }
        field
    }

    fn pick(&self, random: &mut Random, accept: impl Fn(u32) -> bool) -> (Expr, Vec<u128>) {
        loop {
            // Recent terms more often, so that they grow deep.
            let window = if random.below(2) == 0 {
                self.terms.len().min(12)
            } else {
                self.terms.len()
            };
            let index = self.terms.len() - 1 - random.below(window);
            if accept(self.pool.width(self.terms[index].0)) {
                return self.terms[index].clone();
            }
        }
    }

    fn pair(&self, random: &mut Random) -> (u32, Sampled, Sampled) {
        let a = self.pick(random, |_| true);
        let width = self.pool.width(a.0);
        if random.below(40) == 0 {
            return (width, a.clone(), a);
        }
        // Every width has a few terms to begin with, or choose again.
        if !self
            .terms
            .iter()
            .any(|(e, _)| *e != a.0 && self.pool.width(*e) == width)
        {
            return (width, a.clone(), a);
        }
        let b = self.pick(random, |w| w == width);
        (width, a, b)
    }

    fn grow(&mut self, random: &mut Random) {
        let zip = |a: &[u128], b: &[u128], f: &dyn Fn(u128, u128) -> u128| -> Vec<u128> {
            a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect()
        };
        let new = match random.below(10) {
            0..=3 => {
                let (width, a, b) = self.pair(random);
                let op = BinOp::INTEGER[random.below(BinOp::INTEGER.len())];
                let values = zip(&a.1, &b.1, &|a, b| concrete::binary(op, width, a, b));
                (self.pool.bin(op, a.0, b.0), values)
            }
            4..=5 => {
                let (width, a, b) = self.pair(random);
                let op = COMPARISONS[random.below(COMPARISONS.len())];
                let values = zip(&a.1, &b.1, &|a, b| naive_cmp(op, width, a, b).into());
                (self.pool.cmp(op, a.0, b.0), values)
            }
            6 => {
                let (_, a, b) = self.pair(random);
                let c = self.pick(random, |w| w == 1);
                let values = (0..6).map(|i| if c.1[i] == 1 { a.1[i] } else { b.1[i] });
                let values = values.collect();
                (self.pool.ite(c.0, a.0, b.0), values)
            }
            7 => {
                let a = self.pick(random, |w| w < 128);
                let from = self.pool.width(a.0);
                let width = from + 1 + random.below((128 - from) as usize) as u32;
                if random.below(2) == 0 {
                    (self.pool.zext(a.0, width), a.1)
                } else {
                    let values = (a.1.iter())
                        .map(|&v| concrete::sign_extend(from, width, v))
                        .collect();
                    (self.pool.sext(a.0, width), values)
                }
            }
            8 => {
                let a = self.pick(random, |w| w > 1);
                let from = self.pool.width(a.0);
                let low = random.below(from as usize) as u32;
                let width = 1 + random.below((from - low) as usize) as u32;
                let values =
                    a.1.iter()
                        .map(|&v| v >> low & concrete::mask(width))
                        .collect();
                (self.pool.extract(a.0, low, width), values)
            }
            _ => {
                let h = self.pick(random, |w| w < 128);
                let room = 128 - self.pool.width(h.0);
                let l = self.pick(random, |w| w <= room);
                let shift = self.pool.width(l.0);
                let values = zip(&h.1, &l.1, &|h, l| h << shift | l);
                (self.pool.concat(h.0, l.0), values)
            }
        };
        self.check(&new);
        self.terms.push(new);
    }

    #[track_caller]
    fn check(&self, (e, values): &(Expr, Vec<u128>)) {
        let facts = self.pool.facts(*e);
        for (input, &value) in self.inputs.iter().zip(values) {
            let text = || format!("{} under {input:?}", self.pool.display(*e));
            assert_eq!(self.pool.evaluate(*e, input), value, "{}", text());
            assert!(
                facts.low <= value && value <= facts.high,
                "{facts:?} of {}",
                text()
            );
            assert_eq!(value & facts.zeros, 0, "{facts:?} of {}", text());
            assert_eq!(value & facts.ones, facts.ones, "{facts:?} of {}", text());
        }
    }
}

#[test]
fn construction_keeps_values_and_facts_hold() {
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let mut field = Field::new(&mut random);
        for _ in 0..150 {
            field.grow(&mut random);
        }
    }
}

fn input(pool: &mut Pool, width: u32, name: &str) -> Expr {
    pool.symbol(width, Origin::Input { name: name.into() })
}

#[test]
fn bytes_of_a_word_become_the_word_again() {
    let mut p = Pool::new();
    let x = input(&mut p, 32, "x");
    let bytes: Vec<Expr> = (0..4).map(|i| p.extract(x, 8 * i, 8)).collect();
    let mut word = bytes[0];
    for &byte in &bytes[1..] {
        word = p.concat(byte, word);
    }
    assert_eq!(word, x);
    let mut word = bytes[3];
    for &byte in bytes[..3].iter().rev() {
        word = p.concat(word, byte);
    }
    assert_eq!(word, x);
}

#[test]
fn shifted_bytes_become_the_word_again() {
    let mut p = Pool::new();
    let x = input(&mut p, 32, "x");
    let mut word = p.constant(32, 0);
    for i in 0..4 {
        let byte = p.extract(x, 8 * i, 8);
        let wide = p.zext(byte, 32);
        let by = p.constant(32, u128::from(8 * i));
        let shifted = p.bin(BinOp::Shl, wide, by);
        word = p.bin(BinOp::Or, word, shifted);
    }
    assert_eq!(word, x);
}

#[test]
fn pointer_arithmetic_folds() {
    let mut p = Pool::new();
    let (base, index) = (input(&mut p, 64, "base"), input(&mut p, 64, "i"));
    let eight = p.constant(64, 8);
    let scaled = p.bin(BinOp::Mul, index, eight);
    let at = p.bin(BinOp::Add, base, scaled);
    let a = p.bin(BinOp::Add, at, eight);
    let difference = p.bin(BinOp::Sub, a, at);
    assert_eq!(p.as_const(difference), Some(8));
    let same = p.eq(a, at);
    assert!(p.is_false(same));
}

#[test]
fn addresses_compare_by_base_and_offset() {
    let mut p = Pool::new();
    let facts = Facts::bits(64, 0xf, 0).meet(Facts::between(64, 0x1000, (1 << 47) - 1));
    let object = |p: &mut Pool, name: &str| {
        let origin = Origin::Fresh { why: name.into() };
        p.symbol_in(64, origin, facts)
    };
    let (a, b) = (object(&mut p, "a"), object(&mut p, "b"));
    let at = |p: &mut Pool, base: Expr, offset: u128| {
        let offset = p.constant(64, offset);
        p.bin(BinOp::Add, base, offset)
    };
    let (a8, a40, b8) = (at(&mut p, a, 8), at(&mut p, a, 40), at(&mut p, b, 8));
    let (null, flag) = (p.constant(64, 0), input(&mut p, 1, "flag"));
    let same = p.eq(a8, a40);
    assert!(p.is_false(same));
    let below = p.cmp(Cmp::Ult, a8, a40);
    assert!(p.is_true(below));
    let bases = p.eq(a, b);
    assert_eq!(p.eq(a8, b8), bases);
    // Misaligned, so different whatever the bases are.
    let nine = at(&mut p, b, 9);
    let misaligned = p.eq(a8, nine);
    assert!(p.is_false(misaligned));
    // `flag ? &a[8] : NULL`.
    let chosen = p.ite(flag, a8, null);
    let is_null = p.eq(chosen, null);
    assert_eq!(is_null, p.not(flag));
    let is_a = p.eq(chosen, a8);
    assert_eq!(is_a, flag);
    let either = p.ite(flag, a8, b8);
    let is_null = p.eq(either, null);
    assert!(p.is_false(is_null));
    let is_b = p.eq(either, b8);
    let not_flag = p.not(flag);
    assert_eq!(is_b, p.or(not_flag, bases));
}

#[test]
fn the_least_value_agrees_with_the_facts() {
    for width in [1, 2, 4, 6] {
        let mut random = Random::new(width.into());
        for _ in 0..3000 {
            let (zeros, ones) = (random.value(width), random.value(width));
            let (low, high) = (random.value(width), random.value(width));
            let facts = Facts {
                zeros: zeros & !ones,
                ones: ones & !zeros,
                low,
                high,
            };
            let agrees = |v: &u128| {
                v & facts.zeros == 0 && v & facts.ones == facts.ones && *v >= low && *v <= high
            };
            let least = (0..=concrete::mask(width)).find(agrees);
            assert_eq!(facts.least(width), least, "{facts:?} at {width}");
        }
    }
}

#[test]
fn substitution_simplifies() {
    let mut p = Pool::new();
    let (x, y) = (input(&mut p, 32, "x"), input(&mut p, 32, "y"));
    let sum = p.bin(BinOp::Add, x, y);
    let five = p.constant(32, 5);
    let test = p.cmp(Cmp::Slt, sum, five);
    let map = [(x, five), (y, five)].into();
    let result = p.substitute(test, &map);
    assert!(p.is_false(result));
    assert_eq!(p.support(test), &[x, y]);
    assert_eq!(p.support(result), &[]);
}

#[test]
fn terms_print_like_c() {
    let mut p = Pool::new();
    let (argc, n) = (input(&mut p, 32, "argc"), input(&mut p, 64, "n"));
    let three = p.constant(32, 3);
    let different = p.cmp(Cmp::Ne, argc, three);
    let minus_one = p.constant(64, u128::MAX);
    let above = p.cmp(Cmp::Sgt, n, minus_one);
    let either = p.or(different, above);
    assert_eq!(p.display(either).to_string(), "argc != 3 || n > -1");
    let sum = p.bin(BinOp::Add, n, minus_one);
    let product = p.bin(BinOp::Mul, sum, n);
    assert_eq!(p.display(product).to_string(), "n * (n - 1)");
}
