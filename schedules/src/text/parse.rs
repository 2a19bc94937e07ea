//! Text to archive. What comes out was checked like a file at its opening.

use std::collections::{BTreeMap, HashMap};

use super::dump::place;
use super::lex::{self, ParseError, Words, Wrong};
use super::parse_steps::OpenStep;
use super::{op_name, predicates};
use crate::archive::{
    Archive, Candidate, Context, ContextId, Elastic, Epoch, Exits, FORMAT_VERSION, Gap, Object,
    ObjectId, Position, Predicate, Question, Register, RegisterKind, Root, RootId, Shadow, Site,
    SiteId, SiteKind, Statistic, StepId, TextId, Way,
};
use crate::builder::context_hash;
use crate::ids::Id;
use crate::primitives::{self, NodeOp};

/// Reads the text form.
pub fn parse(text: &str) -> Result<Archive, ParseError> {
    let mut parser = Parser::default();
    let mut last = 0;
    for (index, line) in text.lines().enumerate() {
        last = index + 1;
        parser
            .line(Words::new(line))
            .map_err(|wrong| ParseError { line: last, wrong })?;
    }
    parser
        .finish()
        .map_err(|wrong| ParseError { line: last, wrong })
}

/// What was read so far.
#[derive(Default)]
pub(super) struct Parser {
    pub(super) archive: Archive,
    texts: HashMap<String, TextId>,
    /// Sites by place and objects by name. Only asked, never iterated.
    places: HashMap<String, Vec<SiteId>>,
    names: HashMap<String, Vec<ObjectId>>,
    operations: HashMap<String, NodeOp>,
    pub(super) steps: BTreeMap<u32, OpenStep>,
    /// Stable ids that were given.
    stable: Vec<(usize, u64)>,
    pub(super) step: Option<u32>,
    pub(super) slot: Option<u16>,
}

impl Parser {
    fn line(&mut self, mut words: Words<'_>) -> Result<(), Wrong> {
        let Some(first) = words.peek() else {
            return Ok(());
        };
        let digits = first.trim_start_matches(|c: char| !c.is_ascii_digit());
        let kind = &first[..first.len() - digits.len()];
        if kind.is_empty() {
            return self.numbered(words);
        }
        match kind {
            "site" | "object" | "context" | "root" | "shadow" | "predicate" | "gap" => {
                self.row(kind, words)?;
            }
            "epoch" => self.epoch(&mut words)?,
            "step" => self.open_step(&mut words)?,
            _ => {
                let word = words.next("a statement")?;
                self.statement(word, &mut words)?;
                return words.end();
            }
        }
        Ok(())
    }

    fn statement(&mut self, word: &str, words: &mut Words<'_>) -> Result<(), Wrong> {
        let program = &mut self.archive.program;
        match word {
            "heddle" => format(words)?,
            "program" => program.name = words.string()?,
            "threads" => program.thread_bound = words.number("a number of threads")?,
            "order" => program.order = words.name("an ordering mode")?,
            "assume" => program.assumptions.push(words.string()?),
            "statistic" => {
                let name = words.string()?;
                let value = words.number("a number")?;
                self.archive.statistics.push(Statistic { name, value });
            }
            "identity" => self.identity(words)?,
            "plan" => self.plan(words)?,
            "slot" => {
                self.open("a lane")?;
                self.slot = Some(words.number("a slot")?);
            }
            "early" | "late" | "next" | "exit" | "unexplored" | "deadlock" => {
                let next = self.next(word, words)?;
                let step = self.open("the end of a step")?;
                if step.next.replace(next).is_some() {
                    return Err(Wrong::Misplaced {
                        what: "a second end",
                        place: "a step",
                    });
                }
            }
            "stuck" | "holds" | "if" | "input" => self.deadlock_line(word, words)?,
            operation => self.node(operation, words)?,
        }
        Ok(())
    }

    fn text(&mut self, text: String) -> TextId {
        let texts = &mut self.archive.texts;
        *self.texts.entry(text).or_insert_with_key(|text| {
            texts.push(text.clone());
            TextId::from_index(texts.len() - 1)
        })
    }

    pub(super) fn string(&mut self, words: &mut Words<'_>) -> Result<TextId, Wrong> {
        let string = words.string()?;
        Ok(self.text(string))
    }

    pub(super) fn site(&self, words: &mut Words<'_>) -> Result<SiteId, Wrong> {
        let word = words.next("a site like @a.c:3")?;
        let unknown = || Wrong::Unknown {
            what: "site",
            name: word.to_owned(),
        };
        let name = word.strip_prefix('@').ok_or_else(unknown)?;
        let closing_quote = name.rfind('"').unwrap_or(0);
        if let Some(hash) = name[closing_quote..].find('#').map(|at| at + closing_quote) {
            let id = SiteId(lex::number(&name[hash + 1..], "a site's number")?);
            let exists = id.index() < self.archive.sites.len();
            if !exists || !name[..hash].is_empty() && place(&self.archive, id) != name[..hash] {
                return Err(unknown());
            }
            return Ok(id);
        }
        match self.places.get(name).map(Vec::as_slice) {
            Some([id]) => Ok(*id),
            Some([_, _, ..]) => Err(Wrong::Ambiguous {
                what: "site",
                name: name.to_owned(),
                instead: "@#N with the site's number",
            }),
            _ => Err(unknown()),
        }
    }

    pub(super) fn object(&self, words: &mut Words<'_>) -> Result<ObjectId, Wrong> {
        let word = words.peek().unwrap_or_default();
        if !word.starts_with('"') {
            let id = ObjectId(words.id("object")?);
            return Ok(id);
        }
        let name = words.string()?;
        match self.names.get(&name).map(Vec::as_slice) {
            Some([id]) => Ok(*id),
            Some([_, _, ..]) => Err(Wrong::Ambiguous {
                what: "object",
                name,
                instead: "objectN",
            }),
            _ => Err(Wrong::Unknown {
                what: "object",
                name,
            }),
        }
    }

    pub(super) fn operation(&mut self, name: &str) -> Result<NodeOp, Wrong> {
        if self.operations.is_empty() {
            let all = NodeOp::ALL.iter().map(|op| (op_name(*op), *op));
            self.operations = all.collect();
        }
        let known = self.operations.get(name).copied();
        known.ok_or_else(|| Wrong::Unknown {
            what: "statement or operation",
            name: name.to_owned(),
        })
    }

    /// One row of a table.
    fn row(&mut self, kind: &str, mut words: Words<'_>) -> Result<(), Wrong> {
        let words = &mut words;
        match kind {
            "site" => self.site_row(words)?,
            "object" => {
                row_id(words, "object", self.archive.objects.len())?;
                let name = words.string()?;
                let id = ObjectId::from_index(self.archive.objects.len());
                self.names.entry(name.clone()).or_default().push(id);
                let name = self.text(name);
                let shared_with_externals = words.take("external");
                self.archive.objects.push(Object {
                    name,
                    shared_with_externals,
                });
            }
            "context" => {
                row_id(words, "context", self.archive.contexts.len())?;
                let mut frames = Vec::new();
                while words.peek().is_some() {
                    frames.push(self.site(words)?);
                }
                self.archive.contexts.push(Context { hash: 0, frames });
            }
            "root" => {
                row_id(words, "root", self.archive.roots.len())?;
                let symbol = words.string()?;
                let size = words.number("a size")?;
                self.archive.roots.push(Root { symbol, size });
            }
            "shadow" => self.shadow_row(words)?,
            "predicate" => {
                row_id(words, "predicate", self.archive.predicates.len())?;
                let text = self.string(words)?;
                words.word(":")?;
                let mut code = Vec::new();
                while words.peek().is_some() {
                    code.push(predicates::read(words.next("an instruction")?)?);
                }
                self.archive.predicates.push(Predicate { code, text });
            }
            _ => {
                row_id(words, "gap", self.archive.gaps.len())?;
                let reason = self.string(words)?;
                let site = words
                    .peek()
                    .is_some()
                    .then(|| self.site(words))
                    .transpose()?;
                self.archive.gaps.push(Gap { reason, site });
            }
        }
        words.end()
    }

    fn site_row(&mut self, words: &mut Words<'_>) -> Result<(), Wrong> {
        row_id(words, "site", self.archive.sites.len())?;
        let kind = match words.next("a kind of site")? {
            "entry" => SiteKind::Entry,
            "point" => SiteKind::Point,
            "call" => SiteKind::Call,
            "branch" => SiteKind::Branch,
            "sync" => {
                let symbol = words.next("a function")?;
                let (primitive, _) = primitives::lookup(symbol).ok_or_else(|| Wrong::Unknown {
                    what: "primitive",
                    name: symbol.to_owned(),
                })?;
                SiteKind::Sync { primitive }
            }
            found => {
                return Err(Wrong::Unexpected {
                    expected: "entry, point, call, branch or sync",
                    found: found.to_owned(),
                });
            }
        };
        words.word("in")?;
        let function = words.name("a function")?;
        let function = self.text(function);
        let mut position = self.position(function, words)?;
        if words.take("from") {
            let written = words.name("a function")?;
            position.function = self.text(written);
        }
        let mut inlined_at = Vec::new();
        while words.take("inlined") {
            let caller = words.name("a function")?;
            let caller = self.text(caller);
            inlined_at.push(self.position(caller, words)?);
        }
        let id = SiteId::from_index(self.archive.sites.len());
        self.archive.sites.push(Site {
            stable: u64::from(id.0) + 1,
            kind,
            function,
            position,
            inlined_at,
        });
        let place = place(&self.archive, id);
        self.places.entry(place).or_default().push(id);
        Ok(())
    }

    /// `file:line` or `file:line:column`.
    fn position(&mut self, function: TextId, words: &mut Words<'_>) -> Result<Position, Wrong> {
        const EXPECTED: &str = "a position like a.c:3:1";
        let word = words.next(EXPECTED)?;
        let (file, numbers) = if word.starts_with('"') {
            let (file, rest) = lex::unquote(word)?;
            (file, rest.strip_prefix(':').unwrap_or_default())
        } else {
            let (file, rest) = word.split_once(':').unwrap_or((word, ""));
            (file.to_owned(), rest)
        };
        let (line, column) = numbers.split_once(':').unwrap_or((numbers, "0"));
        Ok(Position {
            function,
            file: self.text(file),
            line: lex::number(line, EXPECTED)?,
            column: lex::number(column, EXPECTED)?,
        })
    }

    fn shadow_row(&mut self, words: &mut Words<'_>) -> Result<(), Wrong> {
        row_id(words, "shadow", self.archive.shadows.len())?;
        let at = self.site(words)?;
        let width = words.number("a width")?;
        let function = words.name("a function")?;
        let kind = words.next("argument or instruction")?;
        let number = words.number("a number")?;
        let value = match kind {
            "argument" => RegisterKind::Argument(number),
            "instruction" => RegisterKind::Instruction(number),
            found => {
                return Err(Wrong::Unexpected {
                    expected: "argument or instruction",
                    found: found.to_owned(),
                });
            }
        };
        self.archive.shadows.push(Shadow {
            at,
            value: Register { function, value },
            width,
        });
        Ok(())
    }

    fn plan(&mut self, words: &mut Words<'_>) -> Result<(), Wrong> {
        let kind = words.next("marker, decision, question, exits, elastic or unordered")?;
        let site = self.site(words)?;
        if kind == "question" {
            let question = self.question(site, words)?;
            self.archive.plan.questions.push(question);
            return Ok(());
        }
        let plan = &mut self.archive.plan;
        match kind {
            "exits" => {
                words.word(":")?;
                let mut ways = Vec::new();
                while words.peek().is_some() {
                    ways.push(Way {
                        from_block: words.number("a block's ordinal")?,
                        to_block: words.number("a block's ordinal")?,
                    });
                }
                plan.exits.push(Exits { site, ways });
            }
            "marker" => plan.markers.push(site),
            "decision" => plan.decisions.push(site),
            "unordered" => plan.unordered.push(site),
            "elastic" => {
                words.word("join")?;
                let join_block = words.number("a block's ordinal")?;
                plan.elastic.push(Elastic { site, join_block });
            }
            found => {
                return Err(Wrong::Unexpected {
                    expected: "marker, decision, question, exits, elastic or unordered",
                    found: found.to_owned(),
                });
            }
        }
        Ok(())
    }

    fn question(&self, site: SiteId, words: &mut Words<'_>) -> Result<Question, Wrong> {
        words.word("argument")?;
        let argument = words.number("an argument's position")?;
        words.word(":")?;
        let mut candidates = Vec::new();
        while words.peek().is_some() {
            candidates.push(match words.next("global or last")? {
                "global" => Candidate::Global {
                    root: RootId(words.id("root")?),
                    offset: words.number("an offset")?,
                },
                "last" => Candidate::Last {
                    site: self.site(words)?,
                },
                found => {
                    return Err(Wrong::Unexpected {
                        expected: "global or last",
                        found: found.to_owned(),
                    });
                }
            });
        }
        Ok(Question {
            site,
            argument,
            candidates,
        })
    }

    fn identity(&mut self, words: &mut Words<'_>) -> Result<(), Wrong> {
        let word = words.next("what it identifies")?;
        if word == "tool" {
            self.archive.program.tool = words.string()?;
            return Ok(());
        }
        let value = words.next("a value")?;
        if word == "fingerprint" {
            let wrong = || Wrong::Unexpected {
                expected: "32 hexadecimal digits",
                found: value.to_owned(),
            };
            let number = u128::from_str_radix(value, 16).map_err(|_| wrong())?;
            if value.len() != 32 {
                return Err(wrong());
            }
            self.archive.program.fingerprint = number.to_be_bytes();
            return Ok(());
        }
        let value = lex::hexadecimal(value)?;
        let index = |prefix: &str| word.strip_prefix(prefix)?.parse::<usize>().ok();
        let unknown = || Wrong::Unknown {
            what: "row",
            name: word.to_owned(),
        };
        if let Some(site) = index("site").filter(|site| *site < self.archive.sites.len()) {
            self.stable.push((site, value));
            return Ok(());
        }
        let epoch = index("epoch").and_then(|epoch| self.archive.epochs.get_mut(epoch));
        epoch.ok_or_else(unknown)?.footprint = value;
        Ok(())
    }

    fn epoch(&mut self, words: &mut Words<'_>) -> Result<(), Wrong> {
        row_id(words, "epoch", self.archive.epochs.len())?;
        words.word("slots")?;
        let slots = words.number("a number of slots")?;
        words.word("root")?;
        let root = StepId(words.id("step")?);
        words.word("at")?;
        let mut contexts = Vec::new();
        while words.peek().is_some() {
            contexts.push(ContextId(words.id("context")?));
        }
        self.archive.epochs.push(Epoch {
            contexts,
            slots,
            root,
            footprint: 0,
        });
        self.step = None;
        Ok(())
    }

    fn finish(mut self) -> Result<Archive, Wrong> {
        self.finish_steps()?;
        let Self {
            mut archive,
            stable,
            ..
        } = self;
        for (site, value) in stable {
            archive.sites[site].stable = value;
        }
        for context in &mut archive.contexts {
            let frames = context.frames.iter();
            let stable: Vec<u64> = frames
                .map(|site| archive.sites[site.index()].stable)
                .collect();
            context.hash = context_hash(&stable);
        }
        crate::ranges::check_in_memory(&archive).map_err(Wrong::Broken)?;
        crate::texts::renumber(&mut archive);
        crate::publish::mark(&mut archive);
        Ok(archive)
    }
}

fn format(words: &mut Words<'_>) -> Result<(), Wrong> {
    words.word("archive")?;
    words.word("format")?;
    let found = words.number("a format's number")?;
    if found != FORMAT_VERSION {
        return Err(Wrong::OtherFormat {
            found,
            expected: FORMAT_VERSION,
        });
    }
    Ok(())
}

/// Rows are numbered from 0.
fn row_id(words: &mut Words<'_>, what: &'static str, expected: usize) -> Result<(), Wrong> {
    let found = words.id(what)? as usize;
    in_order(what, expected, found)
}

pub(super) fn in_order(what: &'static str, expected: usize, found: usize) -> Result<(), Wrong> {
    if expected == found {
        return Ok(());
    }
    Err(Wrong::OutOfOrder {
        what,
        expected,
        found,
    })
}
