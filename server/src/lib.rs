//! The server, `cohort serve`, and its measurements, `cohort lab`.

mod backup;
mod binlog;
mod check;
mod cli;
mod compact;
mod config;
mod connections;
mod console;
mod coordinate;
mod database;
#[doc(hidden)]
pub mod fuzz;
mod import;
mod lab;
mod manual;
mod metrics;
#[cfg(test)]
mod packaging;
mod pool;
mod progress;
mod refusals;
mod replica;
mod scrub;
mod security;
mod serve;
#[cfg(test)]
mod status_page;
mod supervisor;
#[doc(hidden)]
pub mod testing;
mod tls;
mod top;

use cohort_process::{Notice, notice};
use std::process::ExitCode;

/// Does what the command line says.
#[must_use]
pub fn main() -> ExitCode {
    match cli::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            notice!(Notice::Aborting, "{error}");
            ExitCode::FAILURE
        }
    }
}
