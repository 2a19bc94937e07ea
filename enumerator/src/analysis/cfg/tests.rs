//! Control-flow facts of small functions, and against LLVM's own analyses on generated ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::process::Command;

use super::Cfg;
use crate::model::testing::{compile, func, with_bitcode};
use crate::model::{BlockId, Function, Module, Value};

fn cfg_of(source: &str, name: &str) -> (Module, Cfg) {
    let module = compile(source);
    let cfg = Cfg::of(&module.functions[func(&module, name)]);
    (module, cfg)
}

#[test]
fn survivors_join_after_an_error_check() {
    let (module, cfg) = cfg_of(
        r#"
        void stop(void) __attribute__((noreturn));
        int g;
        void f(int x) { if (x < 0) stop(); g = x; if (x) g++; g++; }"#,
        "f",
    );
    let function = &module.functions[func(&module, "f")];
    let entry = BlockId(0);
    assert_eq!(cfg.ipdom(entry), None);
    let join = cfg.join(entry).expect("the survivors meet");
    assert!(!cfg.dies(join));
    assert!(cfg.may_die(entry) && !cfg.may_die(join));
    let between = cfg.between(function, entry);
    assert_eq!(between.len(), 1);
    assert!(cfg.dies(between[0]));
}

#[test]
fn branches_in_an_endless_loop_join_inside_it() {
    let (_, cfg) = cfg_of(
        r#"
        void a(void); void b(void); void c(void); int more(void);
        void f(void) { for (;;) { if (more()) a(); else b(); c(); } }"#,
        "f",
    );
    assert_eq!(cfg.loops.len(), 1);
    let branch = cfg
        .rpo
        .iter()
        .copied()
        .find(|block| {
            cfg.join(*block)
                .is_some_and(|join| cfg.idom(join) == Some(*block))
        })
        .expect("a branch");
    let join = cfg.join(branch).expect("inside the loop");
    assert!(cfg.loops.of(join).is_some());
    assert_eq!(cfg.ipdom(branch), Some(join));
    assert!(!cfg.may_die(branch));
}

#[test]
fn a_branch_into_an_endless_loop_joins_only_at_the_exit() {
    let (_, cfg) = cfg_of(
        "int more(void); void a(void); void f(int x) { if (x) for (;;) a(); more(); }",
        "f",
    );
    assert_eq!(cfg.join(BlockId(0)), None);
    assert!(!cfg.dies(BlockId(0)));
}

/// A deterministic stream of numbers (xorshift), so that failures repeat.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// A function of random branches between `count` blocks, as LLVM assembly. Those of even seeds reach all their blocks.
fn random_function(seed: u64, count: u64) -> String {
    let mut numbers = Numbers(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut text = format!("define void @f{seed}(i1 %x) {{\nb0:\n");
    for block in 0..count {
        if block > 0 {
            let _ = writeln!(text, "b{block}:");
        }
        // Mostly forward, some back; block 0 must have no predecessors.
        let target = |numbers: &mut Numbers| {
            if numbers.below(4) == 0 {
                1 + numbers.below(count - 1)
            } else {
                (block + 1 + numbers.below(3)).clamp(1, count - 1)
            }
        };
        let (mut a, b) = (target(&mut numbers), target(&mut numbers));
        let connected = seed.is_multiple_of(2);
        if connected {
            a = (block + 1).min(count - 1);
        }
        let _ = match numbers.below(8) {
            _ if block == count - 1 => writeln!(text, "  ret void"),
            0 if connected => writeln!(text, "  br i1 %x, label %b{a}, label %b{}", count - 1),
            1 | 2 if connected => writeln!(text, "  br label %b{a}"),
            0 => writeln!(text, "  br label %b{a}"),
            1 if block > 1 => writeln!(text, "  ret void"),
            2 if block > 1 => writeln!(text, "  unreachable"),
            _ => writeln!(text, "  br i1 %x, label %b{a}, label %b{b}"),
        };
    }
    text.push_str("}\n");
    text
}

/// LLVM's post-dominator trees and loops, by function, as parent lists and sorted block sets.
#[derive(Default, Debug, PartialEq)]
struct Reference {
    parents: BTreeMap<String, Option<String>>,
    loops: BTreeSet<(String, BTreeSet<String>)>,
}

fn llvm_answers(source: &str) -> BTreeMap<String, Reference> {
    let text = with_bitcode(source, |path| {
        let output = Command::new("opt-19")
            .arg("-passes=print<postdomtree>,print<loops>")
            .arg("-disable-output")
            .arg(path)
            .output()
            .expect("opt runs");
        assert!(output.status.success());
        String::from_utf8(output.stderr).expect("text")
    });
    let mut answers: BTreeMap<String, Reference> = BTreeMap::new();
    let mut current = String::new();
    let mut path: Vec<Option<String>> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("PostDominatorTree for function: ") {
            current = name.to_owned();
        } else if let Some(rest) = line.strip_prefix("Loop info for function '") {
            current = rest.split('\'').next().expect("a name").to_owned();
        } else if let Some((depth, node)) = tree_line(line) {
            path.truncate(depth - 1);
            let parent = path.last().cloned().flatten();
            if let Some(block) = &node {
                let reference = answers.entry(current.clone()).or_default();
                reference.parents.insert(block.clone(), parent);
            }
            path.push(node);
        } else if let Some((_, blocks)) = line.split_once("containing: ") {
            let reference = answers.entry(current.clone()).or_default();
            let names: Vec<&str> = blocks
                .split(',')
                .map(|part| {
                    part.split('<')
                        .next()
                        .expect("a name")
                        .trim()
                        .trim_start_matches('%')
                })
                .collect();
            let set = names.iter().map(|name| (*name).to_owned()).collect();
            reference.loops.insert((names[0].to_owned(), set));
        }
    }
    answers
}

/// `  [2] %b5 {3,4} [1]` is depth 2, block b5; the virtual exit has no name.
fn tree_line(line: &str) -> Option<(usize, Option<String>)> {
    let rest = line.trim_start().strip_prefix('[')?;
    let (depth, rest) = rest.split_once(']')?;
    let depth = depth.parse().ok()?;
    let node = rest.split_whitespace().next()?;
    Some((depth, node.strip_prefix('%').map(str::to_owned)))
}

/// The random functions name block `n` by the order in which they are written, so ids and names agree.
fn own_answers(function: &Function, cfg: &Cfg) -> Reference {
    let name = |block: BlockId| format!("b{}", block.0);
    let mut own = Reference::default();
    for block in function.blocks.ids() {
        own.parents.insert(name(block), cfg.ipdom(block).map(name));
    }
    for id in cfg.loops.ids() {
        let found = &cfg.loops[id];
        let set = found.blocks.iter().map(|block| name(*block)).collect();
        own.loops.insert((name(found.header), set));
    }
    own
}

#[test]
fn post_dominators_and_loops_agree_with_llvm() {
    let source: String = (0..400)
        .map(|seed| random_function(seed, 4 + seed % 20))
        .collect();
    let module = compile(&source);
    let answers = llvm_answers(&source);
    let (mut trees, mut forests) = (0, 0);
    for function in module.functions.rows() {
        let cfg = Cfg::of(function);
        let mut own = own_answers(function, &cfg);
        let reference = &answers[&function.name];
        let all_reachable = cfg.rpo.len() == function.blocks.len();
        let endless = has_endless_loop(function, &cfg);
        // LLVM picks another block of a loop without exit, and numbers unreachable blocks too: compare where neither occurs.
        if all_reachable && !endless {
            assert_eq!(own.parents, reference.parents, "{}", function.name);
            trees += 1;
        }
        // LLVM knows natural loops only.
        if cfg.loops.ids().all(|id| !cfg.loops[id].irreducible) {
            own.loops.retain(|(_, blocks)| !blocks.is_empty());
            assert_eq!(own.loops, reference.loops, "{}", function.name);
            forests += 1;
        }
    }
    assert!(trees > 150 && forests > 150, "compared {trees}, {forests}");
}

fn has_endless_loop(function: &Function, cfg: &Cfg) -> bool {
    let mut reaches = vec![false; function.blocks.len()];
    for _ in 0..function.blocks.len() {
        for block in function.blocks.ids() {
            let succs = &function.blocks[block].succs;
            reaches[block.0 as usize] |=
                succs.is_empty() || succs.iter().any(|succ| reaches[succ.0 as usize]);
        }
    }
    cfg.rpo.iter().any(|block| !reaches[block.0 as usize])
}

#[test]
fn every_cycle_contains_a_loop_header_of_its_innermost_loop() {
    let source: String = (1000..1200)
        .map(|seed| random_function(seed, 5 + seed % 15))
        .collect();
    let module = compile(&source);
    for function in module.functions.rows() {
        let cfg = Cfg::of(function);
        // Without the headers of all loops no cycle may be left.
        let is_header = |block: BlockId| cfg.loops.headed_by(block).is_some();
        let mut left: BTreeSet<BlockId> = cfg
            .rpo
            .iter()
            .copied()
            .filter(|block| !is_header(*block))
            .collect();
        loop {
            let leaf = left.iter().copied().find(|block| {
                !function.blocks[*block]
                    .succs
                    .iter()
                    .any(|succ| left.contains(succ))
            });
            match leaf {
                Some(leaf) => left.remove(&leaf),
                None => break,
            };
        }
        assert!(left.is_empty(), "{}: cycle without header", function.name);
    }
}

#[test]
fn definitions_dominate_uses() {
    let module = compile(
        r#"
        int f(int n, int *a) { int s = 0; for (int i = 0; i < n; i++) { if (a[i]) s += a[i]; else s--; } return s; }"#,
    );
    let function = &module.functions[func(&module, "f")];
    let cfg = Cfg::of(function);
    for (_, instr) in function.instrs.iter() {
        if matches!(instr.kind, crate::model::InstrKind::Phi(_)) {
            continue;
        }
        instr.kind.for_each_operand(|operand| {
            if let Value::Instr(used) = operand {
                assert!(cfg.dominates(function.instrs[*used].block, instr.block));
            }
        });
    }
}

#[test]
fn exit_0_is_the_return_of_a_function_without_one() {
    let (module, cfg) = cfg_of(
        r#"
        void exit(int) __attribute__((noreturn));
        int g;
        int main(int x, char **v) { if (x < 0) exit(0); g = x; if (x) g++; else exit(2); g++; exit(0); }"#,
        "main",
    );
    let function = &module.functions[func(&module, "main")];
    let entry = BlockId(0);
    let join = cfg.join(entry).expect("the survivors meet");
    assert!(!cfg.dies(join) && cfg.may_die(entry));
    assert_eq!(cfg.between(function, entry).len(), 1);
    assert_eq!(cfg.ipdom(entry), None);
}
