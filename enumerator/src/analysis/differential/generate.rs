//! Small race-free-by-order pthread programs from a number: pointers, structs, lists, function tables, locks, inputs.

use std::fmt::Write;

const PRELUDE: &str = r#"
#include <pthread.h>
void *malloc(unsigned long); void exit(int); int rand(void);
struct node { long key; struct node *next; pthread_mutex_t lock; int data[4]; int *link; };
pthread_mutex_t m0, m1, locks[4];
int g0, g1, g2, g3, arr[8]; int *gp0 = &g0, *gp1 = &arr[2];
struct node pool[3], *head;
static struct node *fresh(unsigned long size) { struct node *x = malloc(size); if (!x) exit(2); return x; }
static struct node *linked(int *link) { struct node *x = fresh(sizeof *x); x->link = link; return x; }
static int passed(struct node n, int a) {
  for (int i = 0; i < (a & 3); i++) n.data[i] += a;
  if (n.link) *n.link = n.data[0];
  n.link = &g3;
  if (n.data[1] > a) pthread_mutex_lock(&m1), pthread_mutex_unlock(&m1);
  return *n.link + n.data[a & 3];
}
static void take(pthread_mutex_t *k) { pthread_mutex_lock(k); }
static void give(pthread_mutex_t *k) { pthread_mutex_unlock(k); }
static void node_take(struct node *n) { take(&n->lock); }
static void node_give(struct node *n) { give(&n->lock); }
"#;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }

    fn pick<'a>(&mut self, items: &[&'a str]) -> &'a str {
        items[self.below(items.len() as u64) as usize]
    }
}

/// The source of program `number`.
pub(super) fn program(number: u64) -> String {
    let mut random = Random(number.wrapping_mul(0x9e3779b97f4a7c15) ^ 77);
    let mut text = PRELUDE.to_owned();
    let functions = 3 + random.below(3);
    for index in 0..functions {
        let _ = writeln!(
            text,
            "static int f{index}(int a, struct node *n, int *p) {{ int l = a; int *q = &l;"
        );
        block(&mut random, &mut text, index, 3);
        let _ = writeln!(text, "  return {}; }}", expression(&mut random, 2));
    }
    text.push_str("int (*table[])(int, struct node *, int *) = { f0, f1, f2 };\n");
    for index in 0..2 {
        let _ = writeln!(
            text,
            "static void *w{index}(void *given) {{ struct node *n = given; int a = (int)n->key, l = 1; int *p = gp1, *q = &l;"
        );
        block(&mut random, &mut text, functions, 2);
        text.push_str("  table[(unsigned)a % 3](a, n, p); return n->link; }\n");
    }
    text.push_str("int main(void) { struct node *n = &pool[0]; int a = rand(), l = 2; int *p = &g1, *q = &l; pthread_t t, t0, t1; void *r;\n");
    block(&mut random, &mut text, functions, 2);
    for index in 0..2 {
        let given = random.pick(&["&pool[0]", "&pool[1]", "n", "(head ? head : &pool[2])"]);
        let _ = writeln!(
            text,
            "  if ({}) {{ pthread_create(&t, 0, w{index}, {given}); pthread_join(t, &r); if (r) *(int *)r = a; }}",
            condition(&mut random)
        );
    }
    text.push_str("  pthread_create(&t0, 0, w0, &pool[0]);\n");
    block(&mut random, &mut text, functions, 1);
    if random.below(2) == 0 {
        text.push_str("  pthread_join(t0, 0);\n");
    }
    text.push_str("  pthread_create(&t1, 0, w1, &pool[1]);\n");
    block(&mut random, &mut text, functions, 1);
    text.push_str("  pthread_join(t1, 0);\n");
    block(&mut random, &mut text, functions, 1);
    text.push_str("  return 0; }\n");
    text
}

fn block(random: &mut Random, text: &mut String, callable: u64, depth: u32) {
    for _ in 0..2 + random.below(3) {
        statement(random, text, callable, depth);
    }
}

fn statement(random: &mut Random, text: &mut String, callable: u64, depth: u32) {
    let value = expression(random, 2);
    let other = expression(random, 1);
    match random.below(if depth > 0 { 21 } else { 10 }) {
        0 => {
            let name = random.pick(&["g0", "g1", "g2", "g3", "l", "a"]);
            let _ = writeln!(text, "  {name} = {value};");
        }
        1 => {
            let _ = writeln!(text, "  arr[({other}) & 7] = {value};");
        }
        2 => {
            let pointer = random.pick(&["p", "q", "gp0", "gp1"]);
            let _ = writeln!(text, "  *{pointer} = {value};");
        }
        3 => {
            let _ = writeln!(
                text,
                "  n->key = {value}; n->data[({other}) & 3] = {value};"
            );
        }
        4 => {
            let target = random.pick(&["gp0", "gp1", "n->link"]);
            let source = random.pick(&[
                "&g0",
                "&g2",
                "&arr[1]",
                "&arr[(a) & 7]",
                "&pool[1].data[2]",
                "gp0",
            ]);
            let _ = writeln!(text, "  {target} = {source};");
        }
        5 => {
            let _ = writeln!(text, "  if (n->link) *n->link = {value};");
        }
        6 => {
            let source = random.pick(&["gp0", "gp1", "&g3", "p", "n->data"]);
            let _ = writeln!(text, "  q = {source};");
        }
        7 if random.below(2) == 0 => {
            let link = random.pick(&["&g1", "&g2", "gp0"]);
            let _ = writeln!(
                text,
                "  {{ struct node *x = linked({link}), *y = fresh(sizeof *y); y->next = head; y->key = *x->link; head = y; n = x; }}"
            );
        }
        7 => {
            text.push_str("  { struct node *x = malloc(sizeof *x); x->next = head; x->link = &g1; x->key = a; head = x; }\n");
        }
        8 => {
            let _ = writeln!(text, "  if (({value}) == 13) exit(1);");
        }
        9 if random.below(2) == 0 => text.push_str("  a += passed(*n, a);\n"),
        9 => text.push_str("  pool[1].data[1] = pool[0].data[0]; pool[2] = pool[1];\n"),
        10 | 11 => {
            let _ = writeln!(text, "  if ({}) {{", condition(random));
            block(random, text, callable, depth - 1);
            text.push_str("  } else {\n");
            block(random, text, callable, depth - 1);
            text.push_str("  }\n");
        }
        12 => {
            let bound = random.pick(&["2", "3", "(a & 3)", "(g1 & 1)"]);
            let _ = writeln!(
                text,
                "  for (int i{depth} = 0; i{depth} < {bound}; i{depth}++) {{"
            );
            block(random, text, callable, depth - 1);
            text.push_str("  }\n");
        }
        13 | 14 => {
            let lock = random.pick(&[
                "&m0",
                "&m1",
                "&locks[a & 3]",
                "&locks[1]",
                "&n->lock",
                "&pool[1].lock",
            ]);
            let _ = writeln!(
                text,
                "  {{ pthread_mutex_t *k = {lock}; pthread_mutex_lock(k);"
            );
            block(random, text, callable, depth - 1);
            text.push_str("  pthread_mutex_unlock(k); }\n");
        }
        15 => {
            text.push_str(
                "  for (struct node *t = head; t; t = t->next) { pthread_mutex_lock(&t->lock); t->key++; pthread_mutex_unlock(&t->lock); }\n",
            );
        }
        17 => {
            let lock = random.pick(&["&m0", "&locks[a & 3]", "&pool[1].lock", "&n->lock"]);
            let _ = writeln!(text, "  {{ pthread_mutex_t *k = {lock}; take(k);");
            block(random, text, callable, depth - 1);
            text.push_str("  give(k); }\n");
        }
        18 => {
            text.push_str("  { struct node *k = n; node_take(k);\n");
            block(random, text, callable, depth - 1);
            text.push_str("  node_give(k); }\n");
        }
        19 => {
            // Some stay locked.
            let keep = condition(random);
            let _ = writeln!(
                text,
                "  for (int i{depth} = 0; i{depth} < 3; i{depth}++) {{ pthread_mutex_lock(&locks[i{depth}]); if ({keep}) pthread_mutex_unlock(&locks[i{depth}]); }}"
            );
        }
        16 if callable > 0 => {
            let target = random.below(callable);
            let node = random.pick(&["n", "&pool[1]", "(head ? head : n)"]);
            let pointer = random.pick(&["p", "q", "&l", "gp0"]);
            let _ = writeln!(text, "  a += f{target}({value}, {node}, {pointer});");
        }
        _ => {
            let _ = writeln!(
                text,
                "  switch ({value}) {{ case 1: g0++; break; case 2: pthread_mutex_lock(&m1); pthread_mutex_unlock(&m1); default: g1--; }}"
            );
        }
    }
}

fn condition(random: &mut Random) -> String {
    let (left, right) = (expression(random, 1), expression(random, 1));
    let operator = random.pick(&["<", "==", "!=", ">="]);
    format!("{left} {operator} {right}")
}

fn expression(random: &mut Random, depth: u32) -> String {
    if depth == 0 || random.below(3) == 0 {
        return random
            .pick(&[
                "1",
                "5",
                "a",
                "g0",
                "g1",
                "g2",
                "l",
                "*p",
                "*q",
                "*gp0",
                "arr[a & 7]",
                "(int)n->key",
                "n->data[1]",
                "rand()",
            ])
            .to_owned();
    }
    let (left, right) = (expression(random, depth - 1), expression(random, depth - 1));
    let operator = random.pick(&["+", "-", "*", "^", "&"]);
    format!("({left} {operator} {right})")
}
