//! An archive for programs: the tables of the text form as JSON, rows in id order.
//!
//! `format` is the archive's format version; `version` grows when a field here changes its meaning.

use crate::archive::{
    Archive, Candidate, Edge, FORMAT_VERSION, FragmentId, Next, Node, Position, RegisterKind, Site,
    SiteKind, StepId, Stuck,
};
use crate::ids::Id;
use crate::json::Json;
use crate::paths::{Counts, Paths};
use crate::primitives::{Operand, PRIMITIVES};
use crate::text::{self, op_name};

/// The archive as JSON. Its ids must be in range.
pub fn to_json(archive: &Archive) -> Json {
    let printer = Printer { archive };
    let counts = Counts::of(archive);
    let fragments = (0..archive.fragments.len()).map(FragmentId::from_index);
    Json::Object(vec![
        ("version", 1u32.into()),
        ("format", FORMAT_VERSION.into()),
        (
            "counts",
            Json::Object(vec![
                ("epochs", counts.epochs.into()),
                ("schedules", counts.schedules.into()),
                ("decisions", counts.decisions.into()),
                ("deadlocks", counts.deadlocks.into()),
                ("nodes", counts.nodes.into()),
                ("edges", counts.edges.into()),
            ]),
        ),
        ("program", printer.program()),
        ("gaps", printer.gaps()),
        (
            "sites",
            archive.sites.iter().map(|s| printer.site(s)).collect(),
        ),
        ("objects", printer.objects()),
        ("contexts", printer.contexts()),
        ("roots", printer.roots()),
        ("shadows", printer.shadows()),
        ("predicates", printer.predicates()),
        ("plan", printer.plan()),
        ("epochs", printer.epochs()),
        ("steps", printer.steps()),
        (
            "fragments",
            fragments.map(|id| printer.fragment(id)).collect(),
        ),
        (
            "statistics",
            archive
                .statistics
                .iter()
                .map(|statistic| {
                    Json::Object(vec![
                        ("name", statistic.name.as_str().into()),
                        ("value", statistic.value.into()),
                    ])
                })
                .collect(),
        ),
    ])
}

struct Printer<'a> {
    archive: &'a Archive,
}

/// Hashes are strings: many readers of JSON have no 64-bit integers.
fn hash(value: u64) -> Json {
    format!("{value:#018x}").into()
}

impl Printer<'_> {
    fn text(&self, id: crate::archive::TextId) -> Json {
        self.archive.texts[id.index()].as_str().into()
    }

    fn program(&self) -> Json {
        let program = &self.archive.program;
        let digits = program.fingerprint.iter().map(|byte| format!("{byte:02x}"));
        Json::Object(vec![
            ("name", program.name.as_str().into()),
            ("fingerprint", digits.collect::<String>().into()),
            ("thread_bound", program.thread_bound.into()),
            ("order", program.order.as_str().into()),
            (
                "assumptions",
                program.assumptions.iter().map(String::as_str).collect(),
            ),
            ("tool", program.tool.as_str().into()),
        ])
    }

    fn gaps(&self) -> Json {
        let gaps = self.archive.gaps.iter().map(|gap| {
            Json::Object(vec![
                ("reason", self.text(gap.reason)),
                ("site", gap.site.map(|site| site.0).into()),
            ])
        });
        gaps.collect()
    }

    fn site(&self, site: &Site) -> Json {
        let (kind, symbol) = match site.kind {
            SiteKind::Sync { primitive } => {
                let symbol = PRIMITIVES[usize::from(primitive)].symbol;
                ("sync", Some(symbol))
            }
            SiteKind::Branch => ("branch", None),
            SiteKind::Call => ("call", None),
            SiteKind::Entry => ("entry", None),
            SiteKind::Point => ("point", None),
        };
        Json::Object(vec![
            ("kind", kind.into()),
            ("symbol", symbol.into()),
            ("function", self.text(site.function)),
            ("position", self.position(&site.position)),
            (
                "inlined_at",
                site.inlined_at.iter().map(|at| self.position(at)).collect(),
            ),
            ("stable", hash(site.stable)),
        ])
    }

    fn position(&self, position: &Position) -> Json {
        Json::Object(vec![
            ("function", self.text(position.function)),
            ("file", self.text(position.file)),
            ("line", position.line.into()),
            ("column", position.column.into()),
        ])
    }

    fn objects(&self) -> Json {
        let objects = self.archive.objects.iter().map(|object| {
            Json::Object(vec![
                ("name", self.text(object.name)),
                ("external", object.shared_with_externals.into()),
            ])
        });
        objects.collect()
    }

    fn contexts(&self) -> Json {
        let contexts = self.archive.contexts.iter().map(|context| {
            Json::Object(vec![
                ("frames", context.frames.iter().map(|site| site.0).collect()),
                ("hash", hash(context.hash)),
            ])
        });
        contexts.collect()
    }

    fn roots(&self) -> Json {
        let roots = self.archive.roots.iter().map(|root| {
            Json::Object(vec![
                ("symbol", root.symbol.as_str().into()),
                ("size", root.size.into()),
            ])
        });
        roots.collect()
    }

    fn shadows(&self) -> Json {
        let shadows = self.archive.shadows.iter().map(|shadow| {
            let (kind, number) = match shadow.value.value {
                RegisterKind::Argument(number) => ("argument", number),
                RegisterKind::Instruction(number) => ("instruction", number),
            };
            Json::Object(vec![
                ("at", shadow.at.0.into()),
                ("width", shadow.width.into()),
                ("function", shadow.value.function.as_str().into()),
                (kind, number.into()),
            ])
        });
        shadows.collect()
    }

    fn predicates(&self) -> Json {
        let predicates = self.archive.predicates.iter().map(|predicate| {
            Json::Object(vec![
                ("text", self.text(predicate.text)),
                (
                    "code",
                    predicate
                        .code
                        .iter()
                        .map(|op| text::instruction(*op))
                        .collect(),
                ),
            ])
        });
        predicates.collect()
    }

    fn plan(&self) -> Json {
        let plan = &self.archive.plan;
        let candidate = |candidate: &Candidate| match candidate {
            Candidate::Global { root, offset } => {
                Json::Object(vec![("root", root.0.into()), ("offset", (*offset).into())])
            }
            Candidate::Last { site } => Json::Object(vec![("last", site.0.into())]),
        };
        let questions = plan.questions.iter().map(|question| {
            Json::Object(vec![
                ("site", question.site.0.into()),
                ("argument", u32::from(question.argument).into()),
                (
                    "candidates",
                    question.candidates.iter().map(candidate).collect(),
                ),
            ])
        });
        let exits = plan.exits.iter().map(|exits| {
            let ways = exits.ways.iter().map(|way| {
                Json::Object(vec![
                    ("from_block", way.from_block.into()),
                    ("to_block", way.to_block.into()),
                ])
            });
            Json::Object(vec![
                ("site", exits.site.0.into()),
                ("ways", ways.collect()),
            ])
        });
        let elastic = plan.elastic.iter().map(|elastic| {
            Json::Object(vec![
                ("site", elastic.site.0.into()),
                ("join_block", elastic.join_block.into()),
            ])
        });
        Json::Object(vec![
            ("markers", plan.markers.iter().map(|site| site.0).collect()),
            (
                "decisions",
                plan.decisions.iter().map(|site| site.0).collect(),
            ),
            ("questions", questions.collect()),
            ("exits", exits.collect()),
            ("elastic", elastic.collect()),
            (
                "unordered",
                plan.unordered.iter().map(|site| site.0).collect(),
            ),
        ])
    }

    fn epochs(&self) -> Json {
        let paths = Paths::of(self.archive);
        let epochs = self
            .archive
            .epochs
            .iter()
            .enumerate()
            .map(|(index, epoch)| {
                let id = crate::archive::EpochId::from_index(index);
                Json::Object(vec![
                    (
                        "contexts",
                        epoch.contexts.iter().map(|context| context.0).collect(),
                    ),
                    ("slots", epoch.slots.into()),
                    ("root", epoch.root.0.into()),
                    ("schedules", paths.schedules(self.archive, id).into()),
                    ("footprint", hash(epoch.footprint)),
                ])
            });
        epochs.collect()
    }

    fn steps(&self) -> Json {
        let steps = (0..self.archive.steps.len()).map(StepId::from_index);
        steps
            .map(|id| {
                let step = &self.archive.steps[id.index()];
                Json::Object(vec![
                    ("fragment", step.fragment.0.into()),
                    ("next", self.next(&step.next)),
                ])
            })
            .collect()
    }

    fn next(&self, next: &Next) -> Json {
        Json::Object(match next {
            Next::Early {
                site,
                predicate,
                yes,
                no,
            } => vec![
                ("kind", "early".into()),
                ("site", site.0.into()),
                ("predicate", predicate.0.into()),
                ("yes", yes.0.into()),
                ("no", no.0.into()),
            ],
            Next::Late {
                slot,
                site,
                condition,
                why,
                arms,
            } => {
                let arms = arms.iter().map(|arm| {
                    Json::Object(vec![
                        ("outcome", arm.outcome.into()),
                        ("step", arm.step.0.into()),
                    ])
                });
                vec![
                    ("kind", "late".into()),
                    ("slot", (*slot).into()),
                    ("site", site.0.into()),
                    ("condition", self.text(*condition)),
                    ("why", self.text(*why)),
                    ("arms", arms.collect()),
                ]
            }
            Next::Epoch { epoch, moves } => {
                let moves = moves.iter().map(|to| (*to != u16::MAX).then_some(*to));
                vec![
                    ("kind", "epoch".into()),
                    ("epoch", epoch.0.into()),
                    ("moves", moves.collect()),
                ]
            }
            Next::Exit => vec![("kind", "exit".into())],
            Next::Deadlock {
                stuck,
                condition,
                input,
                certain,
            } => {
                let input = input.iter().map(|value| {
                    Json::Object(vec![
                        ("name", self.text(value.name)),
                        ("value", value.value.as_str().into()),
                    ])
                });
                vec![
                    ("kind", "deadlock".into()),
                    ("certain", (*certain).into()),
                    ("stuck", stuck.iter().map(stuck_json).collect()),
                    (
                        "condition",
                        condition.iter().map(|text| self.text(*text)).collect(),
                    ),
                    ("input", input.collect()),
                ]
            }
            Next::Unexplored { gap } => {
                vec![("kind", "unexplored".into()), ("gap", (*gap).into())]
            }
        })
    }

    fn fragment(&self, id: FragmentId) -> Json {
        let lanes = self.archive.lanes_of(id);
        lanes
            .map(|lane| -> Json { lane.map(|(node, edges)| node_json(node, edges)).collect() })
            .collect()
    }
}

fn node_json(node: &Node, edges: &[Edge]) -> Json {
    let mut row = vec![
        ("op", op_name(node.op).into()),
        ("site", node.site.0.into()),
    ];
    match node.op.operand() {
        Operand::Object => row.push(("object", node.object().map(|object| object.0).into())),
        Operand::Slot => row.push(("slot", node.what.into())),
        Operand::Outcome => row.push(("outcome", node.what.into())),
        Operand::Nothing => {}
    }
    if node.is_optional() {
        row.push(("optional", true.into()));
    }
    if node.flags & Node::SERIAL != 0 {
        row.push(("serial", true.into()));
    }
    if !edges.is_empty() {
        let edges = edges.iter().map(|edge| {
            Json::Object(vec![
                ("slot", edge.slot().into()),
                ("position", edge.position().into()),
            ])
        });
        row.push(("waits", edges.collect()));
    }
    Json::Object(row)
}

fn stuck_json(stuck: &Stuck) -> Json {
    let holds = stuck.holds.iter().map(|held| {
        Json::Object(vec![
            ("object", held.object.0.into()),
            ("site", held.site.0.into()),
        ])
    });
    Json::Object(vec![
        ("slot", stuck.slot.into()),
        ("op", op_name(stuck.op).into()),
        ("object", stuck.object.0.into()),
        ("context", stuck.context.0.into()),
        ("waits_for", stuck.waits_for.iter().copied().collect()),
        ("holds", holds.collect()),
    ])
}
