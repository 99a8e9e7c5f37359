//! The server's log: one line for each thing an operator must know, to standard error.

use cohort_engine::{env::Env, types::DateTime};

/// Writes a line, with the time in UTC before it.
pub fn write(text: std::fmt::Arguments<'_>) {
    let micros = i64::try_from(Env::real().wall_micros()).unwrap_or(0);
    let mut time = Vec::new();
    let moment = DateTime::from_unix_micros(micros).unwrap_or_default();
    cohort_sql::text::put_datetime(moment, 3, &mut time);
    let time = String::from_utf8_lossy(&time).replace(' ', "T");
    // A closed standard error is no reason to stop.
    let _ = std::io::Write::write_fmt(
        &mut std::io::stderr(),
        format_args!("{time}Z cohort: {text}\n"),
    );
}

/// Writes a line to the server's log, like `println!`.
#[macro_export]
macro_rules! notice {
    ($($arg:tt)*) => { $crate::notice::write(format_args!($($arg)*)) };
}
