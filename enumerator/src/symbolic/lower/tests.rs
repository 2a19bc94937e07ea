//! Lowered code over a random memory against the pool's own evaluation.

use super::*;
use crate::model::{Cmp, FuncId};
use crate::symbolic::expr::Assignment;
use schedules::archive::RegisterKind;
use schedules::predicate::{self, FIRST_PAGE, Memory, ShadowWidths};

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

/// Every byte of the address space has a value that depends on its address and the seed.
struct World(u64);

impl World {
    fn mix(&self, x: u64) -> u64 {
        let x = (x ^ self.0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 8
    }

    /// Some pages hold zeros, so that null pointers are met.
    fn byte(&self, address: u64) -> u8 {
        if self.mix(address >> 5).is_multiple_of(4) {
            0
        } else {
            self.mix(address) as u8
        }
    }

    fn bytes(&self, address: u64, count: u32) -> u64 {
        (0..count.into()).fold(0, |sum, i| {
            sum | u64::from(self.byte(address.wrapping_add(i))) << (8 * i)
        })
    }
}

impl Memory for World {
    fn root(&self, root: RootId) -> u64 {
        0x40_0000 + 0x1000 * u64::from(root.0)
    }
    fn shadow(&self, slot: u16, shadow: ShadowId) -> u64 {
        let raw = self.mix(u64::from(slot) << 32 | u64::from(shadow.0)) << 3;
        if shadow.0 == 1 {
            raw & 0xffff_ffff
        } else {
            raw
        }
    }
    fn load(&self, address: u64, width: u8) -> u64 {
        self.bytes(address, u32::from(width) / 8)
    }
}

struct Table;

impl Names for Table {
    fn root(&mut self, global: GlobalId) -> Option<RootId> {
        Some(RootId(global.0))
    }
    fn shadow(&mut self, register: &ShadowRegister) -> Option<(u16, ShadowId)> {
        Some((register.slot, ShadowId(register.frame)))
    }
}

impl ShadowWidths for Table {
    fn width(&self, shadow: ShadowId) -> Option<u32> {
        Some(if shadow.0 == 1 { 32 } else { 64 })
    }
}

fn register(frame: u32) -> ShadowRegister {
    ShadowRegister {
        slot: 3,
        frame,
        function: FuncId(0),
        value: RegisterKind::Argument(0),
    }
}

struct Scene {
    pool: Pool,
    world: World,
    values: Assignment,
    symbols: Vec<Expr>,
}

impl Scene {
    fn new(seed: u64) -> Self {
        let mut scene = Scene {
            pool: Pool::new(),
            world: World(seed),
            values: Assignment::new(),
            symbols: Vec::new(),
        };
        for (frame, width) in [(0, 64), (1, 32)] {
            let origin = Origin::Register {
                register: register(frame),
                name: format!("r{frame}"),
            };
            let symbol = scene.pool.symbol(width, origin);
            let value = scene.world.shadow(3, ShadowId(frame));
            scene.values.set(symbol, value.into());
            scene.symbols.push(symbol);
        }
        scene
    }

    /// A symbol for what the path leads to, with its value.
    fn memory(&mut self, width: u32, root: PathRoot, offsets: Vec<PathOffset>) {
        let mut at = match &root {
            PathRoot::Global(global) => self.world.root(RootId(global.0)),
            PathRoot::Shadow(register) => {
                self.world.shadow(register.slot, ShadowId(register.frame))
            }
        };
        let last = offsets.len() - 1;
        let mut value = 0;
        for (i, offset) in offsets.iter().enumerate() {
            let by = match *offset {
                PathOffset::Constant(by) => by as u64,
                PathOffset::Computed(e) => self.pool.evaluate(e, &self.values) as u64,
            };
            at = at.wrapping_add(by);
            let bits = if i == last { width } else { 64 };
            value = if at < FIRST_PAGE {
                0
            } else {
                self.world.bytes(at, bits.div_ceil(8))
            };
            at = value;
        }
        let path = AccessPath { root, offsets };
        let symbol = self.pool.symbol(
            width,
            Origin::Memory {
                path,
                name: "m".into(),
            },
        );
        let mask = crate::symbolic::expr::concrete::mask(width);
        self.values.set(symbol, u128::from(value) & mask);
        self.symbols.push(symbol);
    }

    fn offset(&mut self, random: &mut Random) -> PathOffset {
        if random.below(3) > 0 {
            // Not negative: below a null pointer lies the last page, which a real program cannot read either.
            return PathOffset::Constant(random.below(64) as i64);
        }
        let index = self.symbols[random.below(self.symbols.len())];
        let index = if self.pool.width(index) < 64 {
            self.pool.zext(index, 64)
        } else {
            index
        };
        let mask = self.pool.constant(64, 7);
        let index = self.pool.bin(BinOp::And, index, mask);
        let eight = self.pool.constant(64, 8);
        PathOffset::Computed(self.pool.bin(BinOp::Mul, index, eight))
    }

    fn word(&mut self, random: &mut Random, width: u32, depth: u32) -> Expr {
        if depth == 0 || random.below(6) == 0 {
            if random.below(4) == 0 {
                return self.pool.constant(width, random.below(70) as u128);
            }
            let symbol = self.symbols[random.below(self.symbols.len())];
            let from = self.pool.width(symbol);
            return match from {
                _ if from > width => {
                    let low = random.below((from - width) as usize + 1) as u32;
                    self.pool.extract(symbol, low, width)
                }
                _ if random.below(2) == 0 => self.pool.sext(symbol, width),
                _ => self.pool.zext(symbol, width),
            };
        }
        match random.below(6) {
            0 => {
                let c = self.condition(random, depth - 1);
                let (a, b) = (
                    self.word(random, width, depth - 1),
                    self.word(random, width, depth - 1),
                );
                self.pool.ite(c, a, b)
            }
            1 if width > 8 => {
                let (h, l) = (
                    self.word(random, width - 8, depth - 1),
                    self.word(random, 8, depth - 1),
                );
                self.pool.concat(h, l)
            }
            _ => {
                let (a, b) = (
                    self.word(random, width, depth - 1),
                    self.word(random, width, depth - 1),
                );
                self.pool
                    .bin(BinOp::INTEGER[random.below(BinOp::INTEGER.len())], a, b)
            }
        }
    }

    fn condition(&mut self, random: &mut Random, depth: u32) -> Expr {
        let width = [1, 7, 8, 16, 32, 33, 64][random.below(7)];
        let (a, b) = (
            self.word(random, width, depth),
            self.word(random, width, depth),
        );
        self.pool.cmp(CMPS[random.below(CMPS.len())], a, b)
    }
}

#[test]
fn code_computes_what_the_pool_does() {
    let mut lowered = 0;
    for seed in 1..150 {
        let mut random = Random(seed * 0x9e37_79b9);
        let mut scene = Scene::new(seed);
        for &width in &[8, 1, 16, 24, 32, 40, 48, 56, 63, 64] {
            let root = match random.below(3) {
                0 => PathRoot::Shadow(register(0)),
                _ => PathRoot::Global(GlobalId(random.below(3) as u32)),
            };
            let steps = 1 + random.below(3);
            let offsets = (0..steps).map(|_| scene.offset(&mut random)).collect();
            scene.memory(width, root, offsets);
        }
        for _ in 0..40 {
            let e = scene.condition(&mut random, 3);
            let Some(code) = lower(&scene.pool, e, &mut Table) else {
                continue;
            };
            lowered += 1;
            let text = || format!("seed {seed}: {}", scene.pool.display(e));
            predicate::check(code.iter().copied(), &Table)
                .unwrap_or_else(|bad| panic!("{}: {bad}", text()));
            let found = predicate::evaluate(code.iter().copied(), &scene.world).unwrap();
            assert_eq!(found, scene.pool.holds(e, &scene.values), "{}", text());
        }
    }
    assert!(lowered > 3000, "{lowered}");
}

#[test]
fn late_and_wide_conditions_are_refused() {
    let mut pool = Pool::new();
    let late = pool.symbol(
        8,
        Origin::Input {
            name: "argc".into(),
        },
    );
    let path = AccessPath {
        root: PathRoot::Global(GlobalId(0)),
        offsets: vec![PathOffset::Constant(0)],
    };
    let wide = pool.symbol(
        128,
        Origin::Memory {
            path,
            name: "wide".into(),
        },
    );
    for symbol in [late, wide] {
        let zero = pool.constant(pool.width(symbol), 0);
        let e = pool.eq(symbol, zero);
        assert_eq!(lower(&pool, e, &mut Table), None);
    }
}

/// A chain that leans to the right needs a value per link, unless its operation commutes.
#[test]
fn the_stack_is_bounded() {
    for (op, fits) in [(BinOp::Sub, false), (BinOp::Mul, true)] {
        let mut scene = Scene::new(1);
        for i in 0..100 {
            scene.memory(
                64,
                PathRoot::Global(GlobalId(0)),
                vec![PathOffset::Constant(8 * i)],
            );
        }
        let mut e = scene.symbols[2];
        for i in 3..100 {
            e = scene.pool.bin(op, scene.symbols[i], e);
        }
        let zero = scene.pool.constant(64, 0);
        let e = scene.pool.eq(e, zero);
        assert_eq!(lower(&scene.pool, e, &mut Table).is_some(), fits);
    }
}
