//! Statements and expressions as C.

use super::super::program::{Block, Expr, MOST_WORK, Mutex, Op, Place, Stmt, Storage};
use super::{Kind, Printer};

impl Printer<'_> {
    pub(super) fn block(&mut self, block: &Block) {
        for stmt in block {
            self.stmt(stmt);
        }
    }

    fn braced(&mut self, head: &str, block: &Block) {
        self.line(format!("{head} {{"));
        self.indent += 1;
        self.block(block);
        self.indent -= 1;
        self.line("}");
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Set(place, value) => self.set(*place, value),
            Stmt::Section(mutex, body) => self.section(mutex, body),
            Stmt::Try(k, then, otherwise) => {
                let m = self.of_mutex("m", &k.to_string());
                self.line(format!("if (pthread_mutex_trylock(&{m}) == 0) {{"));
                self.indent += 1;
                self.locks.push(k.to_string());
                self.block(then);
                self.locks.pop();
                self.line(format!("pthread_mutex_unlock(&{m});"));
                self.indent -= 1;
                self.braced("} else", otherwise);
            }
            Stmt::If(test, then, otherwise) => {
                let head = format!("if ({})", self.expr(test));
                if otherwise.is_empty() {
                    self.braced(&head, then);
                } else {
                    self.line(format!("{head} {{"));
                    self.indent += 1;
                    self.block(then);
                    self.indent -= 1;
                    self.braced("} else", otherwise);
                }
            }
            Stmt::Repeat {
                times,
                body,
                unless,
            } => self.repeat(times, body, unless.as_ref()),
            Stmt::Parallel {
                first,
                count,
                some,
                body,
            } => self.parallel(*first, *count, some.as_ref(), body),
            Stmt::Fill(work, value) => {
                let (work, value) = (self.at(&format!("v[{work}]")), self.expr(value));
                self.line(format!("{work} = {value} & {MOST_WORK}u;"));
            }
            Stmt::Drain { work, mutex, body } => self.drain(*work, *mutex, body),
            Stmt::Read(into) => self.line(format!("l{into} = next();")),
            Stmt::Await(k, until) => {
                let m = self.of_mutex("m", &k.to_string());
                let c = self.at(&format!("c[{k}]"));
                let until = self.expr(until);
                self.line(format!("while (!{until}) pthread_cond_wait(&{c}, &{m});"));
            }
            Stmt::Wake { cond, all } => {
                let c = self.at(&format!("c[{cond}]"));
                let name = if *all { "broadcast" } else { "signal" };
                self.line(format!("pthread_cond_{name}(&{c});"));
            }
            Stmt::SemWait(k) => {
                let s = self.at(&format!("s[{k}]"));
                self.line(format!("sem_wait(&{s});"));
            }
            Stmt::SemPost(k) => {
                let s = self.at(&format!("s[{k}]"));
                self.line(format!("sem_post(&{s});"));
            }
            Stmt::Barrier(k) => {
                let b = self.at(&format!("b[{k}]"));
                self.line(format!("pthread_barrier_wait(&{b});"));
            }
            Stmt::ReadWrite { lock, write, body } => {
                let rw = self.at(&format!("rw[{lock}]"));
                let kind = if *write { "wr" } else { "rd" };
                self.line(format!("pthread_rwlock_{kind}lock(&{rw});"));
                self.block(body);
                self.line(format!("pthread_rwlock_unlock(&{rw});"));
            }
            Stmt::Once(k) => self.line(format!("pthread_once(&once{k}, init{k});")),
            Stmt::Call {
                helper,
                argument,
                into,
            } => {
                let (world, argument) = (self.world_argument(), self.expr(argument));
                self.line(format!("l{into} = helper{helper}({world}arg, {argument});"));
            }
            Stmt::Recurse {
                function,
                depth,
                argument,
                into,
            } => {
                let bound = match self.program.is_bare(depth) {
                    true => "",
                    false => " & 3u",
                };
                let (world, depth) = (self.world_argument(), self.expr(depth));
                let argument = self.expr(argument);
                self.line(format!(
                    "l{into} = recursive{function}({world}arg, {depth}{bound}, {argument});"
                ));
            }
            Stmt::Return => match self.kind {
                Kind::Thread => self.line("return NULL;"),
                Kind::Helper => self.line("return l0;"),
                Kind::Main | Kind::Once => unreachable!("the generator makes none there"),
            },
            Stmt::Exit(status) => self.line(format!("exit({status});")),
        }
    }

    fn repeat(&mut self, times: &Expr, body: &Block, unless: Option<&Expr>) {
        let i = self.fresh_name("i");
        let bound = match self.program.is_bare(times) {
            true => "",
            false => " & 7u",
        };
        let times = self.expr(times);
        self.line(format!(
            "for (unsigned {i} = {times}{bound}; {i} != 0u; {i}--) {{"
        ));
        self.indent += 1;
        self.block(body);
        if let Some(unless) = unless {
            let unless = self.expr(unless);
            self.line(format!("if ({unless}) break;"));
        }
        self.indent -= 1;
        self.line("}");
    }

    fn drain(&mut self, work: u8, mutex: u8, body: &Block) {
        let work = self.at(&format!("v[{work}]"));
        let m = self.of_mutex("m", &mutex.to_string());
        self.line("for (;;) {");
        self.indent += 1;
        self.line(format!("pthread_mutex_lock(&{m});"));
        self.line(format!("if ({work} == 0u) {{"));
        self.line(format!("    pthread_mutex_unlock(&{m});"));
        self.line("    break;");
        self.line("}");
        self.line(format!("{work}--;"));
        self.line(format!("pthread_mutex_unlock(&{m});"));
        self.block(body);
        self.indent -= 1;
        self.line("}");
    }

    fn set(&mut self, place: Place, value: &Expr) {
        let value = self.expr(value);
        let text = match place {
            Place::Local(l) => format!("l{l} = {value};"),
            Place::Shared(v) => format!("{} = {value};", self.at(&format!("v[{v}]"))),
            Place::Mine => format!("{} = {value};", self.at("mine[arg]")),
            Place::Own => {
                let k = self.locks.last().expect("inside a section");
                let own = self.of_mutex("own", k);
                format!("{own} = {own} * 3u + {value};")
            }
        };
        self.line(text);
    }

    fn section(&mut self, mutex: &Mutex, body: &Block) {
        let (index, opened) = match mutex {
            Mutex::Fixed(k) => (k.to_string(), false),
            Mutex::Chosen { by, a, b } => {
                let k = self.fresh_name("k");
                let by = self.expr(by);
                self.line("{");
                self.indent += 1;
                self.line(format!("unsigned {k} = {by} & 1u ? {b}u : {a}u;"));
                if self.program.lock_pointers {
                    let (a, b) = (a.to_string(), b.to_string());
                    let (a, b) = (self.of_mutex("m", &a), self.of_mutex("m", &b));
                    self.line(format!("pthread_mutex_t *p{k} = {by} & 1u ? &{b} : &{a};"));
                }
                (k, true)
            }
        };
        let m = match opened && self.program.lock_pointers {
            true => format!("*p{index}"),
            false => self.of_mutex("m", &index),
        };
        let (lock, unlock) = match self.program.lock_by_function {
            true => ("take", "release"),
            false => ("pthread_mutex_lock", "pthread_mutex_unlock"),
        };
        self.line(format!("{lock}(&{m});"));
        self.locks.push(index);
        self.block(body);
        self.locks.pop();
        self.line(format!("{unlock}(&{m});"));
        if opened {
            self.indent -= 1;
            self.line("}");
        }
    }

    fn parallel(&mut self, first: u8, count: u8, some: Option<&Expr>, body: &Block) {
        let bodies: Vec<u8> = (first..first + count)
            .map(|t| self.program.threads[usize::from(t)])
            .collect();
        let same = bodies.windows(2).all(|pair| pair[0] == pair[1]);
        let thread = self.at("thread");
        let last = some.map(|some| {
            let (last, some) = (self.fresh_name("last"), self.expr(some));
            self.line(format!("unsigned {last} = {some} % {count}u;"));
            last
        });
        if (self.program.create_in_loop || last.is_some()) && same && count > 1 {
            let i = self.fresh_name("i");
            let end = match &last {
                Some(last) => format!("{i} <= {first}u + {last}"),
                None => format!("{i} < {}u", first + count),
            };
            let head = format!("for (unsigned {i} = {first}u; {end}; {i}++)");
            self.line(format!("{head} {{"));
            self.indent += 1;
            self.create(&i, bodies[0]);
            self.indent -= 1;
            self.line("}");
            self.block(body);
            self.line(format!("{head} pthread_join({thread}[{i}], NULL);"));
            return;
        }
        for (k, body) in bodies.iter().enumerate() {
            let t = usize::from(first) + k;
            match last.as_ref().filter(|_| k > 0) {
                Some(last) => {
                    self.line(format!("if ({}u < {last}) {{", k - 1));
                    self.indent += 1;
                    self.create(&format!("{t}u"), *body);
                    self.indent -= 1;
                    self.line("}");
                }
                None => self.create(&format!("{t}u"), *body),
            }
        }
        self.block(body);
        for k in 0..count {
            let condition = match last.as_ref().filter(|_| k > 0) {
                Some(last) => format!("if ({}u < {last}) ", k - 1),
                None => String::new(),
            };
            let t = first + k;
            self.line(format!("{condition}pthread_join({thread}[{t}], NULL);"));
        }
    }

    fn create(&mut self, index: &str, body: u8) {
        let thread = self.at("thread");
        let argument = if self.program.storage == Storage::Passed {
            self.line(format!("starts[{index}].w = w;"));
            self.line(format!("starts[{index}].arg = {index};"));
            format!("&starts[{index}]")
        } else {
            format!("(void *)(uintptr_t){index}")
        };
        self.line(format!(
            "pthread_create(&{thread}[{index}], NULL, body{body}, {argument});"
        ));
    }

    fn expr(&self, expr: &Expr) -> String {
        match expr {
            Expr::Const(value) => format!("{value}u"),
            Expr::Input(k) => self.at(&format!("input[{k}]")),
            Expr::Fresh(k) => format!("fresh({k})"),
            Expr::FreshAt(index) => {
                let count = self.program.inputs.max(1);
                format!("fresh({} % {count}u)", self.expr(index))
            }
            Expr::Arg => "arg".to_owned(),
            Expr::Local(l) => format!("l{l}"),
            Expr::Shared(v) => self.at(&format!("v[{v}]")),
            Expr::Mine => self.at("mine[arg]"),
            Expr::Slot(i) => self.at(&format!("mine[{i}]")),
            Expr::Bin(op, a, b) => {
                let text = format!("({} {} {})", self.expr(a), op.text(), self.expr(b));
                match op {
                    Op::Eq | Op::Ne | Op::Lt => format!("(unsigned){text}"),
                    _ => text,
                }
            }
        }
    }
}
