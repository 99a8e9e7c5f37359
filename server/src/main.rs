//! The program `cohort`.

use std::process::ExitCode;

/// Many small short-lived allocations from many threads: measured, not guessed.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cohort_server::main()
}
