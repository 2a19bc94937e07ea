//! Reading the program's memory on behalf of a predicate.

/// Reads `width` bits (8, 16, 32, 64) at `address`, little-endian.
pub(crate) fn load(address: u64, width: u8) -> u64 {
    let mut bytes = [0u8; 8];
    let count = usize::from(width / 8).min(8);
    // SAFETY: the predicate's guards say that the program itself may read here: the enumerator saw it do so on this path. The
    // copy does not care about alignment.
    unsafe { std::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), count) };
    u64::from_le_bytes(bytes)
}

/// As [`load`], but zero where there is no memory.
pub(crate) fn load_if_mapped(address: u64, width: u8) -> u64 {
    let mut bytes = [0u8; 8];
    let count = usize::from(width / 8).min(8);
    let local = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: count,
    };
    let remote = libc::iovec {
        iov_base: address as *mut libc::c_void,
        iov_len: count,
    };
    // SAFETY: the kernel writes at most `count` bytes into the local buffer and checks the remote address itself.
    let got = unsafe {
        libc::process_vm_readv(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0)
    };
    if usize::try_from(got) == Ok(count) {
        u64::from_le_bytes(bytes)
    } else {
        0
    }
}
