//! The system calls by which a process writes, seen from outside by strace.
//!
//! A traced process stops at each system call, so that it is slower, and what shares a group may
//! differ: a traced round counts for what it counts, not for its speed.

use super::{BUCKETS, Files, count, kind};
use crate::lab::temporary::Temporary;
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;
use std::{
    collections::HashMap,
    fs::{self, File},
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Calls that are traced.
const CALLS: &str =
    "trace=fsync,fdatasync,sync_file_range,msync,write,pwrite64,writev,pwritev,pwritev2";
/// How long it may take until the process is traced.
const ATTACH: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(20);

/// What was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outside {
    /// Calls by kind of file.
    pub files: Files,
    /// All syncs.
    pub syncs: u64,
    /// Syncs by how long they took.
    pub histogram: [u64; BUCKETS],
}

/// A process under strace.
pub struct Trace {
    strace: Child,
    directory: Temporary,
}

impl Trace {
    /// Begins.
    ///
    /// # Errors
    /// It cannot be traced; the text says why.
    pub fn begin(pid: u32) -> Result<Trace, String> {
        let directory = Temporary::make("trace").map_err(|error| error.to_string())?;
        let errors = directory.path().join("errors");
        let file = File::create(&errors).map_err(|error| error.to_string())?;
        let strace = Command::new("strace")
            .args(["-f", "-y", "-T", "-qq", "-s", "0", "-e", CALLS, "-o"])
            .arg(directory.path().join("calls"))
            .arg(format!("--attach={pid}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(file)
            .spawn()
            .map_err(|error| format!("strace: {error}"))?;
        let mut trace = Trace { strace, directory };
        let until = Instant::now() + ATTACH;
        while !is_traced(pid) {
            if trace.strace.try_wait().ok().flatten().is_some() || Instant::now() > until {
                let said = fs::read_to_string(&errors).unwrap_or_default();
                return Err(format!("strace: {}", said.trim()));
            }
            thread::sleep(LOOK);
        }
        Ok(trace)
    }

    /// Ends; what was seen.
    ///
    /// # Errors
    /// What strace has written cannot be read.
    pub fn end(mut self) -> Result<Outside, String> {
        self.stop();
        let path = self.directory.path().join("calls");
        let file = File::open(&path).map_err(|error| format!("strace's output: {error}"))?;
        let mut reading = Reading::default();
        for line in BufReader::new(file).lines() {
            let line = line.map_err(|error| format!("strace's output: {error}"))?;
            reading.line(&line);
        }
        Ok(reading.outside)
    }

    /// Lets the process go.
    fn stop(&mut self) {
        let pid = i32::try_from(self.strace.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // It may have ended with the process.
            let _ = kill_process(pid, Signal::INT);
        }
        let _ = self.strace.wait();
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Whether all threads of a process are traced.
fn is_traced(pid: u32) -> bool {
    let tasks = fs::read_dir(Path::new("/proc").join(pid.to_string()).join("task"));
    let Ok(tasks) = tasks else {
        return false;
    };
    tasks.flatten().all(|task| {
        // A thread may have ended since.
        let status = fs::read_to_string(task.path().join("status")).unwrap_or_default();
        let tracer = status
            .lines()
            .find_map(|line| line.strip_prefix("TracerPid:"));
        tracer.is_none_or(|pid| pid.trim() != "0")
    })
}

/// strace's output, line by line.
#[derive(Default)]
struct Reading {
    outside: Outside,
    /// Files of calls that another thread's came in between of, by thread.
    open: HashMap<String, String>,
}

impl Reading {
    /// `7 write(3</data/x>, ""..., 9) = 9 <0.000012>`; or in two pieces, `7 write(3</data/x>, ""..., 9
    /// <unfinished ...>` and `7 <... write resumed>) = 9 <0.000012>`.
    fn line(&mut self, line: &str) {
        let Some((thread, call)) = line.split_once(' ') else {
            return;
        };
        let call = call.trim_start();
        if let Some(rest) = call.strip_prefix("<... ") {
            let name = rest.split(' ').next().unwrap_or_default();
            if let Some(file) = self.open.remove(thread) {
                self.ended(name, &file, rest);
            }
            return;
        }
        let Some((name, arguments)) = call.split_once('(') else {
            return;
        };
        let file = match arguments.split_once('<') {
            // A socket or a pipe is no file.
            Some((number, rest)) if number.bytes().all(|b| b.is_ascii_digit()) => {
                rest.split('>').next().filter(|path| path.starts_with('/'))
            }
            _ => None,
        };
        // msync has an address instead.
        let file = match (file, name) {
            (Some(file), _) => kind(file),
            (None, "msync") => "(mapped memory)".to_owned(),
            (None, _) => return,
        };
        if call.contains("<unfinished ...>") {
            self.open.insert(thread.to_owned(), file);
        } else {
            self.ended(name, &file, arguments);
        }
    }

    fn ended(&mut self, name: &str, file: &str, rest: &str) {
        let Some((before, seconds)) = rest.trim_end().trim_end_matches('>').rsplit_once('<') else {
            return;
        };
        let result = before
            .rsplit('=')
            .next()
            .and_then(|text| text.trim().parse::<i64>().ok());
        let calls = self.outside.files.entry(file.to_owned()).or_default();
        if name.contains("write") {
            calls.writes += 1;
            calls.bytes += result.and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
            return;
        }
        calls.syncs += 1;
        self.outside.syncs += 1;
        if let Ok(seconds) = seconds.parse::<f64>() {
            count(&mut self.outside.histogram, (seconds * 1e6) as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Calls;
    use super::*;

    #[test]
    fn lines_of_strace() {
        let mut reading = Reading::default();
        for line in [
            "71 write(27</d/binlog.000003>, \"\"..., 147) = 147 <0.000170>",
            "71 fdatasync(27</d/binlog.000003>) = 0 <0.000246>",
            "72 fdatasync(27</d/binlog.000003> <unfinished ...>",
            "71 pwrite64(13</d/ib_logfile0>, \"\"..., 8192, 1019531264 <unfinished ...>",
            "72 <... fdatasync resumed>)            = 0 <0.001746>",
            "71 <... pwrite64 resumed>)             = 8192 <0.000139>",
            "71 write(5<TCP:[1->2]>, \"\"..., 11)   = 11 <0.000010>",
            "71 write(6<socket:[99]>, \"\"..., 11)  = 11 <0.000010>",
            "71 msync(0x7f0000, 4096, MS_SYNC)      = 0 <0.000050>",
            "71 +++ exited with 0 +++",
        ] {
            reading.line(line);
        }
        let calls = |writes, bytes, syncs| Calls {
            writes,
            bytes,
            syncs,
        };
        let expected = Files::from([
            ("(mapped memory)".into(), calls(0, 0, 1)),
            ("binlog.*".into(), calls(1, 147, 2)),
            ("ib_logfile*".into(), calls(1, 8192, 0)),
        ]);
        assert_eq!(reading.outside.files, expected);
        assert_eq!(reading.outside.syncs, 3);
        let histogram = reading.outside.histogram;
        assert_eq!((histogram[0], histogram[2], histogram[15]), (1, 1, 1));
    }
}
