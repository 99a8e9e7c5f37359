//! Ctrl-C and SIGTERM: what is under way ends in good order; a second one ends the process at once.

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// How often a pause looks.
const LOOK: Duration = Duration::from_millis(100);

/// Whether the user wants it to end.
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Begins to listen.
    pub fn listen() -> Result<Stop, String> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first signal finds the flag unset.
            flag::register_conditional_shutdown(signal, 130, Arc::clone(&asked))
                .and_then(|_| flag::register(signal, Arc::clone(&asked)))
                .map_err(|error| format!("signals: {error}"))?;
        }
        Ok(Stop(asked))
    }

    /// An error if it is to end.
    pub fn check(&self) -> Result<(), String> {
        match self.0.load(Ordering::Relaxed) {
            true => Err("interrupted".into()),
            false => Ok(()),
        }
    }

    /// Waits; an error if it is to end meanwhile.
    pub fn pause(&self, pause: Duration) -> Result<(), String> {
        let until = Instant::now() + pause;
        while Instant::now() < until {
            self.check()?;
            thread::sleep(LOOK.min(pause));
        }
        self.check()
    }
}
