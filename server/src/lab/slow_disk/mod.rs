//! A disk whose syncs take longer: how servers would do on one that is slower than this machine's.
//!
//! It is a file system in user space (FUSE), in a process of its own: what is done there is done to
//! files of a directory of this machine, and each fsync and fdatasync is answered later than it is
//! done. So the delay is where a slow disk has it, behind the system call, and whatever a server does to
//! its files goes through it. What else it costs to go through user space comes on top: that is why
//! the disk is measured first where servers have their files ([`files`]).
//!
//! It needs /dev/fuse, and root (or fusermount3).

mod files;

use super::temporary::Temporary;
use clap::Args;
use cohort_process::companion::accompany;
use files::Files;
use fuser::{Config, MountOption, spawn_mount};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    iterator::Signals,
};
use std::{
    fs::{self, File},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// `cohort lab slow-disk`, which other experiments start.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Where the files really are
    files: PathBuf,
    /// Where they are seen, with slow syncs: a directory
    place: PathBuf,
    /// How much longer a sync takes, in microseconds
    #[arg(long)]
    delay_us: u64,
}

/// Requests that are served at the same time, but for syncs, of which there may be any number.
const THREADS: usize = 4;
/// How long it may take until the disk is there, and until it has gone.
const START: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(10);
/// A file that is there when the disk is.
const MARK: &str = ".disk";

/// Serves until the process is asked to end.
///
/// # Errors
/// The disk cannot be mounted.
pub fn run(options: &Options) -> Result<(), String> {
    let failed = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
    accompany().map_err(|error| failed("a session of its own", &error))?;
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(|error| failed("signals", &error))?;
    let delay = Duration::from_micros(options.delay_us);
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName("cohort-lab".into()),
        MountOption::DefaultPermissions,
    ];
    config.n_threads = Some(THREADS);
    let files = Files::of(&options.files, delay);
    let mounted = spawn_mount(files, &options.place, &config)
        .map_err(|error| failed("a file system in user space cannot be mounted", &error))?;
    signals.forever().next();
    mounted
        .umount_and_join()
        .map_err(|error| failed("the file system cannot be unmounted", &error))
}

/// A slow disk; it goes, with what is on it, when this is dropped.
pub struct SlowDisk {
    child: Child,
    directory: Temporary,
}

impl SlowDisk {
    /// Makes one, where each sync takes so much longer than on this machine's.
    ///
    /// # Errors
    /// It cannot be made here; the text says why.
    pub fn make(delay: Duration) -> Result<SlowDisk, String> {
        let failed = |error: std::io::Error| format!("the slow disk: {error}");
        let directory = Temporary::make("disk").map_err(failed)?;
        let files = directory.path().join("files");
        let place = directory.path().join("place");
        fs::create_dir(&files).map_err(failed)?;
        fs::create_dir(&place).map_err(failed)?;
        fs::write(files.join(MARK), []).map_err(failed)?;
        let errors = directory.path().join("errors");
        let child = Command::new(std::env::current_exe().map_err(failed)?)
            .args(["lab", "slow-disk"])
            .arg(format!("--delay-us={}", delay.as_micros()))
            .args([&files, &place])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&errors).map_err(failed)?)
            .spawn()
            .map_err(failed)?;
        let mut disk = SlowDisk { child, directory };
        let until = Instant::now() + START;
        while !disk.place().join(MARK).exists() {
            if disk.child.try_wait().ok().flatten().is_some() || Instant::now() > until {
                let said = fs::read_to_string(&errors).unwrap_or_default();
                return Err(format!("the slow disk: {}", said.trim()));
            }
            thread::sleep(LOOK);
        }
        Ok(disk)
    }

    /// Where its files are.
    #[must_use]
    pub fn place(&self) -> PathBuf {
        self.directory.path().join("place")
    }
}

impl Drop for SlowDisk {
    fn drop(&mut self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // It may have ended by itself.
            let _ = kill_process(pid, Signal::TERM);
        }
        let until = Instant::now() + START;
        while self.child.try_wait().ok().flatten().is_none() {
            if Instant::now() > until {
                // Somebody still has a file open there.
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            thread::sleep(LOOK);
        }
    }
}

/// A delay as the command line gives it: `1ms`, `250us`, `0.5s`.
///
/// # Errors
/// It is none.
pub fn delay(text: &str) -> Result<Duration, String> {
    const FORM: &str = "a time with its unit is wanted, such as 1ms, 250us or 0.5s";
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let seconds = match &text[digits.len()..] {
        "s" => 1.0,
        "ms" => 1e-3,
        "us" => 1e-6,
        _ => return Err(FORM.into()),
    };
    let number: f64 = digits.parse().map_err(|_| FORM.to_owned())?;
    let delay = Duration::try_from_secs_f64(number * seconds).map_err(|_| FORM.to_owned())?;
    match delay > Duration::ZERO && delay <= Duration::from_secs(10) {
        true => Ok(delay),
        false => Err("a delay is more than nothing and at most 10s".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_have_units() {
        assert_eq!(delay("1ms"), Ok(Duration::from_millis(1)));
        assert_eq!(delay("250us"), Ok(Duration::from_micros(250)));
        assert_eq!(delay("0.5s"), Ok(Duration::from_millis(500)));
        for text in ["", "1", "ms", "1m", "-1ms", "0ms", "11s", "NaNs"] {
            assert!(delay(text).is_err(), "{text}");
        }
    }
}
