//! The error log: what the server tells its operator, in MySQL's formats, to standard error or to a
//! file, and in `performance_schema.error_log`.
//!
//! There is one for the process, as there are lines before there is a database. A line is written
//! before its writer goes on: what was said last before a crash is what is wanted.

mod pipeline;
mod recent;
mod text;

pub use recent::{Buffered, Line};

use cohort_engine::{
    env::{Env, File, Level, Mode, Notice},
    types::Value,
};
use parking_lot::Mutex;
use pipeline::{Pipeline, Sink};
use recent::Recent;
use std::{
    fmt::Arguments,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::LazyLock,
};

/// Where the lines of a server go.
struct Outlet {
    env: Env,
    /// log_error; `None`: standard error.
    path: Option<PathBuf>,
    /// The files of the sinks that have written since they were opened.
    files: [Option<File>; Sink::ALL.len()],
}

struct State {
    /// `None`: a command is run and no server; its lines are plain.
    outlet: Option<Outlet>,
    pipeline: Pipeline,
    recent: Recent,
}

static LOG: LazyLock<Mutex<State>> = LazyLock::new(|| {
    Mutex::new(State {
        outlet: None,
        pipeline: Pipeline::default(),
        recent: Recent::default(),
    })
});

/// From now on lines have the form of a server's, and go to a file if there is a path (`.err` is
/// added to a name without an end, as MySQL does). What a file has already is read for
/// `performance_schema.error_log`.
///
/// # Errors
/// The file cannot be opened.
pub fn open(path: Option<&Path>) -> io::Result<()> {
    let path = path.map(|path| match path.extension() {
        Some(_) => path.to_owned(),
        None => path.with_extension("err"),
    });
    let mut state = LOG.lock();
    let mut outlet = Outlet {
        env: Env::real(),
        path,
        files: Default::default(),
    };
    if let Some(path) = &outlet.path {
        let file = outlet.env.open(path, Mode::Create)?;
        state.recent.read_back(&file)?;
        outlet.files[Sink::Text as usize] = Some(file);
    }
    state.outlet = Some(outlet);
    Ok(())
}

/// The file of the error log, if it is not standard error.
#[must_use]
pub fn path() -> Option<PathBuf> {
    LOG.lock().outlet.as_ref()?.path.clone()
}

/// FLUSH ERROR LOGS: files are opened anew, after a tool has renamed them.
pub fn reopen() {
    if let Some(outlet) = &mut LOG.lock().outlet {
        outlet.files = Default::default();
    }
}

/// A variable of the log was set; others are nobody's business here.
pub fn set(name: &str, value: &Value) {
    LOG.lock().pipeline.set(name, value);
}

/// Whether a variable of the log can have a value. Others are nobody's business here.
#[must_use]
pub fn can_be(name: &str, value: &Value) -> bool {
    pipeline::can_be(name, value)
}

/// Whether a line of this kind would be written.
#[must_use]
pub fn wants(notice: Notice) -> bool {
    LOG.lock().pipeline.lets_through(notice)
}

/// Writes a line. `thread`: the number of the connection it is about; 0 for none.
pub fn write(notice: Notice, thread: u64, text: Arguments<'_>) {
    let mut state = LOG.lock();
    let State {
        outlet: Some(outlet),
        pipeline,
        recent,
    } = &mut *state
    else {
        drop(state);
        return plain(text);
    };
    // A refused start is told to whoever tries it, wherever the log goes.
    if notice == Notice::Aborting && outlet.path.is_some() {
        plain(text);
    }
    if !pipeline.lets_through(notice) {
        return;
    }
    let line = Line {
        micros: outlet.env.wall_micros(),
        thread,
        level: notice.level(),
        code: notice.to_string(),
        subsystem: notice.subsystem().name().to_owned(),
        text: text::escaped(&text.to_string()),
    };
    for sink in pipeline.sinks() {
        let shown = match sink {
            Sink::Text => text::line(&line),
            Sink::Json => text::json(&line, notice.symbol()),
        };
        outlet.write(*sink, &shown);
    }
    recent.add(line);
}

/// Writes a line of a command that is no server.
pub fn plain(text: Arguments<'_>) {
    let mut line = String::new();
    crate::text::put_log_time(Env::real().wall_micros(), 3, &mut line);
    // A closed standard error is no reason to stop.
    let _ = writeln!(io::stderr(), "{line} cohort: {text}");
}

/// The lines of `performance_schema.error_log`, the oldest first.
#[must_use]
pub fn recent() -> Vec<Line> {
    LOG.lock().recent.lines()
}

/// The counters of what is kept for that table.
#[must_use]
pub fn buffered() -> Buffered {
    LOG.lock().recent.buffered()
}

impl Outlet {
    /// A file that cannot be written is no reason to stop: standard error is told instead.
    fn write(&mut self, sink: Sink, line: &str) {
        let written = match &self.path {
            None => Err(None),
            Some(path) => append(
                &self.env,
                &sink.path(path),
                &mut self.files[sink as usize],
                line,
            )
            .map_err(Some),
        };
        if let Err(error) = written {
            let _ = io::stderr().write_all(line.as_bytes());
            if let Some(error) = error {
                self.files[sink as usize] = None;
                plain(format_args!("the error log cannot be written: {error}"));
            }
        }
    }
}

fn append(env: &Env, path: &Path, file: &mut Option<File>, line: &str) -> io::Result<()> {
    let file = match file {
        Some(file) => file,
        None => file.insert(env.open(path, Mode::Create)?),
    };
    // Somebody may have made it shorter meanwhile.
    file.write_at(line.as_bytes(), file.len()?)
}

#[cfg(test)]
mod page;
#[cfg(test)]
mod tests;
