//! The server, `cohort serve`, and its measurements, `cohort lab`.

mod check;
mod cli;
mod config;
mod connections;
mod coordinator;
mod database;
mod lab;
mod limits;
mod mysql;
mod notice;
mod pool;
mod scheduler;
mod serve;
mod service;

use std::process::ExitCode;

/// Many small short-lived allocations from many threads: measured, not guessed.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match cli::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            notice!("{error}");
            ExitCode::FAILURE
        }
    }
}
