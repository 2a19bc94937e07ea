//! Error returns: a program that provokes them prints the same with and without a schedule.

mod run;

use run::{same_as_native, straight};

fn times(text: &str, count: usize) -> String {
    vec![text; count].join(" ")
}

#[test]
fn mutexes_of_every_type() {
    let plain = "MutexInit@1 lock@1 trylock@1 MutexDestroy@1 unlock@1 MutexDestroy@1";
    let typed = "MutexInit@1 lock@1 trylock@1 lock@1 MutexDestroy@1 unlock@1 unlock@1 unlock@1 unlock@1 MutexDestroy@1";
    let lane = format!(
        "{} {} {} MutexTimedLock@1 MutexTimedLock@2 outcome@2=1 MutexTimedLock@3 outcome@3=1 unlock@1 MutexTimedLock@1",
        times(plain, 4),
        times(typed, 4),
        times("lock@1 trylock@1 unlock@1", 3)
    );
    same_as_native("errors_mutex", &straight(&[&lane]));
}

#[test]
fn reader_writer_locks() {
    let one = format!(
        "RwReadLock@1 RwTryReadLock@1 RwTimedReadLock@1 RwTryWriteLock@1 RwTimedWriteLock@2 outcome@2=1 {} \
         RwTryWriteLock@1 RwWriteLock@1 RwReadLock@1 RwTryReadLock@1 RwTryWriteLock@1 RwUnlock@1 \
         RwTimedWriteLock@1 RwUnlock@1 RwWriteLock@1 RwUnlock@1 RwTryWriteLock@1 RwTryReadLock@1 RwReadLock@1",
        times("RwUnlock@1", 3)
    );
    let lane = format!("RwInit@1 {} RwDestroy@1", times(&one, 2));
    same_as_native("errors_rwlock", &straight(&[&lane]));
}

#[test]
fn semaphores_and_the_rest() {
    let lane = "SemInit@1 SemInit@1 SemWait@1 SemTimedWait@1 SemTryWait@1 SemTimedWait@2 outcome@2=1 \
        SemTimedWait@3 outcome@3=1 SemGetValue@1 SemPost@1 SemPost@1 SemGetValue@1 SemDestroy@1 SemInit@1 SemPost@1 \
        SemPost@1 SemDestroy@1 \
        SpinInit@1 SpinLock@1 SpinTryLock@1 SpinUnlock@1 SpinTryLock@1 SpinTryLock@1 SpinUnlock@1 SpinDestroy@1 \
        BarrierInit@1 BarrierInit@1 BarrierArrive@1 BarrierLeave@1! BarrierArrive@1 BarrierLeave@1! BarrierDestroy@1 \
        MutexInit@1 CondInit@1 CondSignal@1 CondBroadcast@1 CondWait@4 lock@1 \
        CondWait@2 outcome@2=1 CondWake@2 unlock@1 CondDestroy@1 join@5";
    same_as_native("errors_sem", &straight(&[lane]));
}
