//! `cohort backup`: copies what a running server has.

use super::{
    Teller,
    archive::Archive,
    connect::Server,
    manifest::{self, File as Entry, Manifest, NAME},
    size, tar,
};
use cohort_engine::{env::Env, txn::backup::FileEnd};
use cohort_mysql::client::backup::Files;
use cohort_process::progress;
use cohort_sql::session::BackupKind;
use std::{
    io::{self, BufWriter, IsTerminal, Write},
    path::{Path, PathBuf},
    time::Instant,
};

/// The nice value of those who go last.
const LEAST_URGENT: i32 = 19;

/// What `cohort backup` is told.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct BackUp {
    /// Directory of the backup, which must be empty or is made; - for one stream to the standard
    /// output, a tar archive
    to: PathBuf,
    /// Copy only what is new in the log, into a directory that has earlier parts of it, or a backup
    #[arg(long)]
    logs_only: bool,
    #[command(flatten)]
    server: Server,
}

const EXAMPLES: &str = "\
Copies all databases of a server that runs, with accounts and settings of SET PERSIST, as of the
end of the copying; commits go on meanwhile, changes of definitions wait. What is in a backup and
what is not: docs/backup.md.

Examples:
  cohort backup /backup/monday
  cohort backup --port 3307 --user admin /backup/monday
      with the password in MYSQL_PWD
  cohort backup - | zstd | ssh vault 'cat > monday.tar.zst'
  cohort verify /backup/monday
  cohort backup --logs-only /backup/logs
      every few minutes: keeps the log for restoring to any moment since the last backup
  cohort restore /backup/monday --logs /backup/logs --datadir ./data \\
      --to-time '2026-11-26 14:05:00'";

/// Makes the backup; what went wrong as text.
pub fn run(backup: &BackUp) -> Result<(), String> {
    let begun = Instant::now();
    // What runs beside it on this machine, the server perhaps, goes first, if the system lets us.
    let _ = rustix::process::nice(LEAST_URGENT);
    if backup.to == Path::new("-") {
        return to_stdout(backup);
    }
    let (mut archive, kind) = if backup.logs_only {
        let archive = Archive::open(&backup.to)?;
        let kind = BackupKind::Log(archive.have());
        (archive, kind)
    } else {
        (Archive::create(&backup.to)?, BackupKind::Whole)
    };
    let mut client = backup.server.connect()?;
    let done = client
        .back_up(kind, &mut archive)
        .map_err(|error| unfinished(backup, &error))?;
    let manifest = archive.finish(done)?;
    report(&manifest, &backup.to.display().to_string(), begun);
    Ok(())
}

fn unfinished(backup: &BackUp, error: &dyn std::fmt::Display) -> String {
    let place = backup.server.place();
    match backup.logs_only {
        true => format!("{place}: {error}; what was in the directory before counts, nothing else"),
        false => format!("{place}: {error}; the backup is not whole, and of no use"),
    }
}

fn report(manifest: &Manifest, place: &str, begun: Instant) {
    let length: u64 = manifest.files.iter().map(|file| file.length).sum();
    progress!(
        "{place}: {} in {} files, up to {}:{}, in {:.1?}",
        size(length),
        manifest.files.len(),
        manifest.server_uuid,
        manifest.last_commit,
        begun.elapsed()
    );
}

fn to_stdout(backup: &BackUp) -> Result<(), String> {
    let begun = Instant::now();
    if backup.logs_only {
        return Err("--logs-only needs a directory, where it can go on the next time".to_owned());
    }
    let out = io::stdout();
    if out.is_terminal() {
        return Err("the backup would go to the terminal: redirect it".to_owned());
    }
    let mut stream = Stream {
        out: BufWriter::with_capacity(1 << 20, out.lock()),
        manifest: Manifest::new(Env::real().wall_micros()),
        current: None,
        teller: Teller::new("copied"),
    };
    let mut client = backup.server.connect()?;
    let done = client
        .back_up(BackupKind::Whole, &mut stream)
        .map_err(|error| unfinished(backup, &error))?;
    stream.manifest.complete(done);
    let bytes = stream.manifest.encode()?;
    let length = bytes.len() as u64;
    let out = &mut stream.out;
    tar::begin(out, NAME, length)
        .and_then(|()| out.write_all(&bytes))
        .and_then(|()| tar::end(out, length))
        .and_then(|()| tar::finish(out))
        .map_err(|error| failed(&error))?;
    report(&stream.manifest, "standard output", begun);
    Ok(())
}

fn failed(error: &io::Error) -> String {
    format!("standard output: {error}")
}

/// The file that is written.
struct Current {
    name: String,
    /// Its length, if it is known before it has come to its end.
    length: Option<u64>,
    /// What must wait until its length is known.
    kept: Vec<u8>,
    taken: u64,
    sum: crc32fast::Hasher,
}

/// A backup as one stream.
struct Stream<W: Write> {
    out: W,
    manifest: Manifest,
    current: Option<Current>,
    teller: Teller,
}

impl<W: Write> Files for Stream<W> {
    fn begin(&mut self, name: &str, from: u64, length: Option<u64>) -> Result<(), String> {
        if !manifest::is_ours(name) || from > 0 {
            return Err(format!("the server sends {name} from byte {from} on"));
        }
        if let Some(length) = length {
            tar::begin(&mut self.out, name, length).map_err(|error| failed(&error))?;
        }
        self.current = Some(Current {
            name: name.to_owned(),
            length,
            kept: Vec::new(),
            taken: 0,
            sum: crc32fast::Hasher::new(),
        });
        Ok(())
    }
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), String> {
        let current = self
            .current
            .as_mut()
            .ok_or("the server sends bytes of no file")?;
        current.taken += bytes.len() as u64;
        current.sum.update(bytes);
        self.teller.more(bytes.len());
        if current.length.is_none() {
            current.kept.extend_from_slice(bytes);
            return Ok(());
        }
        self.out.write_all(bytes).map_err(|error| failed(&error))
    }
    fn end(&mut self, end: FileEnd) -> Result<(), String> {
        let current = self.current.take().ok_or("the server ends no file")?;
        let crc32 = current.sum.finalize();
        let announced = current.length.unwrap_or(current.taken);
        if current.taken != end.length || announced != end.length || crc32 != end.crc32 {
            return Err(format!("{} has not arrived as it was sent", current.name));
        }
        let out = &mut self.out;
        let written = match current.length {
            Some(_) => Ok(()),
            None => tar::begin(out, &current.name, end.length)
                .and_then(|()| out.write_all(&current.kept)),
        };
        written
            .and_then(|()| tar::end(out, end.length))
            .map_err(|error| failed(&error))?;
        self.manifest.put(Entry {
            name: current.name,
            length: end.length,
            crc32,
            is_whole: end.is_whole,
        });
        Ok(())
    }
}
