//! Where, when and how a report was made.

use serde::{Deserialize, Serialize};
use std::{
    fs::{self, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::Path,
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// What is written before each sync that is timed.
const BLOCK: [u8; 4096] = [b'x'; 4096];
/// Syncs that are timed to tell what the disk is like.
const SYNCS: usize = 50;

/// The machine and the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// When it began (UTC).
    pub at: String,
    /// The version of this program.
    pub program: String,
    /// The command, without passwords.
    pub command: String,
    /// What its maker has to say of it; empty if nothing.
    #[serde(default)]
    pub remark: String,
    /// The kernel's release.
    pub kernel: String,
    /// How many processors of which kind.
    pub processors: String,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// The load average of the minute before: what else the machine had to do.
    pub load: String,
    /// The file system and the device that own servers keep their data on.
    pub disk: String,
    /// How long it takes there, in microseconds, until 4 KiB are durable (fdatasync): the median.
    pub sync_us: f64,
}

impl Environment {
    /// This machine, now.
    ///
    /// # Errors
    /// The directory of temporary files cannot be written to.
    pub fn here() -> Result<Environment, String> {
        let directory = std::env::temp_dir();
        let failed = |error| format!("{}: {error}", directory.display());
        let syncs = sync_times(&directory, SYNCS, false).map_err(failed)?;
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let load = read("/proc/loadavg");
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Ok(Environment {
            at: moment(now.map_or(0, |now| now.as_secs().cast_signed())),
            program: format!("cohort {}", env!("CARGO_PKG_VERSION")),
            command: command(std::env::args().skip(1)),
            remark: String::new(),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            processors: processors(&read("/proc/cpuinfo")),
            memory_bytes: memory(&read("/proc/meminfo")),
            load: load.split(' ').next().unwrap_or_default().to_owned(),
            disk: disk(&read("/proc/self/mountinfo"), &directory),
            sync_us: median_us(&syncs),
        })
    }

    /// What is shown of it: names and values.
    #[must_use]
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let memory = self.memory_bytes as f64 / f64::from(1 << 30);
        vec![
            ("made at", self.at.clone()),
            ("by", self.program.clone()),
            ("command", self.command.clone()),
            ("remark", self.remark.clone()),
            ("kernel", self.kernel.clone()),
            ("processors", self.processors.clone()),
            ("memory", format!("{memory:.1} GiB")),
            ("load average before", self.load.clone()),
            ("disk", self.disk.clone()),
            ("fdatasync of 4 KiB", format!("{:.0} µs", self.sync_us)),
        ]
    }
}

fn moment(seconds: i64) -> String {
    chrono::DateTime::from_timestamp(seconds, 0)
        .map_or_else(|| "-".to_owned(), |at| at.naive_utc().to_string() + " UTC")
}

/// The median in microseconds.
fn median_us(times: &[Duration]) -> f64 {
    let us = times.iter().map(|time| time.as_secs_f64() * 1e6);
    super::sample::median(us.collect())
}

/// How long each of so many syncs (fdatasync) of a block takes in a directory, one after another: of
/// the same block again and again, or of a file that grows, whose length must be durable as well.
///
/// # Errors
/// A file there cannot be made or written.
pub fn sync_times(directory: &Path, count: usize, grows: bool) -> io::Result<Vec<Duration>> {
    let name = format!(
        "cohort-lab-sync-{}-{:?}",
        std::process::id(),
        thread::current().id()
    );
    let path = directory.join(name);
    let file = OpenOptions::new().create_new(true).write(true).open(&path);
    let measured = file.and_then(|file| {
        file.write_all_at(&BLOCK, 0)?;
        file.sync_all()?;
        let mut at = 0;
        let mut each = || {
            let begun = Instant::now();
            file.write_all_at(&BLOCK, at)?;
            at += if grows { BLOCK.len() as u64 } else { 0 };
            file.sync_data()?;
            Ok(begun.elapsed())
        };
        (0..count).map(|_| each()).collect()
    });
    // It is in the way if it stays, but what was measured counts.
    let _ = fs::remove_file(&path);
    measured
}

/// The command line without the program's path and without passwords.
fn command(arguments: impl Iterator<Item = String>) -> String {
    let words = arguments.map(|argument| without_password(&argument));
    let quoted = words.map(|word| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:@,%+*".contains(c);
        if !word.is_empty() && word.chars().all(is_plain) {
            word
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    std::iter::once("cohort".to_owned())
        .chain(quoted)
        .collect::<Vec<_>>()
        .join(" ")
}

fn without_password(argument: &str) -> String {
    let Some((before, rest)) = argument.split_once("://") else {
        return argument.to_owned();
    };
    let authority = rest.split(['/', '?']).next().unwrap_or(rest);
    match authority.rsplit_once('@').map(|(who, _)| who) {
        Some(who) if who.contains(':') => {
            let user = who.split(':').next().unwrap_or_default();
            format!("{before}://{user}:***{}", &rest[who.len()..])
        }
        _ => argument.to_owned(),
    }
}

/// Out of /proc/cpuinfo.
fn processors(text: &str) -> String {
    let of = |name: &str| {
        let lines = text.lines().filter_map(move |line| line.split_once(':'));
        lines.filter(move |(key, _)| key.trim() == name).count()
    };
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let model = lines.find(|(key, _)| key.trim() == "model name");
    let model = model.map_or("unknown", |(_, value)| value.trim());
    format!("{} × {model}", of("processor"))
}

/// MemTotal out of /proc/meminfo, in bytes; 0 if it is not there.
fn memory(text: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB"));
    kib.and_then(|kib| kib.trim().parse::<u64>().ok())
        .unwrap_or(0)
        * 1024
}

/// The file system of a directory, out of /proc/self/mountinfo.
fn disk(text: &str, directory: &Path) -> String {
    let directory = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
    let mounts = text.lines().filter_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let place = before.split(' ').nth(4)?;
        let mut after = after.split(' ');
        let (kind, device) = (after.next()?, after.next()?);
        directory
            .starts_with(place)
            .then(|| (place.len(), format!("{kind} on {device}")))
    });
    // Of two at the same place the later one is in front.
    mounts
        .max_by_key(|(length, _)| *length)
        .map_or_else(|| "unknown".to_owned(), |(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine() {
        let found = Environment::here().unwrap();
        assert!(
            found.sync_us > 0.0 && found.memory_bytes > 1 << 20,
            "{found:?}"
        );
        assert!(
            !found.kernel.is_empty() && found.disk.contains(" on "),
            "{found:?}"
        );
        assert_eq!(moment(0), "1970-01-01 00:00:00 UTC");
    }

    #[test]
    fn passwords_are_not_told() {
        let words = ["lab", "m=mysql://sb:p@ss@h:1/db?pid=7", "a b"];
        let told = command(words.iter().map(|word| (*word).to_owned()));
        assert_eq!(told, "cohort lab 'm=mysql://sb:***@h:1/db?pid=7' 'a b'");
        assert_eq!(without_password("mysql://sb@h:1"), "mysql://sb@h:1");
    }

    #[test]
    fn mounts() {
        let text = "1 1 0:1 / / rw - overlay overlay rw\n\
                    2 1 8:1 / /data rw,relatime shared:1 - ext4 /dev/vda1 rw\n";
        assert_eq!(disk(text, Path::new("/data/x")), "ext4 on /dev/vda1");
        assert_eq!(disk(text, Path::new("/database")), "overlay on overlay");
        assert_eq!(
            processors("processor : 0\nmodel name : A B\nprocessor : 1\n"),
            "2 × A B"
        );
    }
}
