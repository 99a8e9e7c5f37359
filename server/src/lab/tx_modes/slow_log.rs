//! What a mode leaves in the slow log: the pattern by which it is recognised.

use super::Mode;
use crate::lab::{
    control::{Control, Error},
    server::Server,
};
use std::{
    thread,
    time::{Duration, Instant},
};

/// Lookups that are made.
const LOOKUPS: usize = 2;
/// Some servers write the log a little later.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(50);

/// Makes some lookups with the slow log on, on a connection of their own; the statements that are in
/// the log afterwards.
///
/// # Errors
/// The server's.
pub fn lines(server: &mut Server, mode: &Mode) -> Result<Vec<String>, String> {
    let failed = |error: Error| error.to_string();
    server.set("log_output", "'TABLE'").map_err(failed)?;
    server.set("slow_query_log", "1").map_err(failed)?;
    let control = server.endpoint.connect();
    let lines = control.and_then(|mut control| look_up(&mut control, mode));
    server.put_back();
    lines.map_err(failed)
}

fn look_up(control: &mut Control, mode: &Mode) -> Result<Vec<String>, Error> {
    let id = control.value("SELECT CONNECTION_ID()")?.unwrap_or_default();
    if let Some(first) = mode.first {
        control.execute(first)?;
    }
    control.execute("SET SESSION long_query_time = 0")?;
    for row in 1..=LOOKUPS {
        for statement in mode.workload.statements {
            control.query(&statement.sql().replace('?', &row.to_string()))?;
        }
    }
    control.execute("SET SESSION long_query_time = 10")?;
    let wanted = LOOKUPS * mode.workload.statements.len();
    let until = Instant::now() + PATIENCE;
    loop {
        let rows = control.query(&format!(
            "SELECT CONVERT(sql_text USING utf8mb4) FROM mysql.slow_log WHERE thread_id = {id} AND \
             sql_text NOT LIKE 'SET %'"
        ))?;
        let texts = rows.into_iter().filter_map(|row| row.into_iter().next()?);
        let texts: Vec<String> = texts.collect();
        if texts.len() >= wanted || Instant::now() > until {
            return Ok(texts);
        }
        thread::sleep(PAUSE);
    }
}
