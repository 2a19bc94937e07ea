//! The few frames that lie below the program's own code while it runs: thread start functions and once routines.
//!
//! `pthread_exit` and cancellation unwind the stack by force. Rust frames with `panic = "abort"` may end the process when that
//! comes through them, so below user code there are none: only these, which have nothing to clean up and say how they
//! are unwound. For the same reason `heddle_pthread_exit` leaves its frame before it calls the C library, and so does every function in which
//! a thread can be cancelled, when no schedule applies.

use std::ffi::c_int;

use super::{cancel, cond, once, semaphore, threads};

/// What a function returns, or that the C library's is to be called with the same arguments.
#[repr(transparent)]
pub(super) struct Answer(u64);

impl Answer {
    /// Bit 32; below it is the result.
    pub(super) const NATIVE: Self = Self(1 << 32);
    /// Bit 33: the thread ends here.
    pub(super) const CANCELLED: Self = Self(1 << 33);

    pub(super) fn new(result: c_int) -> Self {
        Self(u64::from(result.cast_unsigned()))
    }

    /// The result, for callers in Rust.
    pub(super) fn or(self, native: impl FnOnce() -> c_int) -> c_int {
        if self.0 == Self::NATIVE.0 {
            return native();
        }
        (self.0 as u32).cast_signed()
    }
}

macro_rules! cancellable {
    ($($name:literal $rust:path;)*) => {$(
        // At most four arguments have to survive `try`; the site is not the C library's business.
        std::arch::global_asm!(
            concat!(".pushsection .text.heddle_", $name, ",\"ax\",@progbits"),
            concat!(".globl heddle_", $name),
            concat!(".type heddle_", $name, ",@function"),
            concat!("heddle_", $name, ":"),
            ".cfi_startproc",
            "push rdi",
            ".cfi_def_cfa_offset 16",
            "push rsi",
            ".cfi_def_cfa_offset 24",
            "push rdx",
            ".cfi_def_cfa_offset 32",
            "push rcx",
            ".cfi_def_cfa_offset 40",
            "sub rsp, 8",
            ".cfi_def_cfa_offset 48",
            "call {try_it}",
            "add rsp, 8",
            ".cfi_def_cfa_offset 40",
            "pop rcx",
            ".cfi_def_cfa_offset 32",
            "pop rdx",
            ".cfi_def_cfa_offset 24",
            "pop rsi",
            ".cfi_def_cfa_offset 16",
            "pop rdi",
            ".cfi_def_cfa_offset 8",
            "bt rax, 32",
            "jc 2f",
            "bt rax, 33",
            "jc 3f",
            "ret",
            "2:",
            concat!("jmp ", $name, "@PLT"),
            // PTHREAD_CANCELED.
            "3:",
            "mov rdi, -1",
            "jmp pthread_exit@PLT",
            ".cfi_endproc",
            concat!(".size heddle_", $name, ", . - heddle_", $name),
            ".popsection",
            try_it = sym $rust,
        );
    )*};
}

cancellable! {
    "pthread_join" threads::join;
    "pthread_cond_wait" cond::wait_for_ever;
    "pthread_cond_timedwait" cond::wait_until;
    "sem_wait" semaphore::wait;
    "sem_timedwait" semaphore::wait_until;
    "pthread_cond_clockwait" cond::wait_until_clock;
    "sem_clockwait" semaphore::wait_until_clock;
    "pthread_testcancel" cancel::test;
}

#[cfg(not(target_arch = "x86_64"))]
compile_error!("entry/frames.rs has to be written for this architecture");

// In: the block. `begin` returns the start function and its argument; `end` gets its result and returns the thread's. When the stack
// is unwound, this frame is the last to be told, as if by `pthread_cleanup_push`: `unwound`, and on to the C library's own end. On the
// stack: 104 bytes of `__pthread_unwind_buf_t`, then the function and its argument.
std::arch::global_asm!(
    ".pushsection .text.heddle_thread_start,\"ax\",@progbits",
    ".hidden heddle_thread_start",
    ".globl heddle_thread_start",
    ".type heddle_thread_start,@function",
    "heddle_thread_start:",
    ".cfi_startproc",
    "sub rsp, 136",
    ".cfi_def_cfa_offset 144",
    "call {begin}",
    "mov qword ptr [rsp + 112], rax",
    "mov qword ptr [rsp + 120], rdx",
    "mov rdi, rsp",
    "xor esi, esi",
    "call __sigsetjmp@PLT",
    "test eax, eax",
    "jnz 2f",
    "mov rdi, rsp",
    "call __pthread_register_cancel@PLT",
    "mov rdi, qword ptr [rsp + 120]",
    "call qword ptr [rsp + 112]",
    "mov qword ptr [rsp + 112], rax",
    "mov rdi, rsp",
    "call __pthread_unregister_cancel@PLT",
    "mov rdi, qword ptr [rsp + 112]",
    "call {end}",
    ".cfi_remember_state",
    "add rsp, 136",
    ".cfi_def_cfa_offset 8",
    "ret",
    "2:",
    ".cfi_restore_state",
    "call {unwound}",
    "mov rdi, rsp",
    "call __pthread_unwind_next@PLT",
    "ud2",
    ".cfi_endproc",
    ".size heddle_thread_start, . - heddle_thread_start",
    ".popsection",
    begin = sym threads::begin,
    end = sym threads::end,
    unwound = sym threads::unwound,
);

// (result, site); C11 has an int for a result.
std::arch::global_asm!(
    ".pushsection .text.heddle_pthread_exit,\"ax\",@progbits",
    ".globl heddle_thrd_exit",
    ".type heddle_thrd_exit,@function",
    "heddle_thrd_exit:",
    "movsxd rdi, edi",
    ".globl heddle_pthread_exit",
    ".type heddle_pthread_exit,@function",
    "heddle_pthread_exit:",
    ".cfi_startproc",
    "push rdi",
    ".cfi_def_cfa_offset 16",
    "mov edi, esi",
    "call {exit}",
    "pop rdi",
    ".cfi_def_cfa_offset 8",
    "jmp pthread_exit@PLT",
    ".cfi_endproc",
    ".size heddle_pthread_exit, . - heddle_pthread_exit",
    ".popsection",
    exit = sym threads::exit,
);

// (once, routine, site). `enter` returns 0: done; 1: run the routine, then `leave`; 2: native.
std::arch::global_asm!(
    ".pushsection .text.heddle_pthread_once,\"ax\",@progbits",
    ".globl heddle_pthread_once",
    ".type heddle_pthread_once,@function",
    ".globl heddle_call_once",
    ".type heddle_call_once,@function",
    "heddle_call_once:",
    "heddle_pthread_once:",
    ".cfi_startproc",
    "push rbx",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbx, -16",
    "push r12",
    ".cfi_def_cfa_offset 24",
    ".cfi_offset r12, -24",
    "sub rsp, 8",
    ".cfi_def_cfa_offset 32",
    "mov rbx, rdi",
    "mov r12, rsi",
    "mov dword ptr [rsp], edx",
    "mov esi, edx",
    "call {enter}",
    "cmp eax, 1",
    "jb 2f",
    "ja 3f",
    "call r12",
    "mov rdi, rbx",
    "mov esi, dword ptr [rsp]",
    "call {leave}",
    "2:",
    "xor eax, eax",
    ".cfi_remember_state",
    "add rsp, 8",
    ".cfi_def_cfa_offset 24",
    "pop r12",
    ".cfi_def_cfa_offset 16",
    "pop rbx",
    ".cfi_def_cfa_offset 8",
    "ret",
    "3:",
    ".cfi_restore_state",
    "mov rdi, rbx",
    "mov rsi, r12",
    "add rsp, 8",
    ".cfi_def_cfa_offset 24",
    "pop r12",
    ".cfi_def_cfa_offset 16",
    "pop rbx",
    ".cfi_def_cfa_offset 8",
    "jmp pthread_once@PLT",
    ".cfi_endproc",
    ".size heddle_pthread_once, . - heddle_pthread_once",
    ".popsection",
    enter = sym once::enter,
    leave = sym once::leave,
);
