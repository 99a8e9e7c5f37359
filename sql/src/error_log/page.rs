//! docs/error-log.md, which is made of the table of lines.
//!
//! `ERROR_LOG=write cargo test -p cohort-sql page` writes it.

use cohort_engine::env::Notice;
use std::{fmt::Write, fs, path::Path};

const HEAD: &str = "\
# Lines of the error log

<!-- Made of engine/src/env/notices.rs: ERROR_LOG=write cargo test -p cohort-sql page -->

A line has MySQL's form, `time connection [level] [code] [subsystem] text`, or is a JSON object
(`log_error_services`); [watching.md](watching.md#the-error-log) tells of the settings. Codes below
50000 and their names are MySQL's, where it says the same. What is a warning or a note can be left
out by code or name (`log_error_suppression_list`).

";

#[test]
fn the_page_of_lines_is_as_the_table() {
    let mut page =
        format!("{HEAD}| Code | Name | Level | From | What it means |\n|---|---|---|---|---|\n");
    for notice in Notice::ALL {
        let (level, subsystem) = (notice.level().name(), notice.subsystem().name());
        let (symbol, meaning) = (notice.symbol(), notice.meaning());
        let _ = writeln!(
            page,
            "| {notice} | {symbol} | {level} | {subsystem} | {meaning} |"
        );
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/error-log.md");
    if std::env::var_os("ERROR_LOG").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "docs/error-log.md is older: ERROR_LOG=write cargo test -p cohort-sql page"
    );
}
