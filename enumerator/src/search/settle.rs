//! From tasks to the archive: which epoch is explored when, on how many threads, and until nothing changes.
//!
//! **The order is that of one thread**: of the epochs that wait the first is explored and gathered, then the next. Other threads only
//! do ahead of time what will probably be asked for; what turns out to be asked differently is thrown away. So the archive does
//! not depend on the number of threads.
//!
//! **Limits.** When there is a reason to end, explorations end with gaps and what still waits is a gap. If by then more branches are known
//! to need instrumentation than were instrumented, one last short pass writes down what fits.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, Scope};

use schedules::Archive;

use super::bounds::Limits;
use super::explore::Ground;
use super::gather::{Gathered, Which};
use super::live::Live;
use super::marked::Marked;
use super::outcome::{Outcome, Task};
use super::store::{Digest, Store};
use super::{MANY_LEAVES, assume};
use crate::Error;
use crate::Options;
use crate::STACK;
use crate::analysis::Facts;
use crate::analysis::relevance::Relevance;
use crate::model::Module;
use crate::symbolic::portable::{Malformed, Names};

/// Enumerates a program.
pub(crate) fn enumerate(
    module: &Module,
    facts: &Facts,
    options: &Options,
    live: &Live,
) -> Result<Archive, Error> {
    let main = module.defined_main().ok_or(Error::NoMain)?;
    assume::check_inputs(module, facts, &options.inputs)?;
    let relevance = options.ideas.slice.then(|| Relevance::of(module, facts));
    let ground = Ground {
        module,
        facts,
        names: &Names::of(module),
        options,
        assumed: &assume::parse(&options.assumptions)?,
        limits: &Limits::of(module),
        relevance: relevance.as_ref(),
        main,
        live,
    };
    let store = Store::open(ground);
    std::thread::scope(|scope| {
        let mut crew = Crew::new(scope, ground, &store);
        let mut marked = Marked {
            keep_order: !options.ideas.symbolic_slots,
            ..Marked::default()
        };
        loop {
            let closing = live.end().is_some();
            match pass(&mut crew, marked, closing)? {
                Pass::Settled(archive) => return Ok(*archive),
                Pass::Again(found) => marked = found,
            }
        }
    })
}

/// What came of exploring everything once.
enum Pass {
    Settled(Box<Archive>),
    /// More has to be marked.
    Again(Marked),
}

fn pass(crew: &mut Crew<'_, '_>, marked: Marked, closing: bool) -> Result<Pass, Error> {
    let ground = crew.ground;
    let marked = Arc::new(marked);
    let mut gathered = Gathered::new(ground);
    let mut found = (*marked).clone();
    let mut next = Some(Which::First);
    ground.live.begin_pass();
    while let Some(which) = next {
        let task = |which: Which, gathered: &Gathered<'_>| Task {
            start: gathered.start(which),
            marked: marked.clone(),
            closing,
        };
        let end = ground.live.end();
        if let (Some(end), Which::Later(_)) = (end, which)
            && (!closing || ground.live.grace_is_over())
        {
            gathered.give_up(which, end.reason());
        } else {
            let ahead = gathered.waiting().take(crew.jobs - 1);
            let ahead = ahead.map(|index| task(Which::Later(index), &gathered));
            let ahead = ahead.collect();
            let outcome = crew.outcome(task(which, &gathered), ahead)?;
            found.learn(&outcome.found);
            let many = gathered.leaves() + outcome.tally.leaves > MANY_LEAVES;
            found.prefer_elastic |= many && !closing;
            let worthless = outcome.restart || found.prefer_elastic != marked.prefer_elastic;
            if worthless && end.is_none() && ground.live.end().is_none() {
                return Ok(Pass::Again(found.after_restart(&marked)));
            }
            match closing && outcome.found != Marked::default() {
                true => gathered.give_up(which, "a branch turned out to need another treatment"),
                false => gathered.add(which, &outcome, &marked).map_err(damaged)?,
            }
            found.uncounted.extend(gathered.uncounted());
            if found.uncounted != marked.uncounted && ground.live.end().is_none() {
                return Ok(Pass::Again(found.after_restart(&marked)));
            }
        }
        ground.live.gathered(gathered.settled(), gathered.known());
        next = gathered.next().map(Which::Later);
    }
    if closing || found == *marked {
        return Ok(Pass::Settled(Box::new(gathered.finish(&marked))));
    }
    Ok(Pass::Again(found.after_restart(&marked)))
}

/// Bytes that this process wrote are read by this process: what does not fit is a fault of ours.
fn damaged(_: Malformed) -> Error {
    panic!("a world that was just written cannot be read")
}

/// A task that a thread is at.
struct Running {
    digest: Digest,
    abandoned: Arc<AtomicBool>,
}

type Done = (Digest, Result<Outcome, Malformed>);

/// The threads that explore, a new one for each task.
struct Crew<'s, 'g> {
    scope: &'s Scope<'s, 'g>,
    ground: Ground<'g>,
    store: &'g Store<'g>,
    jobs: usize,
    running: Vec<Running>,
    /// Done ahead of time.
    ready: BTreeMap<Digest, Outcome>,
    done: (Sender<Done>, Receiver<Done>),
}

impl<'s, 'g> Crew<'s, 'g> {
    fn new(scope: &'s Scope<'s, 'g>, ground: Ground<'g>, store: &'g Store<'g>) -> Self {
        Self {
            scope,
            ground,
            store,
            jobs: ground.options.jobs.max(1),
            running: Vec::new(),
            ready: BTreeMap::new(),
            done: channel(),
        }
    }

    /// The outcome of a task; `ahead` is what will probably be asked for next.
    fn outcome(&mut self, task: Task, ahead: Vec<Task>) -> Result<Outcome, Error> {
        let wanted = Digest::of(self.ground, &task);
        if let Some(outcome) = self.known(wanted, &task) {
            return Ok(outcome);
        }
        let mut tasks = vec![(wanted, task.clone())];
        for task in ahead {
            let digest = Digest::of(self.ground, &task);
            tasks.push((digest, task));
        }
        self.forget_others(&tasks);
        let mut tasks = tasks.into_iter();
        let mut first = tasks.next();
        loop {
            while self.running.len() < self.jobs {
                let Some((digest, task)) = first.take().or_else(|| tasks.next()) else {
                    break;
                };
                self.begin(digest, task)?;
            }
            let (digest, outcome) = self.done.1.recv().expect("a thread is at work");
            let ended = (self.running.iter()).position(|running| running.digest == digest);
            let ended = self
                .running
                .remove(ended.expect("only what runs can be done"));
            let outcome = outcome.map_err(damaged)?;
            // What was abandoned in the middle may be wanted again.
            if outcome.cut && ended.abandoned.load(Ordering::Relaxed) {
                if digest == wanted {
                    self.begin(wanted, task.clone())?;
                }
                continue;
            }
            if digest == wanted {
                return Ok(outcome);
            }
            if !outcome.cut {
                self.ready.insert(digest, outcome);
            }
        }
    }

    fn known(&mut self, digest: Digest, task: &Task) -> Option<Outcome> {
        if let Some(outcome) = self.ready.remove(&digest) {
            return Some(outcome);
        }
        if self.running.iter().any(|running| running.digest == digest) {
            return None;
        }
        let outcome = self.store.load(self.ground, task)?;
        let counts = &self.ground.live.counts;
        counts.reused.fetch_add(1, Ordering::Relaxed);
        Some(outcome)
    }

    /// What was begun ahead of time and is not wanted any more.
    fn forget_others(&mut self, wanted: &[(Digest, Task)]) {
        let is_wanted = |digest: &Digest| wanted.iter().any(|(known, _)| known == digest);
        self.ready.retain(|digest, _| is_wanted(digest));
        for running in &self.running {
            if !is_wanted(&running.digest) {
                // Relaxed: seeing it later costs time only.
                running.abandoned.store(true, Ordering::Relaxed);
            }
        }
    }

    fn begin(&mut self, digest: Digest, task: Task) -> Result<(), Error> {
        let known = self.running.iter().any(|running| running.digest == digest);
        if known || self.ready.contains_key(&digest) {
            return Ok(());
        }
        let abandoned = Arc::new(AtomicBool::new(false));
        self.running.push(Running {
            digest,
            abandoned: abandoned.clone(),
        });
        let (ground, store, done) = (self.ground, self.store, self.done.0.clone());
        let work = move || {
            let outcome = match store.load(ground, &task) {
                Some(outcome) => Ok(outcome),
                None => ground.explore(&task, &|| abandoned.load(Ordering::Relaxed)),
            };
            if let Ok(outcome) = &outcome {
                store.save(ground, &task, outcome);
            }
            // Nobody listens any more if the enumeration failed.
            let _ = done.send((digest, outcome));
        };
        Builder::new()
            .name(format!("explore {digest}"))
            .stack_size(STACK)
            .spawn_scoped(self.scope, work)
            .map_err(|source| Error::NoThread { source })?;
        Ok(())
    }
}
