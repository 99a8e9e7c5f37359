//! Processes that another one starts for itself.

use rustix::process::{Signal, set_parent_process_death_signal, setsid};

/// Goes on in a session of its own, and ends with the process that started this one.
///
/// # Errors
///
/// The system's.
pub fn accompany() -> rustix::io::Result<()> {
    setsid()?;
    set_parent_process_death_signal(Some(Signal::TERM))
}
