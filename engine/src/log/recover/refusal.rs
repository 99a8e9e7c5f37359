//! Why a log cannot be opened, in words.

use crate::log::{OpenError, file_name};
use std::{fmt::Display, io};

const RESTORE: &str = "restore the file from a backup, or start on a copy of the data directory \
                       without the base and the binary logs and load a dump";

pub(super) fn io_error(what: impl Display) -> impl Fn(io::Error) -> OpenError {
    move |error| OpenError(format!("binary log: {what}: {error}"))
}

pub(super) fn damage(number: u64, position: u64, why: impl Display) -> OpenError {
    OpenError(format!(
        "binary log {} is damaged at position {position}: {why}; nothing was changed: {RESTORE}",
        file_name(number)
    ))
}

pub(super) fn missing(number: u64) -> OpenError {
    OpenError(format!(
        "binary log {} is missing, but its commits are needed; nothing was changed: {RESTORE}",
        file_name(number)
    ))
}
