//! Worlds as bytes: see `symbolic::portable` for what that means.
//!
//! Only worlds in which an epoch begins: nothing has happened in them yet, so every event they name lies in the past.

use std::rc::Rc;

use super::cancel::Handler;
use super::keys::Ending;
use super::trail::{Event, SiteRef, Trail};
use super::{Gone, Kind, Object, OnceState, Owner, Status, ThreadInfo, World};
use crate::model::{FuncId, InstrId};
use crate::symbolic::engine::Engine;
use crate::symbolic::portable::{Decoder, Encoder, Malformed, Names};

/// The bytes of a world in which an epoch begins.
pub fn encode(engine: &Engine<'_>, world: &World) -> Vec<u8> {
    let World {
        state,
        trail,
        objects,
        status,
        threads,
        gone,
        keys_last,
    } = world;
    assert!(keys_last.is_none(), "nothing has happened yet");
    assert_eq!(trail.length, 0, "nothing has happened yet");
    let mut out = Encoder::new(engine);
    out.body.count(status.len());
    for (status, info) in status.iter().zip(threads) {
        put_status(&mut out, status);
        put_info(&mut out, info);
    }
    out.body.count(objects.len());
    objects
        .iter()
        .for_each(|object| put_object(&mut out, object));
    out.body.count(gone.len());
    for Gone {
        handle,
        created_at,
        result,
    } in gone
    {
        out.object(*handle);
        put_maybe_site(&mut out, *created_at);
        out.maybe_val(result.as_ref());
    }
    out.state(state);
    out.finish()
}

/// The world that the bytes describe, in an engine of the same program.
pub fn decode(engine: &mut Engine<'_>, names: &Names, bytes: &[u8]) -> Result<World, Malformed> {
    let mut from = Decoder::new(engine, names, bytes)?;
    let slots = from.body.count()?;
    let (mut status, mut threads) = (Vec::new(), Vec::new());
    for _ in 0..slots {
        status.push(get_status(&mut from)?);
        threads.push(get_info(&mut from)?);
    }
    let mut objects = Vec::new();
    for _ in 0..from.body.count()? {
        objects.push(get_object(&mut from)?);
    }
    let mut gone = Vec::new();
    for _ in 0..from.body.count()? {
        gone.push(Gone {
            handle: from.object()?,
            created_at: get_maybe_site(&mut from)?,
            result: from.maybe_val()?,
        });
    }
    let state = from.state()?;
    if state.threads.len() != slots || !from.body.is_empty() {
        return Err(Malformed);
    }
    Ok(World {
        state,
        trail: Trail::with_slots(slots),
        objects,
        status,
        threads,
        gone,
        keys_last: None,
    })
}

fn put_site(out: &mut Encoder<'_, '_>, site: SiteRef) {
    match site {
        SiteRef::Entry(func) => {
            out.body.number(0);
            out.function(func);
        }
        SiteRef::Instr(func, InstrId(id)) => {
            out.body.number(u64::from(id) + 1);
            out.function(func);
        }
    }
}

fn get_site(from: &mut Decoder<'_, '_, '_>) -> Result<SiteRef, Malformed> {
    let number = from.body.small()?;
    let func: FuncId = from.function()?;
    match number.checked_sub(1) {
        None => Ok(SiteRef::Entry(func)),
        Some(id) => {
            let size = from.engine.module.functions[func].instrs.len();
            ((id as usize) < size)
                .then_some(SiteRef::Instr(func, InstrId(id)))
                .ok_or(Malformed)
        }
    }
}

fn put_maybe_site(out: &mut Encoder<'_, '_>, site: Option<SiteRef>) {
    out.body.flag(site.is_some());
    if let Some(site) = site {
        put_site(out, site);
    }
}

fn get_maybe_site(from: &mut Decoder<'_, '_, '_>) -> Result<Option<SiteRef>, Malformed> {
    match from.body.flag()? {
        true => get_site(from).map(Some),
        false => Ok(None),
    }
}

fn put_owner(out: &mut Encoder<'_, '_>, owner: Owner) {
    let Owner { slot, depth, site } = owner;
    out.body.count(slot);
    out.body.number(depth.into());
    put_site(out, site);
}

fn get_owner(from: &mut Decoder<'_, '_, '_>) -> Result<Owner, Malformed> {
    Ok(Owner {
        slot: from.body.index()?,
        depth: from.body.small()?,
        site: get_site(from)?,
    })
}

fn put_status(out: &mut Encoder<'_, '_>, status: &Status) {
    match status {
        Status::Ready => out.body.number(0),
        Status::OnCond {
            cond,
            mutex,
            owner,
            woken,
            timed,
        } => {
            out.body.number(1);
            out.body.count(*cond);
            out.body.count(*mutex);
            put_owner(out, *owner);
            out.body.flag(woken.is_some());
            out.body.flag(*timed);
        }
        Status::AtBarrier {
            barrier,
            released,
            serial,
        } => {
            out.body.number(2);
            out.body.count(*barrier);
            out.body.flag(released.is_some());
            out.body.flag(*serial);
        }
        Status::Ended => out.body.number(3),
    }
}

fn get_status(from: &mut Decoder<'_, '_, '_>) -> Result<Status, Malformed> {
    Ok(match from.body.number()? {
        0 => Status::Ready,
        1 => Status::OnCond {
            cond: from.body.index()?,
            mutex: from.body.index()?,
            owner: get_owner(from)?,
            woken: from.body.flag()?.then(Event::past),
            timed: from.body.flag()?,
        },
        2 => Status::AtBarrier {
            barrier: from.body.index()?,
            released: from.body.flag()?.then(|| Rc::new(Vec::new())),
            serial: from.body.flag()?,
        },
        3 => Status::Ended,
        _ => return Err(Malformed),
    })
}

fn put_info(out: &mut Encoder<'_, '_>, info: &ThreadInfo) {
    let ThreadInfo {
        handle,
        entry,
        created_at,
        ended,
        created,
        joined,
        routines,
        handlers,
        ending,
        cancel,
        cancel_disabled,
        started,
        rank,
    } = info;
    out.object(*handle);
    out.function(*entry);
    put_maybe_site(out, *created_at);
    out.body.flag(ended.is_some());
    out.body.flag(created.is_some());
    out.body.flag(*joined);
    out.body.count(routines.len());
    for (depth, object) in routines {
        out.body.count(*depth);
        out.body.count(*object);
    }
    out.body.count(handlers.len());
    for Handler {
        depth,
        buffer,
        jump,
    } in handlers
    {
        out.body.count(*depth);
        out.term(*buffer);
        put_site(out, SiteRef::Instr(jump.0, jump.1));
    }
    out.body.flag(ending.is_some());
    if let Some(ending) = ending {
        put_ending(out, ending);
    }
    out.body.flag(cancel.is_some());
    out.body.flag(*cancel_disabled);
    out.body.flag(*started);
    out.body.number(*rank);
}

fn put_ending(out: &mut Encoder<'_, '_>, ending: &Ending) {
    let Ending {
        site,
        result,
        round,
        next,
    } = ending;
    put_site(out, *site);
    out.maybe_val(result.as_ref());
    out.body.number((*round).into());
    out.body.count(*next);
}

fn get_handler(from: &mut Decoder<'_, '_, '_>) -> Result<Handler, Malformed> {
    let (depth, buffer) = (from.body.index()?, from.term()?);
    match get_site(from)? {
        SiteRef::Instr(func, id) => Ok(Handler {
            depth,
            buffer,
            jump: (func, id),
        }),
        SiteRef::Entry(_) => Err(Malformed),
    }
}

fn get_ending(from: &mut Decoder<'_, '_, '_>) -> Result<Ending, Malformed> {
    Ok(Ending {
        site: get_site(from)?,
        result: from.maybe_val()?,
        round: from.body.small()?,
        next: from.body.index()?,
    })
}

fn get_info(from: &mut Decoder<'_, '_, '_>) -> Result<ThreadInfo, Malformed> {
    let (handle, entry) = (from.object()?, from.function()?);
    let created_at = get_maybe_site(from)?;
    let ended = from.body.flag()?.then(Event::past);
    let created = from.body.flag()?.then(Event::past);
    let joined = from.body.flag()?;
    let mut routines = Vec::new();
    for _ in 0..from.body.count()? {
        routines.push((from.body.index()?, from.body.index()?));
    }
    let mut handlers = Vec::new();
    for _ in 0..from.body.count()? {
        handlers.push(get_handler(from)?);
    }
    let ending = match from.body.flag()? {
        true => Some(get_ending(from)?),
        false => None,
    };
    Ok(ThreadInfo {
        handle,
        entry,
        created_at,
        ended,
        created,
        joined,
        routines,
        handlers,
        ending,
        cancel: from.body.flag()?.then(Event::past),
        cancel_disabled: from.body.flag()?,
        started: from.body.flag()?,
        rank: from.body.number()?,
    })
}

fn put_slots(out: &mut Encoder<'_, '_>, slots: &[usize]) {
    out.body.count(slots.len());
    slots.iter().for_each(|slot| out.body.count(*slot));
}

fn get_slots(from: &mut Decoder<'_, '_, '_>) -> Result<Vec<usize>, Malformed> {
    let count = from.body.count()?;
    (0..count).map(|_| from.body.index()).collect()
}

fn put_object(out: &mut Encoder<'_, '_>, object: &Object) {
    let Object {
        address,
        within,
        name,
        kind,
        last,
    } = object;
    assert!(last.is_empty(), "nothing has happened yet");
    out.term(*address);
    out.kinds(within);
    out.body.text(name);
    match kind {
        Kind::Mutex { owner } => {
            out.body.number(0);
            out.body.flag(owner.is_some());
            if let Some(owner) = owner {
                put_owner(out, *owner);
            }
        }
        Kind::Cond { waiters } => {
            out.body.number(1);
            put_slots(out, waiters);
        }
        Kind::Barrier {
            needed,
            born,
            arrived,
            waiting,
        } => {
            assert!(born.is_empty(), "nothing has happened yet");
            out.body.number(2);
            out.term(*needed);
            out.body.count(arrived.len());
            put_slots(out, waiting);
        }
        Kind::Rwlock { writer, readers } => {
            out.body.number(3);
            put_slots(out, writer.as_slice());
            put_slots(out, readers);
        }
        Kind::Semaphore { value } => {
            out.body.number(4);
            out.term(*value);
        }
        Kind::Once(OnceState::Never) => out.body.number(5),
        Kind::Once(OnceState::Running { slot }) => {
            out.body.number(6);
            out.body.count(*slot);
        }
        Kind::Once(OnceState::Done) => out.body.number(7),
    }
}

fn get_object(from: &mut Decoder<'_, '_, '_>) -> Result<Object, Malformed> {
    let address = from.term()?;
    let within = from.kinds()?.into();
    let name = from.body.text()?.into();
    let kind = match from.body.number()? {
        0 => Kind::Mutex {
            owner: match from.body.flag()? {
                true => Some(get_owner(from)?),
                false => None,
            },
        },
        1 => Kind::Cond {
            waiters: get_slots(from)?,
        },
        2 => Kind::Barrier {
            needed: from.term()?,
            born: Vec::new(),
            arrived: vec![Event::past(); from.body.index()?.min(usize::from(u16::MAX))],
            waiting: get_slots(from)?,
        },
        3 => Kind::Rwlock {
            writer: get_slots(from)?.first().copied(),
            readers: get_slots(from)?,
        },
        4 => Kind::Semaphore {
            value: from.term()?,
        },
        5 => Kind::Once(OnceState::Never),
        6 => Kind::Once(OnceState::Running {
            slot: from.body.index()?,
        }),
        7 => Kind::Once(OnceState::Done),
        _ => return Err(Malformed),
    };
    Ok(Object {
        address,
        within,
        name,
        kind,
        last: Vec::new(),
    })
}
