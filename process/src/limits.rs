//! Limits of the process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{fs, path::Path, sync::LazyLock};

/// Allows as many open files as an unprivileged process may have: each connection has
/// a descriptor, and the usual soft limit of 1,024 is too few.
pub fn raise_files() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    // If it cannot be raised, opening says so when it comes to it.
    let _ = setrlimit(Resource::Nofile, raised);
}

/// How many clients may be connected by the limit of open files. The rest of it is for the server's
/// own: without, the log could not go on in another file, nor a sort in a temporary one.
pub static CLIENTS: LazyLock<usize> = LazyLock::new(|| {
    let files = getrlimit(Resource::Nofile).current;
    let files = files.and_then(|most| usize::try_from(most).ok());
    let files = files.unwrap_or(usize::MAX);
    files - (files / 2).min(OWN_FILES)
});

/// One of so many equal parts of the files that the process may have open.
pub fn share_of_files(parts: usize) -> usize {
    let files = getrlimit(Resource::Nofile).current;
    let files = files.and_then(|most| usize::try_from(most).ok());
    files.map_or(usize::MAX, |files| files / parts.max(1))
}

/// Files that the server may have open beside its clients: the data directory's, those that many
/// sorts and groups have at once, and the coordinator's connections.
const OWN_FILES: usize = 512;

/// How many clients may knock at once, of whom the standard library has 128 only; the kernel's own
/// limit (somaxconn) may be lower.
pub const BACKLOG: i32 = 16_384;

/// Turns huge pages off. The allocator asks for them, and each thread's first allocation would
/// touch one of 2 MiB: thousands of threads that wait for a lock then take gigabytes (measured:
/// 390 KiB for each instead of 97).
pub fn keep_threads_small() {
    // A kernel that does not know them has nothing to turn off.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

/// How many threads the machine lets the process have, but for what other parts of it need.
pub static THREADS: LazyLock<usize> = LazyLock::new(|| {
    let number = |path: &Path| fs::read_to_string(path).ok()?.trim().parse::<usize>().ok();
    let kernel = |name: &str| number(&Path::new("/proc/sys").join(name));
    // A thread takes four memory mappings: its stack, the one for signals, and a guard for each.
    let mappings = kernel("vm/max_map_count").map(|most| most.saturating_sub(4096) / 4);
    let own = getrlimit(Resource::Nproc).current;
    let limits = [
        mappings,
        kernel("kernel/threads-max"),
        kernel("kernel/pid_max"),
        own.and_then(|most| usize::try_from(most).ok()),
        number(&control_group().join("pids.max")),
    ];
    let most = limits.into_iter().flatten().min().unwrap_or(usize::MAX);
    (most - most / 16).max(16)
});

/// Where the process's control group (version 2) has its limits.
fn control_group() -> std::path::PathBuf {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"));
    Path::new("/sys/fs/cgroup").join(own.unwrap_or_default())
}
