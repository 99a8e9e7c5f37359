//! What happens when the process is asked to end: what runs is given up, what was found is kept,
//! servers get their variables back, and temporary directories go.

use super::temporary;
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    iterator::Signals,
};
use std::{
    process,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

/// After so long, or the second time, the process ends whatever it does.
const PATIENCE: Duration = Duration::from_secs(10);
/// What runs looks this often whether it is to end.
pub const LOOK: Duration = Duration::from_millis(200);

static ASKED: AtomicBool = AtomicBool::new(false);

/// Whether the process was asked to end.
#[must_use]
pub fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// An error, if the process was asked to end.
///
/// # Errors
/// It was.
pub fn check() -> Result<(), String> {
    match asked() {
        true => Err("interrupted".into()),
        false => Ok(()),
    }
}

/// Begins to wait for signals.
pub fn watch() {
    // Without them the process ends at once, and temporary directories stay, which hurts nothing else.
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else {
        return;
    };
    thread::spawn(move || {
        for _ in signals.forever() {
            if ASKED.swap(true, Ordering::Relaxed) {
                end();
            }
            eprintln!("interrupted: ending; once more to end at once");
            thread::spawn(|| {
                thread::sleep(PATIENCE);
                end();
            });
        }
    });
}

fn end() {
    temporary::remove_all();
    process::exit(130);
}
