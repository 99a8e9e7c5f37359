//! The server: `cohort serve`.

mod config;
mod coordinator;
mod database;
mod listener;
mod mysql;
mod notice;
mod serve;
mod slots;

use std::process::ExitCode;

/// Many small short-lived allocations from many threads: measured, not guessed.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match config::load().and_then(|settings| serve::run(&settings)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            notice!("{error}");
            ExitCode::FAILURE
        }
    }
}
