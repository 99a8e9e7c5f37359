//! Limits of the process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Allows as many open files as an unprivileged process may have: a connection has two
/// descriptors at most, and the usual soft limit of 1,024 is too few.
pub fn raise_files() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    // If it cannot be raised, opening says so when it comes to it.
    let _ = setrlimit(Resource::Nofile, raised);
}

/// Turns huge pages off. The allocator asks for them, and each thread's first allocation would
/// touch one of 2 MiB: thousands of threads that wait for a lock then take gigabytes (measured:
/// 390 KiB for each instead of 97).
pub fn keep_threads_small() {
    // A kernel that does not know them has nothing to turn off.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}
