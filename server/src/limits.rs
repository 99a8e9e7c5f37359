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
