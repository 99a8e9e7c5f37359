//! `cohort verify`: reads a whole backup, and says whether it is what was written.

use super::{manifest, moment, size, source::Source};
use cohort_engine::store::dump::Order;
use std::path::PathBuf;

/// What `cohort verify` is told.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Verify {
    /// The backup: a directory, an archive, or - for the standard input
    backup: PathBuf,
}

const EXAMPLES: &str = "\
Reads every byte of a backup, without a server and without changing anything. Exits with 0 if all is
as it was written, with 1 otherwise: also for a backup that did not come to its end.

Examples:
  cohort verify /backup/monday
  cohort verify monday.tar
  zstd -dc monday.tar.zst | cohort verify -";

/// Verifies the backup; what is wrong as text.
pub fn run(verify: &Verify) -> Result<(), String> {
    let place = verify.backup.display();
    let advice = |error: String| format!("{place}: {error}; this backup cannot be restored");
    let mut source = Source::open(&verify.backup, "verified")?;
    let mut order = Order::default();
    while let Some(name) = source.peek().map_err(advice)?.map(str::to_owned) {
        if manifest::is_part(&name) {
            let part = source.part().map_err(advice)?;
            let checked = order.check(&part);
            checked.map_err(|bad| advice(format!("{name}: {}", bad.0)))?;
        } else {
            source.read(&mut |_| Ok(())).map_err(advice)?;
        }
    }
    let manifest = source.finish().map_err(advice)?;
    let length: u64 = manifest.files.iter().map(|file| file.length).sum();
    println!(
        "{place}: {} in {} files",
        size(length),
        manifest.files.len()
    );
    println!(
        "server   {} ({})",
        manifest.server_uuid, manifest.server_version
    );
    match manifest.base_commit {
        Some(commit) => println!("base     up to {}:{commit}", manifest.server_uuid),
        None => println!("base     none: this is the log only"),
    }
    let last = manifest.last();
    println!(
        "log      up to {}:{}, committed {}",
        manifest.server_uuid,
        last.seq,
        moment::text(last.committed_micros)
    );
    println!("everything is as it was written");
    Ok(())
}
