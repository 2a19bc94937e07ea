//! Every primitive between threads, under delays.

mod run;

use run::{Program, same_as_native, straight};

#[test]
fn a_condition_hands_over_without_a_loop() {
    // The consumer comes first and waits; the signal comes after the unlock. The producer then waits for the empty slot.
    // The consumer's second wait comes before the producer wakes up.
    let waits_first = straight(&[
        "create@1=1 lock@7<1.3 unlock@9 CondSignal@10 lock@7 CondWait@8 CondWake@8<1.8 unlock@9 CondSignal@10 join@2<1.12",
        "start@0<0.1 lock@3 CondWait@4 CondWake@4<0.6 CondSignal@5 unlock@6 lock@3 CondWait@4 CondWake@4<0.9 CondSignal@5 unlock@6 exit@0",
    ]);
    Program::build("handover")
        .with(&waits_first)
        .always_prints("12");
}

#[test]
fn a_broadcast_wakes_in_the_order_given() {
    let main = "create@1=1 create@2=2 lock@6<1.3,2.3 unlock@7 CondBroadcast@8 join@9<1.6 join@10<2.6 CondDestroy@11";
    let lanes = |first: &str, second: &str| {
        straight(&[
            main,
            &format!("start@0<0.1 lock@3 CondWait@4 CondWake@4<{first} unlock@5 exit@0"),
            &format!("start@0<0.2 lock@3<1.3 CondWait@4 CondWake@4<{second} unlock@5 exit@0"),
        ])
    };
    Program::build_as("broadcast_ab", "broadcast", &[])
        .with(&lanes("0.5", "0.5,1.5"))
        .always_prints("ab\nok");
    Program::build_as("broadcast_ba", "broadcast", &[])
        .with(&lanes("0.5,2.5", "0.5"))
        .always_prints("ba\nok");
}

#[test]
fn a_barrier_has_one_serial_thread_a_round() {
    let lane = |others: [u16; 2], first: &str, second: &str| {
        let edges = |position: i32| {
            others
                .map(|slot| format!("{slot}.{}", position + if slot == 0 { 3 } else { 1 }))
                .join(",")
        };
        format!(
            "BarrierArrive@4 BarrierLeave@4<{}{first} BarrierArrive@4 BarrierLeave@4<{}{second}",
            edges(1),
            edges(3)
        )
    };
    let archive = straight(&[
        &format!(
            "BarrierInit@1 create@2=1 create@2=2 {} join@3<1.6 join@3<2.6 BarrierDestroy@5",
            lane([1, 2], "", "!")
        ),
        &format!("start@0<0.2 {} exit@0", lane([0, 2], "!", "")),
        &format!("start@0<0.3 {} exit@0", lane([0, 1], "", "")),
    ]);
    Program::build("rounds")
        .with(&archive)
        .always_prints("ok  ok3 serial3 serial3 ok3 ok3 ok3");
}

#[test]
fn semaphores_spin_locks_rwlocks_and_once_follow_the_order() {
    let main = "SemInit@1 create@12=1 SemPost@2 join@3<1.4 SemPost@2 SemPost@2 SemGetValue@22 SemDestroy@23 \
        SpinInit@1 create@13=2 SpinLock@2<2.3 SpinUnlock@24 join@3<2.4 SpinDestroy@23 \
        RwInit@1 RwWriteLock@25 create@14=3 RwUnlock@24<3.2 RwReadLock@2 RwUnlock@24 join@3<3.5 RwDestroy@23 \
        create@15=4 OnceEnter@16<4.5 join@3<4.6";
    let archive = straight(&[
        main,
        "start@0<0.2 SemWait@4<0.3 SemTryWait@5 exit@0",
        "start@0<0.10 SpinLock@6 SpinUnlock@7 exit@0",
        "start@0<0.17 RwTryReadLock@8 RwWriteLock@9<0.20 RwUnlock@10 exit@0",
        "start@0<0.23 OnceEnter@11 lock@20 unlock@21 OnceLeave@11 exit@0",
    ]);
    // The parent reads between its own unlock and the child's write.
    Program::build("counters").with(&archive).always_prints(
        "EAGAIN 2 EBUSY posting taken spin-child spin-main read write once after main",
    );
}

#[test]
fn c11_threads_are_the_same_operations() {
    let archive = straight(&[
        "MutexInit@1 CondInit@1 lock@8 create@2=1 trylock@9 MutexTimedLock@16 outcome@16=1 CondWait@10 CondWake@10<1.6 \
         CondWait@11 outcome@11=1 CondWake@11 unlock@12 join@13<1.7 OnceEnter@14 CondDestroy@15 MutexDestroy@15",
        "start@0<0.4 OnceEnter@3 OnceLeave@3 lock@4<0.8 CondSignal@5 unlock@6 exit@7",
    ]);
    same_as_native("c11", &archive);
}
