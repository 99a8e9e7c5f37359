//! Lines for the operator: those of the server's error log, and those of a command.

/// Writes a line to the error log: `notice!(Notice::Ready, "ready on {address}")`. What it is about
/// stands first; with a connection's number before the text (`notice!(…, for 17, "…")`) that too.
#[macro_export]
macro_rules! notice {
    ($notice:expr, for $thread:expr, $($arg:tt)*) => {
        $crate::write_notice($notice, $thread, format_args!($($arg)*))
    };
    ($notice:expr, $($arg:tt)*) => { $crate::write_notice($notice, 0, format_args!($($arg)*)) };
}

/// Writes a line about what a command does, like `println!`, to standard error.
#[macro_export]
macro_rules! progress {
    ($($arg:tt)*) => { $crate::write_progress(format_args!($($arg)*)) };
}
