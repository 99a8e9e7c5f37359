//! The server's own threads.
//!
//! Other threads rely on each of them: nobody may wait for one that is no longer there. So none is
//! started in another way than by [`start`], and a bug that ends one is said in the log and ends
//! the process, as an error of the log does: what was acknowledged is on disk, and whoever watches
//! over the process starts it again. Going on without accepting, or without waking silent clients,
//! would look like a server that serves.

use crate::{Notice, notice};
use futures_util::FutureExt;
use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    thread::{self, JoinHandle},
    time::Duration,
};

/// What the process ends with when one of its threads is lost: like an abort.
const EXIT_CODE: i32 = 134;

/// Starts a thread of the server. `lost` says what there would be no more without it.
pub fn start(
    name: &'static str,
    lost: &'static str,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    start_with(name, lost, work, |_| std::process::exit(EXIT_CODE))
}

fn start_with(
    name: &'static str,
    lost: &'static str,
    work: impl FnOnce() + Send + 'static,
    end: impl FnOnce(&str) + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let guarded = move || {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
            let why = reason(&*panic);
            notice!(
                Notice::ThreadLost,
                "the thread {name} has failed {lost}: the server ends here ({why})"
            );
            end(&why);
        }
    };
    thread::Builder::new().name(name.into()).spawn(guarded)
}

/// The same for a task of a runtime that goes on for ever, and can begin again: after a bug in it
/// that is what it does, a moment later.
pub async fn persist<F: Future<Output = ()>>(
    who: &'static str,
    what: &'static str,
    mut work: impl FnMut() -> F,
) {
    const MOMENT: Duration = Duration::from_secs(1);
    while let Err(panic) = AssertUnwindSafe(work()).catch_unwind().await {
        let why = reason(&*panic);
        notice!(
            Notice::TaskFailed,
            "{who}: {what} has failed and begins again ({why})"
        );
        tokio::time::sleep(MOMENT).await;
    }
}

/// What a panic says.
pub fn reason(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "no reason given".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn a_lost_thread_ends_the_process() {
        let (tell, told) = channel();
        let end = move |why: &str| tell.send(why.to_owned()).unwrap();
        start_with("test", "and nothing is left", || panic!("as told"), end).unwrap();
        assert_eq!(told.recv().unwrap(), "as told");
    }

    #[test]
    fn one_that_is_done_does_not() {
        let (tell, told) = channel::<String>();
        let end = move |why: &str| tell.send(why.to_owned()).unwrap();
        start_with("test", "and nothing is left", || {}, end).unwrap();
        assert!(told.recv().is_err(), "nobody was told");
    }
}
