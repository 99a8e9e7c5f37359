//! The server, `cohort serve`, and its measurements, `cohort lab`.

mod check;
mod cli;
mod compact;
mod config;
mod connections;
mod coordinator;
mod database;
#[doc(hidden)]
pub mod fuzz;
mod lab;
mod limits;
mod mysql;
mod notice;
mod pool;
mod scheduler;
mod scrub;
mod serve;
mod service;

use std::process::ExitCode;

/// Does what the command line says.
#[must_use]
pub fn main() -> ExitCode {
    match cli::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            notice!("{error}");
            ExitCode::FAILURE
        }
    }
}
