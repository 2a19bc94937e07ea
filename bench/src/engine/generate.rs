//! Random sequential C programs without undefined behaviour, small enough to run a thousand times.
//!
//! They go where the engine can go wrong: widths and signs, shifts and divisions, arrays with computed indices, structs with odd
//! layouts, unions, pointers into arrays and to chosen variables, function pointers, loops with breaks, recursion, switches, copies.
//! Every index is masked, every divisor made odd, every shift masked, every loop bounded.
//!
//! With `inputs`, some variables are declared unknown through `heddle_input`, and loops stay short: paths are to be few.

use std::fmt::Write as _;

use crate::soundness::random::Random;

const TYPES: &[&str] = &[
    "signed char",
    "unsigned char",
    "short",
    "unsigned short",
    "int",
    "unsigned",
    "long",
    "unsigned long",
];

/// The inputs of a program made with `inputs`: name and size in bytes.
pub const INPUTS: &[(&str, usize)] = &[("in0", 4), ("in1", 1), ("in2", 8)];

/// The program of a seed.
pub fn program(seed: u64, inputs: bool) -> String {
    let mut writer = Writer {
        random: Random::new(seed.wrapping_mul(2).wrapping_add(inputs.into())),
        out: String::new(),
        indent: 0,
        loops: 0,
        inputs,
    };
    writer.whole();
    writer.out
}

struct Writer {
    random: Random,
    out: String,
    indent: usize,
    loops: usize,
    inputs: bool,
}

const HEAD: &str = r#"#include <string.h>
#include "heddle.h"
struct pair { signed char c; short s; int i; long l; };
struct nest { struct pair p[3]; unsigned char tail[5]; };
union both { unsigned long word; unsigned char bytes[8]; struct { short a, b; int c; } parts; };
static struct pair pa, pb;
static struct nest na, nb;
static union both ua;
static int array[16] = {3, 1, 4, 1, 5, 9, 2, 6};
static unsigned char bytes[32];
static long grid[4][4];
static double real = 0.5;
static float small = 1.25f;
static int *chosen = &array[3];
static struct pair *which = &pa;
static long depth_sum;
static volatile int noisy;
"#;

impl Writer {
    fn line(&mut self, text: &str) {
        for _ in 0..self.indent {
            self.out.push_str("    ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn whole(&mut self) {
        self.out.push_str(HEAD);
        for index in 0..6 {
            let ty = self.random.pick(TYPES);
            let value = self.number();
            self.line(&format!("static {ty} g{index} = ({ty}){value};"));
        }
        self.line("static unsigned in0; static unsigned char in1; static unsigned long in2;");
        self.line("static long recurse(long n, int k) { depth_sum += n ^ k; return n <= 0 ? k : recurse(n - 1, k * 3 + (int)n) + 1; }");
        self.line("static int f_add(int a, int b) { return (int)((unsigned)a + (unsigned)b); }");
        self.line("static int f_mix(int a, int b) { return a ^ (b >> 3); }");
        self.line("static int (*table[2])(int, int) = {f_add, f_mix};");
        for index in 0..3 {
            self.function(index);
        }
        self.main();
    }

    fn function(&mut self, index: usize) {
        self.line(&format!(
            "static long f{index}(long a, int b, struct pair by_value) {{"
        ));
        self.indent += 1;
        self.line("long l0 = a, l1 = b; unsigned char l2 = (unsigned char)b;");
        let count = 2 + self.random.below(3);
        for _ in 0..count {
            self.statement(2, index);
        }
        let value = self.expression(2);
        self.line(&format!("return {value} + by_value.i;"));
        self.indent -= 1;
        self.line("}");
    }

    fn main(&mut self) {
        self.line("int main(void) {");
        self.indent += 1;
        self.line("long a = 7, l0 = 1, l1 = 2; int b = 3; unsigned char l2 = 4; struct pair by_value = {1, 2, 3, 4};");
        if self.inputs {
            for (name, size) in INPUTS {
                self.line(&format!("heddle_input(&{name}, {size}, \"{name}\");"));
            }
            let assume = self.random.one_in(3);
            if assume {
                self.line("heddle_assume(in1 < 100);");
            }
        }
        let count = if self.inputs { 4 } else { 10 };
        for _ in 0..count {
            self.statement(3, 3);
        }
        self.line("real = real * 3.0 + (double)g0; small = small / 3.0f - (float)g1;");
        self.line("return (int)((l0 ^ l1 ^ g0) & 127);");
        self.indent -= 1;
        self.line("}");
    }

    /// A statement; functions below `callable` may be called.
    fn statement(&mut self, depth: usize, callable: usize) {
        let deep = depth > 0;
        match self.random.below(if deep { 18 } else { 10 }) {
            0..=3 => {
                let (to, value) = (self.place(), self.expression(3));
                self.line(&format!("{to} = {value};"));
            }
            4 => {
                let (to, value) = (self.place(), self.expression(2));
                let op = self.random.pick(&["+=", "-=", "^=", "|=", "&="]);
                // Through unsigned: no overflow is undefined.
                self.line(&format!("{to} {op} ({value}) & 0xff;"));
            }
            5 => {
                let index = self.index(16);
                self.line(&format!("chosen = &array[{index}];"));
            }
            6 => {
                let condition = self.condition();
                self.line(&format!("which = {condition} ? &pa : &na.p[1];"));
            }
            7 => self.copy(),
            8 => {
                let value = self.expression(2);
                self.line(&format!("noisy = (int)({value}); g1 ^= noisy;"));
            }
            9 => {
                let (index, a, b) = (self.index(2), self.expression(1), self.expression(1));
                self.line(&format!("g2 = table[{index}]((int)({a}), (int)({b}));"));
            }
            10..=12 => self.branch(depth, callable),
            13 | 14 => self.repeat(depth, callable),
            15 => self.switch(depth, callable),
            16 if callable > 0 => {
                let to = self.random.pick(&["l0", "l1", "g3"]);
                let (callee, a, b) = (
                    self.random.below(callable),
                    self.expression(1),
                    self.expression(1),
                );
                let by_value = self.random.pick(&["pa", "pb", "na.p[2]", "*which"]);
                self.line(&format!("{to} = f{callee}({a}, (int)({b}), {by_value});"));
            }
            _ => {
                let n = self.random.below(5);
                let k = self.expression(1);
                self.line(&format!("g4 = recurse({n}, (int)(({k}) & 0xfff));"));
            }
        }
    }

    fn block(&mut self, depth: usize, callable: usize) {
        self.indent += 1;
        for _ in 0..1 + self.random.below(2) {
            self.statement(depth - 1, callable);
        }
        self.indent -= 1;
    }

    fn branch(&mut self, depth: usize, callable: usize) {
        let condition = self.condition();
        self.line(&format!("if ({condition}) {{"));
        self.block(depth, callable);
        if self.random.one_in(2) {
            self.line("} else {");
            self.block(depth, callable);
        }
        self.line("}");
    }

    fn repeat(&mut self, depth: usize, callable: usize) {
        let most = if self.inputs { 2 } else { 9 };
        let (times, index) = (1 + self.random.below(most), self.loops);
        self.loops += 1;
        self.line(&format!(
            "for (int i{index} = 0; i{index} < {times}; i{index}++) {{"
        ));
        self.indent += 1;
        self.line(&format!(
            "array[(i{index} + b) & 15] ^= (int)(i{index} * 7 + (int)(l0 & 0xff));"
        ));
        if self.random.one_in(3) {
            let condition = self.condition();
            let leave = self.random.pick(&["break", "continue"]);
            self.line(&format!("if ({condition}) {leave};"));
        }
        self.indent -= 1;
        self.block(depth, callable);
        self.line("}");
    }

    fn switch(&mut self, depth: usize, callable: usize) {
        let value = self.expression(1);
        self.line(&format!("switch (({value}) & 3) {{"));
        for case in 0..3 {
            self.line(&format!("case {case}:"));
            self.block(depth, callable);
            if self.random.one_in(2) {
                self.line("    break;");
            }
        }
        self.line("}");
    }

    fn copy(&mut self) {
        let text = match self.random.below(6) {
            0 => "pb = *which;".to_owned(),
            1 => "nb = na;".to_owned(),
            2 => format!("memcpy(bytes + {}, &pa, sizeof pa);", self.random.below(8)),
            3 => format!(
                "memmove(bytes + {}, bytes + {}, {});",
                self.random.below(8),
                self.random.below(8),
                1 + self.random.below(16)
            ),
            4 => format!(
                "memset(bytes + {}, {}, {});",
                self.random.below(8),
                self.random.below(256),
                self.random.below(24)
            ),
            _ => "na.p[0] = pb;".to_owned(),
        };
        self.line(&text);
    }

    /// Something that can be assigned to.
    fn place(&mut self) -> String {
        match self.random.below(16) {
            0..=3 => format!("g{}", self.random.below(6)),
            4 => "l0".to_owned(),
            5 => "l1".to_owned(),
            6 => "l2".to_owned(),
            7 => format!("array[{}]", self.index(16)),
            8 => format!("bytes[{}]", self.index(32)),
            9 => format!("grid[{}][{}]", self.index(4), self.index(4)),
            10 => "*chosen".to_owned(),
            11 => format!("which->{}", self.random.pick(&["c", "s", "i", "l"])),
            12 => format!("na.p[{}].s", self.random.below(3)),
            13 => format!("na.tail[{}]", self.random.below(5)),
            14 => format!("ua.bytes[{}]", self.index(8)),
            _ => self
                .random
                .pick(&["ua.word", "ua.parts.b", "ua.parts.c", "pb.l"])
                .to_owned(),
        }
    }

    fn number(&mut self) -> String {
        match self.random.below(5) {
            0 => format!("{}", self.random.below(10)),
            1 => format!("-{}", 1 + self.random.below(200)),
            2 => format!("0x{:x}ul", self.random.bits()),
            3 => format!("{}u", self.random.bits() as u32),
            _ => format!("{}", self.random.below(70000)),
        }
    }

    fn leaf(&mut self) -> String {
        if self.inputs && self.random.one_in(2) {
            return self.random.pick(INPUTS).0.to_owned();
        }
        match self.random.below(4) {
            0 => self.number(),
            1 => self.random.pick(&["a", "b", "by_value.l"]).to_owned(),
            _ => self.place(),
        }
    }

    fn index(&mut self, size: usize) -> String {
        // An unknown index forks or widens: fewer of those.
        if self.inputs && !self.random.one_in(4) {
            return self.random.below(size).to_string();
        }
        let leaf = self.leaf();
        format!("({leaf}) & {}", size - 1)
    }

    /// A value of an unsigned or long type; nothing in it is undefined.
    fn expression(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.leaf();
        }
        let (a, b) = (self.expression(depth - 1), self.expression(depth - 1));
        match self.random.below(12) {
            0..=2 => {
                let op = self.random.pick(&["+", "-", "*"]);
                let ty = self.random.pick(&["unsigned", "unsigned long"]);
                format!("(({ty})({a}) {op} ({ty})({b}))")
            }
            3 => {
                let op = self.random.pick(&["&", "|", "^"]);
                format!("(({a}) {op} ({b}))")
            }
            4 => {
                let op = self.random.pick(&["<<", ">>"]);
                format!("((unsigned long)({a}) {op} (({b}) & 31))")
            }
            5 => format!("((int)({a}) >> (({b}) & 15))"),
            6 => {
                let op = self.random.pick(&["/", "%"]);
                format!("((unsigned)({a}) {op} ((unsigned)({b}) | 1u))")
            }
            7 => {
                let op = self.random.pick(&["/", "%"]);
                format!("((long)(int)({a}) {op} ((long)(short)({b}) | 1))")
            }
            8 => {
                let ty = self.random.pick(TYPES);
                format!("(({ty})({a}))")
            }
            9 => {
                let condition = self.condition();
                format!("({condition} ? ({a}) : ({b}))")
            }
            10 => format!("(~({a}))"),
            _ => a,
        }
    }

    fn condition(&mut self) -> String {
        let mut text = String::new();
        let op = self.random.pick(&["<", "<=", ">", ">=", "==", "!="]);
        let (a, b) = (self.expression(1), self.leaf());
        let _ = write!(text, "(({a}) {op} ({b}))");
        if self.random.one_in(4) {
            let more = self.leaf();
            let both = self.random.pick(&["&&", "||"]);
            let _ = write!(text, " {both} ({more})");
            text = format!("({text})");
        }
        text
    }
}
