//! Generated programs as C.
//!
//! Here: the file, what is shared, functions. `stmt` has what stands in them.

mod stmt;

use std::fmt::Write as _;

use super::program::{Guard, LOCALS, Program, Source, Storage};

/// The C source.
pub fn c_source(program: &Program, note: &str) -> String {
    let mut printer = Printer {
        program,
        out: String::new(),
        indent: 0,
        names: 0,
        locks: Vec::new(),
        kind: Kind::Main,
    };
    printer.file(note);
    printer.out
}

/// What kind of function is being printed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Main,
    Thread,
    Helper,
    Once,
}

struct Printer<'a> {
    program: &'a Program,
    out: String,
    indent: usize,
    names: u32,
    /// Index expressions of the mutexes held.
    locks: Vec<String>,
    kind: Kind,
}

impl Printer<'_> {
    fn line(&mut self, text: impl AsRef<str>) {
        let indent = "    ".repeat(self.indent);
        let _ = writeln!(self.out, "{indent}{}", text.as_ref());
    }

    fn fresh_name(&mut self, stem: &str) -> String {
        self.names += 1;
        format!("{stem}{}", self.names)
    }

    /// A member of the shared state.
    fn at(&self, member: &str) -> String {
        match self.program.storage {
            Storage::Globals | Storage::Linked => member.to_owned(),
            Storage::Heap | Storage::Passed => format!("w->{member}"),
        }
    }

    fn is_heap(&self) -> bool {
        matches!(self.program.storage, Storage::Heap | Storage::Passed)
    }

    fn is_linked(&self) -> bool {
        self.program.storage == Storage::Linked
    }

    /// A mutex, or what belongs to it, by the text of its number.
    fn of_mutex(&self, member: &str, index: &str) -> String {
        match self.is_linked() {
            true => format!("cell({index})->{member}"),
            false => self.at(&format!("{member}[{index}]")),
        }
    }

    fn file(&mut self, note: &str) {
        self.line(format!("/* {note} */"));
        self.line("#define _GNU_SOURCE");
        for header in [
            "pthread.h",
            "semaphore.h",
            "stdint.h",
            "stdio.h",
            "stdlib.h",
            "fcntl.h",
            "unistd.h",
        ] {
            self.line(format!("#include <{header}>"));
        }
        self.line("");
        self.shared_state();
        self.inputs();
        if self.program.lock_by_function {
            self.line("static void take(pthread_mutex_t *m) { pthread_mutex_lock(m); }");
            self.line("static void release(pthread_mutex_t *m) { pthread_mutex_unlock(m); }");
        }
        for k in 0..self.program.onces.len() {
            self.once(k);
        }
        for k in 0..self.program.helpers.len() {
            self.helper(k);
        }
        for k in 0..self.program.recursives.len() {
            self.recursive(k);
        }
        // A body may create threads that run any other body.
        for k in 0..self.program.bodies.len() {
            self.line(format!("static void *body{k}(void *);"));
        }
        for k in 0..self.program.bodies.len() {
            self.body(k);
        }
        self.main();
    }

    /// How inputs are read, also while threads run.
    fn inputs(&mut self) {
        let reduced = match self.program.raw_inputs {
            true => String::new(),
            false => format!(" % {}u", self.program.domain),
        };
        match self.program.source {
            Source::Arguments => {
                self.line("static int the_argc;");
                self.line("static char **the_argv;");
                self.line("static unsigned fresh(unsigned k) {");
                self.line("    if (the_argc <= 1 + (int)k) return 0u;");
                self.line(format!(
                    "    return (unsigned)atoi(the_argv[1 + k]){reduced};"
                ));
            }
            Source::File => {
                self.line("static int the_file;");
                self.line("static unsigned fresh(unsigned k) {");
                self.line("    unsigned char digit = '0';");
                self.line("    if (pread(the_file, &digit, 1, (off_t)k) != 1) return 0u;");
                self.line(format!("    return (unsigned)(digit - '0'){reduced};"));
            }
        }
        self.line("}");
        if !self.program.reads() {
            return;
        }
        match self.program.source {
            Source::Arguments => {
                self.line("static unsigned position;");
                self.line("static unsigned next(void) { return fresh(position++); }");
            }
            Source::File => {
                self.line("static unsigned next(void) {");
                self.line("    char digit;");
                self.line("    if (read(the_file, &digit, 1) != 1) return 0u;");
                self.line(format!("    return (unsigned)(digit - '0'){reduced};"));
                self.line("}");
            }
        }
    }

    fn shared_state(&mut self) {
        let p = self.program;
        let at_least_one = |n: usize| n.max(1);
        let mutexes = at_least_one(p.mutexes.into());
        let rwlocks = at_least_one(p.rwlocks.into());
        let members = [
            format!("pthread_mutex_t m[{mutexes}]"),
            format!("pthread_cond_t c[{mutexes}]"),
            format!("pthread_rwlock_t rw[{rwlocks}]"),
            format!("sem_t s[{}]", at_least_one(p.semaphores.len())),
            format!("pthread_barrier_t b[{}]", at_least_one(p.barriers.len())),
            format!("pthread_t thread[{}]", at_least_one(p.threads.len())),
            format!("unsigned input[{}]", at_least_one(p.inputs.into())),
            format!("unsigned v[{}]", at_least_one(p.guards.len())),
            format!("unsigned own[{mutexes}]"),
            format!("unsigned mine[{}]", at_least_one(p.threads.len())),
        ];
        for (v, guard) in p.guards.iter().enumerate() {
            let text = match guard {
                Guard::Main => "main, while it is alone".to_owned(),
                Guard::Mutex(k) => format!("m[{k}]"),
                Guard::ReadWrite(k) => format!("rw[{k}]"),
                Guard::Work(k) => format!("m[{k}], and is what is left to do"),
                Guard::Flag(k) => format!("m[{k}], and counts wake-ups"),
            };
            self.line(format!("/* v[{v}] is guarded by {text} */"));
        }
        if self.is_heap() {
            self.line("struct world {");
            for member in members {
                self.line(format!("    {member};"));
            }
            self.line("};");
            self.line("static struct world *the_world;");
            if p.storage == Storage::Passed {
                self.line("struct start { struct world *w; unsigned arg; };");
                self.line(format!(
                    "static struct start starts[{}];",
                    at_least_one(p.threads.len())
                ));
            } else {
                self.line("#define w the_world");
            }
        } else {
            for (i, member) in members.iter().enumerate() {
                let initial = match i {
                    0 => initializers("PTHREAD_MUTEX_INITIALIZER", mutexes),
                    1 => initializers("PTHREAD_COND_INITIALIZER", mutexes),
                    2 => initializers("PTHREAD_RWLOCK_INITIALIZER", rwlocks),
                    _ => String::new(),
                };
                if self.is_linked() && (i == 0 || member.starts_with("unsigned own")) {
                    continue;
                }
                self.line(format!("static {member}{initial};"));
            }
        }
        if self.is_linked() {
            self.line("struct cell { pthread_mutex_t m; unsigned own; struct cell *next; };");
            self.line("static struct cell *the_cells;");
            self.line("static struct cell *cell(unsigned k) {");
            self.line("    struct cell *c = the_cells;");
            self.line("    while (k-- != 0u) c = c->next;");
            self.line("    return c;");
            self.line("}");
        }
        for k in 0..p.onces.len() {
            self.line(format!(
                "static pthread_once_t once{k} = PTHREAD_ONCE_INIT;"
            ));
        }
    }

    fn locals(&mut self) {
        let names: Vec<String> = (0..LOCALS).map(|l| format!("l{l} = 0u")).collect();
        self.line(format!("unsigned {};", names.join(", ")));
    }

    fn once(&mut self, k: usize) {
        self.kind = Kind::Once;
        self.line(format!("static void init{k}(void) {{"));
        self.indent = 1;
        if self.program.storage == Storage::Passed {
            self.line("struct world *w = the_world;");
        }
        self.line("unsigned arg = 0u;");
        self.locals();
        self.block(&self.program.onces[k]);
        self.indent = 0;
        self.line("}");
    }

    fn helper(&mut self, k: usize) {
        self.kind = Kind::Helper;
        let world = self.world_parameter();
        self.line(format!(
            "static unsigned helper{k}({world}unsigned arg, unsigned l0) {{"
        ));
        self.indent = 1;
        self.line("unsigned l1 = 0u, l2 = 0u;");
        self.block(&self.program.helpers[k]);
        self.line("return l0;");
        self.indent = 0;
        self.line("}");
    }

    fn recursive(&mut self, k: usize) {
        self.kind = Kind::Helper;
        let (parameter, argument) = (self.world_parameter(), self.world_argument());
        self.line(format!(
            "static unsigned recursive{k}({parameter}unsigned arg, unsigned depth, unsigned l0) {{"
        ));
        self.indent = 1;
        self.line("unsigned l1 = 0u, l2 = 0u;");
        self.line("if (depth == 0u) return l0;");
        self.block(&self.program.recursives[k].before);
        self.line(format!("l1 = recursive{k}({argument}arg, depth - 1u, l0);"));
        self.block(&self.program.recursives[k].after);
        self.line("return l0;");
        self.indent = 0;
        self.line("}");
    }

    fn world_parameter(&self) -> &'static str {
        match self.program.storage {
            Storage::Passed => "struct world *w, ",
            _ => "",
        }
    }

    fn world_argument(&self) -> &'static str {
        match self.program.storage {
            Storage::Passed => "w, ",
            _ => "",
        }
    }

    fn body(&mut self, k: usize) {
        self.kind = Kind::Thread;
        self.line(format!("static void *body{k}(void *p) {{"));
        self.indent = 1;
        if self.program.storage == Storage::Passed {
            self.line("struct world *w = ((struct start *)p)->w;");
            self.line("unsigned arg = ((struct start *)p)->arg;");
        } else {
            self.line("unsigned arg = (unsigned)(uintptr_t)p;");
        }
        self.locals();
        let mine = self.at("mine");
        self.line(format!("{mine}[arg] = 0u;"));
        self.block(&self.program.bodies[k]);
        self.line("return NULL;");
        self.indent = 0;
        self.line("}");
    }

    fn main(&mut self) {
        self.kind = Kind::Main;
        self.line("int main(int argc, char **argv) {");
        self.indent = 1;
        match self.program.source {
            Source::Arguments => {
                self.line("the_argc = argc;");
                self.line("the_argv = argv;");
            }
            Source::File => {
                self.line("the_file = argc > 1 ? open(argv[1], O_RDONLY) : -1;");
                self.line("if (the_file < 0) return 9;");
            }
        }
        if self.is_linked() {
            self.make_cells();
        }
        if self.is_heap() {
            self.line("the_world = calloc(1, sizeof *the_world);");
            self.line("if (the_world == NULL) return 9;");
            if self.program.storage == Storage::Passed {
                self.line("struct world *w = the_world;");
            }
            self.initialize_locks();
        }
        self.initialize_rest();
        self.line("unsigned arg = 0u;");
        self.locals();
        self.block(&self.program.main);
        self.final_print();
        self.line("return 0;");
        self.indent = 0;
        self.line("}");
    }

    fn initialize_locks(&mut self) {
        for k in 0..self.program.mutexes {
            self.line(format!("pthread_mutex_init(&w->m[{k}], NULL);"));
            self.line(format!("pthread_cond_init(&w->c[{k}], NULL);"));
        }
        for k in 0..self.program.rwlocks {
            self.line(format!("pthread_rwlock_init(&w->rw[{k}], NULL);"));
        }
    }

    fn make_cells(&mut self) {
        self.line(format!(
            "for (int k = 0; k < {}; k++) {{",
            self.program.mutexes
        ));
        for text in [
            "    struct cell *c = calloc(1, sizeof *c);",
            "    if (c == NULL) return 9;",
            "    pthread_mutex_init(&c->m, NULL);",
            "    c->next = the_cells;",
            "    the_cells = c;",
        ] {
            self.line(text);
        }
        self.line("}");
    }

    fn initialize_rest(&mut self) {
        let (s, b, input) = (self.at("s"), self.at("b"), self.at("input"));
        for (k, value) in self.program.semaphores.iter().enumerate() {
            self.line(format!("sem_init(&{s}[{k}], 0, {value});"));
        }
        for (k, value) in self.program.barriers.iter().enumerate() {
            self.line(format!("pthread_barrier_init(&{b}[{k}], NULL, {value});"));
        }
        for k in 0..self.program.inputs {
            self.line(format!("{input}[{k}] = fresh({k});"));
        }
    }

    fn final_print(&mut self) {
        let p = self.program;
        let mut values = Vec::new();
        for (name, count) in [
            ("v", p.guards.len()),
            ("own", p.mutexes.into()),
            ("mine", p.threads.len()),
        ] {
            values.extend((0..count).map(|i| match name {
                "own" => self.of_mutex(name, &i.to_string()),
                _ => format!("{}[{i}]", self.at(name)),
            }));
        }
        let format = vec!["%u"; values.len()].join(" ");
        let values: String = values.iter().map(|v| format!(", {v}")).collect();
        self.line(format!("printf(\"{format}\\n\"{values});"));
    }
}

fn initializers(one: &str, count: usize) -> String {
    format!(" = {{{}}}", vec![one; count].join(", "))
}
