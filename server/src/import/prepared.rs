//! Transactions of the source that are prepared (`XA PREPARE`) and neither committed nor rolled back.
//!
//! Their rows stand in the log before the snapshot's place, and are not in the snapshot. A replica that
//! begins at that place would get their commit alone.

use super::{servers::Session, stop::Stop};
use std::{collections::BTreeSet, time::Duration};

/// Those that are there at each of so many looks are not about to be committed.
const LOOKS: u32 = 10;
const PAUSE: Duration = Duration::from_millis(300);

/// The names of those that are there now.
///
/// # Errors
/// The account may not ask.
pub fn now(source: &mut Session) -> Result<BTreeSet<String>, String> {
    match source.attempt("XA RECOVER")? {
        // Format, two lengths, and the name.
        Ok(rows) => Ok(rows
            .into_iter()
            .filter_map(|row| row.into_iter().nth(3)?)
            .collect()),
        Err(error) => {
            let why = "to see whether transactions are prepared there (XA RECOVER)";
            Err(source.needs("XA_RECOVER_ADMIN", why, &error))
        }
    }
}

/// Refuses a source where some stay.
///
/// # Errors
/// They do, or the account may not ask.
pub fn refuse(source: &mut Session, stop: &Stop) -> Result<(), String> {
    let mut staying = now(source)?;
    for _ in 1..LOOKS {
        if staying.is_empty() {
            return Ok(());
        }
        stop.pause(PAUSE)?;
        let now = now(source)?;
        staying.retain(|name| now.contains(name));
    }
    Err(format!("{}: {}", source.name(), told(&staying)))
}

/// Why these keep a replica from beginning.
pub fn told(names: &BTreeSet<String>) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("'{name}'")).collect();
    format!(
        "transactions are prepared and not committed, and a replica would get their commit without their \
         rows: {}. XA RECOVER CONVERT XID shows them: say XA COMMIT or XA ROLLBACK of each, and start again",
        names.join(", ")
    )
}
