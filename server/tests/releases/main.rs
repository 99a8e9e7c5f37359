//! Data that releases have written: this version opens it, reads it and goes on with it.
//!
//! A directory beside this file is a release: a data directory whose server was killed (tables in the
//! base, and changes in the log alone), a backup of it, and what that server answered. `store.py`
//! has made them.

use cohort_mysql::client::{Client, Row, login::Account, url};
use rustix::process::{Pid, Signal, kill_process};
use ruzstd::decoding::StreamingDecoder;
use std::{
    fmt::Write,
    fs::{self, File},
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// A directory that goes when this does.
struct Room(PathBuf);

impl Room {
    fn new(name: &str) -> Room {
        let path = std::env::temp_dir().join(format!("cohort-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Room(path)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What is stored of each release: its name, and its directory.
fn releases() -> Vec<(String, PathBuf)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/releases");
    let entries = fs::read_dir(here).unwrap().map(|entry| entry.unwrap());
    let directories = entries.filter(|entry| entry.path().is_dir());
    let name = |entry: &fs::DirEntry| entry.file_name().into_string().unwrap();
    directories
        .map(|entry| (name(&entry), entry.path()))
        .collect()
}

fn decompressed(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut decoder = StreamingDecoder::new(File::open(path).unwrap()).unwrap();
    decoder.read_to_end(&mut bytes).unwrap();
    bytes
}

/// Unpacks a tar archive of plain files.
fn unpack(mut archive: &[u8], directory: &Path) {
    const BLOCK: usize = 512;
    fs::create_dir_all(directory).unwrap();
    let text = |field: &[u8]| {
        let end = field.iter().position(|byte| *byte == 0);
        String::from_utf8(field[..end.unwrap_or(field.len())].to_vec()).unwrap()
    };
    while archive.first().is_some_and(|byte| *byte != 0) {
        let (header, rest) = archive.split_at(BLOCK);
        let length = usize::from_str_radix(&text(&header[124..136]), 8).unwrap();
        fs::write(directory.join(text(&header[..100])), &rest[..length]).unwrap();
        archive = &rest[length.next_multiple_of(BLOCK)..];
    }
}

/// The program, without settings that are meant for other tests.
fn cohort() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cohort"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("COHORT_") {
            command.env_remove(name);
        }
    }
    command
}

/// Runs a command that must succeed.
fn run(arguments: &[&str]) {
    let done = cohort().args(arguments).output().unwrap();
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{arguments:?}: {told}");
}

/// A server on a data directory.
struct Server {
    process: Child,
    client: Client,
}

impl Server {
    fn start(directory: &Path) -> Server {
        let mut process = cohort()
            .args(["serve", "--port", "0", "--coordinator", "off", "--datadir"])
            .arg(directory)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let mut told = String::new();
        let address = loop {
            let Some(line) = lines.next() else {
                panic!("the server does not start:\n{told}");
            };
            let line = line.unwrap();
            if let Some((_, rest)) = line.split_once("ready on ") {
                break rest.split(' ').next().unwrap().to_owned();
            }
            told += &format!("{line}\n");
        };
        // Nobody may keep the server from telling more.
        std::thread::spawn(move || lines.for_each(drop));
        let account = Account {
            user: "root".into(),
            ..Account::default()
        };
        let mut client = url::connect(&address, &account, None).unwrap();
        client.execute("SET NAMES utf8mb4").unwrap();
        client.execute("SET time_zone = '+00:00'").unwrap();
        Server { process, client }
    }
    /// The rows of a query, as `mysql --batch` shows them.
    fn ask(&mut self, sql: &str) -> String {
        let rows = self.client.query(sql);
        let rows = rows.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        rows.iter().map(|row| shown(row) + "\n").collect()
    }
    fn execute(&mut self, sql: &str) {
        let done = self.client.execute(sql);
        done.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
    fn stop(mut self) {
        let pid = Pid::from_child(&self.process);
        kill_process(pid, Signal::TERM).unwrap();
        assert!(self.process.wait().unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
    }
}

fn shown(row: &Row) -> String {
    let value = |value: &Option<String>| match value {
        None => "NULL".to_owned(),
        Some(text) => text
            .replace('\\', "\\\\")
            .replace('\t', "\\t")
            .replace('\n', "\\n"),
    };
    row.iter().map(value).collect::<Vec<_>>().join("\t")
}

/// The queries of a release's file, and its answers.
fn answers(text: &str) -> Vec<(&str, String)> {
    let mut answers: Vec<(&str, String)> = Vec::new();
    for line in text.lines() {
        if let Some(sql) = line.strip_prefix("> ") {
            answers.push((sql, String::new()));
        } else if let Some((_, rows)) = answers.last_mut() {
            let _ = writeln!(rows, "{line}");
        }
    }
    answers
}

/// What the release has answered is answered still, and all of it can be changed.
fn read_and_go_on(directory: &Path, release: &Path) {
    let path = directory.to_str().unwrap();
    run(&["check", path]);
    let text = fs::read_to_string(release.join("answers.txt")).unwrap();
    let answers = answers(&text);
    assert!(answers.len() > 30, "only {} answers", answers.len());
    let mut server = Server::start(directory);
    for (sql, rows) in &answers {
        assert_eq!(&server.ask(sql), rows, "{sql}");
    }
    server.execute("XA COMMIT 'held', 'branch', 7");
    let held = "SELECT GROUP_CONCAT(id) FROM kept.parents WHERE id >= 4";
    assert_eq!(server.ask(held), "4,9\n");
    server.execute("INSERT INTO kept.texts (u) VALUES ('later')");
    assert_eq!(server.ask("SELECT MAX(id) FROM kept.texts"), "103\n");
    server.execute("INSERT INTO kept.without_key VALUES (3, 'later')");
    server.execute("ALTER TABLE kept.numbers ADD COLUMN later INT");
    server.execute("UPDATE kept.documents SET tags = '[5]', price = 238 WHERE id = 1");
    server.stop();
    run(&["check", path]);
    let mut server = Server::start(directory);
    let documents = "SELECT id, net FROM kept.documents WHERE 5 MEMBER OF (tags)";
    assert_eq!(server.ask(documents), "1\t200.00\n");
    assert_eq!(server.ask(held), "4,9\n");
    assert_eq!(server.ask("SELECT COUNT(*) FROM kept.without_key"), "3\n");
    server.stop();
}

#[test]
fn data_of_every_release_opens() {
    let releases = releases();
    assert!(!releases.is_empty());
    for (name, release) in releases {
        let room = Room::new(&format!("release-{name}"));
        let data = room.0.join("data");
        unpack(&decompressed(&release.join("data.tar.zst")), &data);
        read_and_go_on(&data, &release);
    }
}

#[test]
fn backups_of_every_release_are_restored() {
    for (name, release) in releases() {
        let room = Room::new(&format!("backup-{name}"));
        let (archive, data) = (room.0.join("backup.tar"), room.0.join("data"));
        fs::write(&archive, decompressed(&release.join("backup.tar.zst"))).unwrap();
        let (archive, path) = (archive.to_str().unwrap(), data.to_str().unwrap());
        run(&["verify", archive]);
        run(&["restore", "--datadir", path, archive]);
        read_and_go_on(&data, &release);
    }
}
