//! The chain against brute force over all values of a few narrow symbols.

use super::*;
use crate::model::{BinOp, Cmp};
use crate::symbolic::expr::{Facts, Origin};

/// Deterministic xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

const CMPS: &[Cmp] = &[Cmp::Eq, Cmp::Ne, Cmp::Ult, Cmp::Ule, Cmp::Slt, Cmp::Sle];

fn input(pool: &mut Pool, width: u32, name: &str) -> Expr {
    pool.symbol(width, Origin::Input { name: name.into() })
}

fn word(pool: &mut Pool, random: &mut Random, symbols: &[Expr], depth: u32) -> Expr {
    if depth == 0 || random.below(5) == 0 {
        return match random.below(3) {
            0 => pool.constant(3, random.below(8) as u128),
            _ => symbols[random.below(symbols.len())],
        };
    }
    let a = word(pool, random, symbols, depth - 1);
    let b = word(pool, random, symbols, depth - 1);
    match random.below(4) {
        0 => {
            let c = condition(pool, random, symbols, depth - 1);
            pool.ite(c, a, b)
        }
        _ => pool.bin(BinOp::INTEGER[random.below(BinOp::INTEGER.len())], a, b),
    }
}

fn condition(pool: &mut Pool, random: &mut Random, symbols: &[Expr], depth: u32) -> Expr {
    let a = word(pool, random, symbols, depth);
    let b = word(pool, random, symbols, depth);
    pool.cmp(CMPS[random.below(CMPS.len())], a, b)
}

/// All assignments of three-bit symbols, within `lows[i] ..= 7`.
fn worlds(symbols: &[Expr], lows: &[u128]) -> Vec<Assignment> {
    let mut worlds = vec![Assignment::new()];
    for (&symbol, &low) in symbols.iter().zip(lows) {
        worlds = (worlds.iter())
            .flat_map(|world| {
                (low..8).map(|value| {
                    let mut world = world.clone();
                    world.set(symbol, value);
                    world
                })
            })
            .collect();
    }
    worlds
}

#[test]
fn answers_agree_with_brute_force() {
    let mut random = Random(0x5eed);
    let (mut sat, mut unsat) = (0, 0);
    for round in 0..40 {
        let mut pool = Pool::new();
        let mut symbols: Vec<Expr> = (0..3)
            .map(|i| input(&mut pool, 3, &format!("x{i}")))
            .collect();
        let origin = Origin::Input {
            name: "address".into(),
        };
        symbols.push(pool.symbol_in(3, origin, Facts::between(3, 2, 7)));
        let worlds = worlds(&symbols, &[0, 0, 0, 2]);
        let mut solver = Solver::new(Limits::default());
        for _ in 0..20 {
            let count = 1 + random.below(5);
            let path: Vec<Expr> = (0..count)
                .map(|_| condition(&mut pool, &mut random, &symbols, 2))
                .collect();
            let e = condition(&mut pool, &mut random, &symbols, 2);
            let holds = |world: &&Assignment| path.iter().all(|&c| pool.holds(c, world));
            let on_path: Vec<&Assignment> = worlds.iter().filter(holds).collect();
            let possible = on_path.iter().any(|world| pool.holds(e, world));
            let forced = on_path.iter().all(|world| pool.holds(e, world));
            match solver.check(&pool, &path) {
                Answer::Sat(model) => {
                    sat += 1;
                    assert!(path.iter().all(|&c| pool.holds(c, &model)), "round {round}");
                    assert!(!on_path.is_empty());
                }
                Answer::Unsat => {
                    unsat += 1;
                    assert!(on_path.is_empty(), "round {round}");
                }
                Answer::Unknown => panic!("unknown for three-bit words"),
            }
            let (may, must) = (
                solver.may(&mut pool, &path, e),
                solver.must(&mut pool, &path, e),
            );
            assert!(may || !possible, "round {round}: wrongly impossible");
            assert!(!must || forced, "round {round}: wrongly proved");
            if !on_path.is_empty() {
                assert_eq!((may, must), (possible, forced), "round {round}");
            }
        }
    }
    assert!(sat > 100 && unsat > 100, "{sat} {unsat}");
}

#[test]
fn links_answer_before_z3() {
    let mut pool = Pool::new();
    let (x, y) = (input(&mut pool, 32, "x"), input(&mut pool, 32, "y"));
    let ten = pool.constant(32, 10);
    let mut solver = Solver::new(Limits::default());
    let small = pool.cmp(Cmp::Ult, x, ten);
    let other = pool.cmp(Cmp::Ult, ten, y);
    assert!(matches!(
        solver.check(&pool, &[small, other]),
        Answer::Sat(_)
    ));
    // The least values satisfy the first part; for the second one of them has to change.
    let counts = solver.statistics();
    assert_eq!((counts.models, counts.repaired, counts.z3_sat), (1, 1, 0));
    assert!(matches!(
        solver.check(&pool, &[other, small]),
        Answer::Sat(_)
    ));
    assert_eq!(solver.statistics().repeated, 2);
    // A contradiction on sight.
    let large = pool.not(small);
    assert_eq!(solver.check(&pool, &[small, large]), Answer::Unsat);
    assert_eq!(solver.statistics().z3_unsat, 0);
    // A proper proof, then the same with more conjuncts.
    let twenty = pool.constant(32, 20);
    let doubled = pool.bin(BinOp::Add, x, x);
    let beyond = pool.cmp(Cmp::Ugt, doubled, twenty);
    assert_eq!(solver.check(&pool, &[small, beyond]), Answer::Unsat);
    let together = pool.cmp(Cmp::Ult, x, y);
    assert_eq!(
        solver.check(&pool, &[small, beyond, together]),
        Answer::Unsat
    );
    assert_eq!(
        (solver.statistics().z3_unsat, solver.statistics().impossible),
        (1, 1)
    );
    // A value given by the path decides without any of them.
    let five = pool.constant(32, 5);
    let is_five = pool.eq(x, five);
    let before = solver.statistics();
    assert!(solver.must(&mut pool, &[is_five], small));
    assert_eq!(solver.statistics().trivial, before.trivial + 1);
}

#[test]
fn most_models_are_found_by_repairing() {
    let mut random = Random(0x7e9a);
    let (mut possible, mut repaired) = (0, 0);
    for _ in 0..40 {
        let mut pool = Pool::new();
        let names = ["x", "y", "z"];
        let symbols: Vec<Expr> = names.iter().map(|name| input(&mut pool, 3, name)).collect();
        let worlds = worlds(&symbols, &[0, 0, 0]);
        for _ in 0..20 {
            let part: Vec<Expr> = (0..3)
                .map(|_| condition(&mut pool, &mut random, &symbols, 2))
                .collect();
            let fits = |world: &Assignment| part.iter().all(|&c| pool.holds(c, world));
            possible += usize::from(worlds.iter().any(fits));
            if let Some(model) = repair::model(&pool, &part, &Assignment::new()) {
                assert!(fits(&model));
                repaired += 1;
            }
        }
    }
    assert!(possible > 100, "{possible}");
    assert!(repaired * 10 >= possible * 8, "{repaired} of {possible}");
}

#[test]
fn repairing_goes_down_through_every_operation() {
    let mut pool = Pool::new();
    let (x, y) = (input(&mut pool, 32, "x"), input(&mut pool, 32, "y"));
    let byte = pool.extract(x, 8, 8);
    let long = pool.zext(byte, 64);
    let wide = pool.concat(x, y);
    let signed = pool.sext(y, 64);
    let number = |pool: &mut Pool, width, value| pool.constant(width, value);
    let odd = number(&mut pool, 32, 0x0101_0101);
    let product = pool.bin(BinOp::Mul, x, odd);
    let seven = number(&mut pool, 32, 7);
    let rest = pool.bin(BinOp::URem, y, seven);
    let part = pool.bin(BinOp::UDiv, x, seven);
    let shift = number(&mut pool, 32, 12);
    let shifted = pool.bin(BinOp::LShr, y, shift);
    for (term, value) in [
        (byte, 0x5a),
        (long, 0xff),
        (wide, 0x1234_5678_9abc_def0),
        (signed, u128::from(u64::MAX - 2)),
        (product, 0xdead_beef),
        (rest, 6),
        (part, 123_456),
        (shifted, 0xabcd),
    ] {
        let width = pool.width(term);
        let value = number(&mut pool, width, value);
        let goal = pool.eq(term, value);
        let model = repair::model(&pool, &[goal], &Assignment::new());
        let model = model.unwrap_or_else(|| panic!("{}", pool.display(goal)));
        assert!(pool.holds(goal, &model));
    }
}

#[test]
fn facts_of_symbols_reach_z3() {
    let mut pool = Pool::new();
    // An address: not null, 16-byte aligned, in the lower half.
    let facts = Facts::bits(64, 0xf, 0).meet(Facts::between(64, 0x1000, (1 << 47) - 1));
    let base = pool.symbol_in(
        64,
        Origin::Fresh {
            why: "object".into(),
        },
        facts,
    );
    let index = input(&mut pool, 64, "index");
    let four = pool.constant(64, 4);
    let bounded = pool.cmp(Cmp::Ult, index, four);
    let at = pool.bin(BinOp::Add, base, index);
    let zero = pool.constant(64, 0);
    let null = pool.eq(at, zero);
    let mut solver = Solver::new(Limits::default());
    assert!(!solver.may(&mut pool, &[bounded], null));
    assert!(solver.may(&mut pool, &[], null));
    let low = pool.trunc(at, 4);
    let fifteen = pool.constant(4, 15);
    let last = pool.eq(low, fifteen);
    assert!(!solver.may(&mut pool, &[bounded], last));
    let page = pool.constant(64, 0x5000);
    let later = pool.cmp(Cmp::Ult, page, at);
    let Answer::Sat(model) = solver.check(&pool, &[bounded, later]) else {
        panic!("an address exists");
    };
    assert!(model.get(base).unwrap() >= 0x1000);
}

#[test]
fn a_solver_notices_another_pool() {
    let mut solver = Solver::new(Limits::default());
    for value in [3, 4] {
        let mut pool = Pool::new();
        let x = input(&mut pool, 8, "x");
        let c = pool.constant(8, value);
        let square = pool.bin(BinOp::Mul, x, x);
        // Same ids in both pools: nine is a square, the other number is not.
        let nine = pool.constant(8, if value == 3 { 9 } else { 11 });
        let e = pool.eq(square, nine);
        let near = pool.cmp(Cmp::Ule, x, c);
        let answer = solver.check(&pool, &[e, near]);
        assert_eq!(matches!(answer, Answer::Sat(_)), value == 3, "{answer:?}");
    }
}

#[test]
fn work_is_bounded() {
    let mut pool = Pool::new();
    let (x, y) = (input(&mut pool, 64, "x"), input(&mut pool, 64, "y"));
    let product = pool.bin(BinOp::Mul, x, y);
    // A product of two primes near 2^31, factors proper: hard for bit blasting.
    let n = pool.constant(64, 2147483647 * 2147483629);
    let one = pool.constant(64, 1);
    let conjuncts = [
        pool.eq(product, n),
        pool.cmp(Cmp::Ult, one, x),
        pool.cmp(Cmp::Ult, x, y),
        pool.cmp(Cmp::Ult, y, n),
    ];
    let limits = Limits {
        rlimit: 20_000,
        ..Limits::default()
    };
    let mut solver = Solver::new(limits);
    assert_eq!(solver.check(&pool, &conjuncts), Answer::Unknown);
    assert!(solver.may(&mut pool, &conjuncts[1..], conjuncts[0]));
    assert!(!solver.must(&mut pool, &conjuncts[1..], conjuncts[0]));
}

#[test]
fn slow_queries_are_written_down() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits {
        log: Some(folder.path().join("queries")),
        slow: Duration::ZERO,
        ..Limits::default()
    };
    let mut pool = Pool::new();
    let x = input(&mut pool, 8, "x");
    let square = pool.bin(BinOp::Mul, x, x);
    let nine = pool.constant(8, 9);
    let e = pool.eq(square, nine);
    assert!(Solver::new(limits).may(&mut pool, &[], e));
    let text = std::fs::read_to_string(folder.path().join("queries/query-00001.smt2")).unwrap();
    assert!(text.contains("bvmul"), "{text}");
}
