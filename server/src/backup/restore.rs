//! `cohort restore`: makes a data directory of a backup.

use super::{
    Teller, logs,
    manifest::{self, Manifest},
    moment,
    source::Source,
};
use crate::serve::make_directory;
use cohort_engine::{
    env::Env,
    log::{CutError, Target, file_name},
    txn::{
        EngineOptions,
        restore::{self, Plan, RestoreError, Restored},
    },
    types::Gtid,
};
use cohort_process::{notice, progress};
use cohort_sql::session::Rebuilder;
use std::{
    fs::{self, OpenOptions},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

const FILE_MODE: u32 = 0o640;
/// How often the replay's progress is told.
const PROGRESS: Duration = Duration::from_secs(1);

/// What `cohort restore` is told.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Restore {
    /// The backup: a directory, an archive, or - for the standard input
    backup: PathBuf,
    /// The data directory to make; it must be empty, or not be there
    #[arg(long, value_name = "PATH")]
    datadir: PathBuf,
    /// Directory with the log from after the backup: of cohort backup --logs-only, or the data
    /// directory of a server that is gone; may be given several times
    #[arg(long, value_name = "DIR")]
    logs: Vec<PathBuf>,
    /// The last transaction to restore, such as 3e11fa47-71ca-11e1-9e33-c80aa9429562:23
    #[arg(long, value_name = "GTID", group = "target")]
    to_gtid: Option<String>,
    /// Restore what comes before this transaction
    #[arg(long, value_name = "GTID", group = "target")]
    before_gtid: Option<String>,
    /// Restore what was committed up to this moment: '2026-11-26 14:05:00', in local time or with an
    /// offset (+02:00 or Z)
    #[arg(long, value_name = "TIME", group = "target")]
    to_time: Option<String>,
    /// Keep the server's UUID instead of having a new one made: only if the old server is gone, and
    /// nobody has seen a transaction of it that is not restored
    #[arg(long)]
    keep_server_uuid: bool,
}

const EXAMPLES: &str = "\
Without a target everything that is in the backup and in the logs is restored. Transactions keep
their GTIDs, and those to come have the UUID of a new server. Then start it:
cohort serve --datadir PATH.

Examples:
  cohort restore /backup/monday --datadir ./data
  zstd -dc monday.tar.zst | cohort restore - --datadir ./data
  cohort restore /backup/monday --logs /backup/logs --datadir ./data
      up to the last transaction in the logs
  cohort restore /backup/monday --logs /backup/logs --datadir ./data \\
      --to-time '2026-11-26 14:05:00'
  cohort restore /backup/monday --logs /backup/logs --datadir ./data \\
      --before-gtid 3e11fa47-71ca-11e1-9e33-c80aa9429562:4711
      as it was before that transaction; which one it was: cohort log grep";

/// Restores; what went wrong as text.
pub fn run(restore: &Restore) -> Result<(), String> {
    let begun = Instant::now();
    let target = restore.target()?;
    let env = Env::real();
    env.on_notice(|notice, line| notice!(notice, "{line}"));
    let datadir = &restore.datadir;
    make_directory(datadir).map_err(|error| format!("{}: {error}", datadir.display()))?;
    if let Err(error) = restore::begin(&env, datadir) {
        return Err(match error {
            RestoreError::NotEmpty => format!(
                "{} is not empty: name a directory that is, or that is not there yet",
                datadir.display()
            ),
            RestoreError::Failed(why) | RestoreError::Source(why) | RestoreError::Part(why) => {
                format!("{}: {why}", datadir.display())
            }
            RestoreError::Cut(error, _) => error.to_string(),
        });
    }
    match restore.steps(&env, target) {
        Ok((manifest, restored)) => {
            restore.report(&manifest, restored, target, begun);
            Ok(())
        }
        Err(error) => {
            // It was empty before, and is of no use as it is.
            let cleared = clear(datadir);
            Err(match cleared {
                Ok(()) => format!("{error}; nothing was restored"),
                Err(left) => format!(
                    "{error}; nothing was restored, and {} must be removed by hand: {left}",
                    datadir.display()
                ),
            })
        }
    }
}

fn clear(directory: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(directory)? {
        fs::remove_file(entry?.path())?;
    }
    Ok(())
}

impl Restore {
    fn target(&self) -> Result<Target, String> {
        Ok(match (&self.to_gtid, &self.before_gtid, &self.to_time) {
            (Some(gtid), ..) => Target::Through(parse_gtid(gtid)?),
            (_, Some(gtid), _) => Target::Before(parse_gtid(gtid)?),
            (.., Some(time)) => Target::Until(moment::parse(time)?),
            (None, None, None) => Target::End,
        })
    }

    fn steps(&self, env: &Env, target: Target) -> Result<(Manifest, Restored), String> {
        let in_backup = |error: String| format!("{}: {error}", self.backup.display());
        let mut source = Source::open(&self.backup, "restored")?;
        let loaded = restore::load(env, &self.datadir, &mut || match source
            .peek()?
            .is_some_and(manifest::is_part)
        {
            true => source.part().map(Some),
            false => Ok(None),
        });
        loaded.map_err(|error| match error {
            RestoreError::Source(why) => in_backup(why),
            RestoreError::Part(why) => in_backup(format!("damaged: {why}")),
            RestoreError::Failed(why) => why,
            RestoreError::NotEmpty => "the directory is not empty".to_owned(),
            RestoreError::Cut(error, _) => error.to_string(),
        })?;
        while let Some(name) = source.peek().map_err(in_backup)?.map(str::to_owned) {
            let path = self.datadir.join(&name);
            let failed = |error: std::io::Error| format!("{}: {error}", path.display());
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).mode(FILE_MODE);
            let mut file = options.open(&path).map_err(failed)?;
            let read = source.read(&mut |bytes| file.write_all(bytes).map_err(failed));
            read.map_err(in_backup)?;
            file.sync_all().map_err(failed)?;
        }
        let manifest = source.finish().map_err(in_backup)?;
        if manifest.base_commit.is_none() {
            return Err(in_backup(
                "there is only the log in it, and no base: name a backup, and this directory with \
                 --logs"
                    .to_owned(),
            ));
        }
        logs::add(&self.datadir, &manifest, &self.logs, target)?;
        let restored = self.finish(env, target, &manifest)?;
        Ok((manifest, restored))
    }

    fn finish(&self, env: &Env, target: Target, manifest: &Manifest) -> Result<Restored, String> {
        let plan = Plan {
            target,
            server_uuid: self
                .keep_server_uuid
                .then_some(manifest.server_uuid.as_str()),
            options: EngineOptions::default(),
            rebuild: &mut Rebuilder,
        };
        let mut teller = Teller::new("checked of the logs");
        let mut told = Instant::now();
        let finished = restore::finish(
            env,
            &self.datadir,
            plan,
            &mut |bytes| teller.reached(bytes),
            &mut |progress| {
                if told.elapsed() > PROGRESS {
                    told = Instant::now();
                    let percent = progress.bytes * 100 / progress.bytes_total.max(1);
                    progress!("replayed: {percent}% of the logs, commit {}", progress.seq);
                }
            },
        );
        finished.map_err(|error| match error {
            RestoreError::Cut(error, _) => unreachable_target(&error, manifest),
            RestoreError::Failed(why) | RestoreError::Part(why) | RestoreError::Source(why) => why,
            RestoreError::NotEmpty => "the directory is not empty".to_owned(),
        })
    }

    fn report(&self, manifest: &Manifest, restored: Restored, target: Target, begun: Instant) {
        let last = restored.last;
        println!(
            "{}: restored up to {}:{}, committed {}, in {:.1?}",
            self.datadir.display(),
            manifest.server_uuid,
            last.seq,
            moment::text(last.committed_micros),
            begun.elapsed()
        );
        if let Target::Until(wanted) = target
            && restored.is_all
        {
            progress!(
                "the logs end before {}: what was committed between is not here; name directories \
                 with later logs (--logs), if there are any",
                moment::text(wanted)
            );
        }
        if restored.prepared > 0 {
            progress!(
                "{} prepared transactions (XA) wait for their end and hold locks: XA RECOVER lists \
                 them",
                restored.prepared
            );
        }
    }
}

/// Why the logs do not get there, and what to do.
fn unreachable_target(error: &CutError, manifest: &Manifest) -> String {
    let uuid = &manifest.server_uuid;
    match error {
        CutError::TooEarly(base) => format!(
            "the backup has later transactions than that: its base has them up to {uuid}:{}; \
             restore an earlier backup",
            base.seq
        ),
        CutError::NotThere(last) => format!(
            "that transaction is not there: the backup and the logs end with {uuid}:{}, committed \
             {}; name directories with later logs (--logs)",
            last.seq,
            moment::text(last.committed_micros)
        ),
        CutError::Missing(number) => format!(
            "{} is in neither the backup nor the logs: name a directory that has it (--logs)",
            file_name(*number)
        ),
        CutError::Damaged(why) => {
            format!("{why}; name a directory with a sound copy of the file (--logs)")
        }
        CutError::Failed(why) => why.clone(),
    }
}

fn parse_gtid(text: &str) -> Result<Gtid, String> {
    Gtid::parse(text.trim()).ok_or_else(|| {
        format!("{text}: a GTID like 3e11fa47-71ca-11e1-9e33-c80aa9429562:23 is expected")
    })
}
