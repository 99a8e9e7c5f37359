//! docs/status.md tells of every status counter, and of no other.

use crate::{config::Settings, serve, tls};
use cohort_engine::{
    env::fake::Disk,
    txn::{Engine, EngineOptions, Unattended},
    types::Value,
};
use cohort_sql::{
    ColumnMeta, Done, Output, Session,
    session::Identity,
    status::{COUNTERS, Counter},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The rows of the page: names, and what they count.
fn page() -> BTreeMap<String, String> {
    let page = fs::read_to_string(repository().join("docs/status.md")).unwrap();
    let rows = page.lines().filter_map(|line| {
        let (name, what) = line
            .strip_prefix("| ")?
            .strip_suffix(" |")?
            .split_once(" | ")?;
        (name != "Name").then(|| (name.to_owned(), what.to_owned()))
    });
    rows.collect()
}

/// The first column of a result.
#[derive(Default)]
struct Names(Vec<String>);

impl Output for Names {
    fn columns(&mut self, _: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> io::Result<()> {
        if let Some(Value::Bytes(name)) = row.first() {
            self.0.push(String::from_utf8(name.clone()).unwrap());
        }
        Ok(())
    }
    fn end(&mut self, _: &Done) -> io::Result<()> {
        Ok(())
    }
}

/// What a server with TLS tells.
fn told() -> Vec<String> {
    let directory = std::env::temp_dir().join(format!("cohort-status-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    let options = EngineOptions::default();
    let engine = Engine::open(
        &Disk::new(1).env(),
        Path::new("/data"),
        options,
        &mut |_| {},
    );
    let engine = Arc::new(engine.unwrap());
    let database = serve::database(&Settings::default(), &engine, &directory).unwrap();
    let _tls = tls::start(&database.instance, &directory).unwrap();
    let who = Identity {
        user: "root".into(),
        host: "localhost".into(),
        account: None,
    };
    let instance = Arc::clone(&database.instance);
    let mut session = Session::new(instance, 1, who, Arc::new(Unattended), false);
    let mut names = Names::default();
    let asked = session.query(b"SHOW SESSION STATUS", false, &mut names);
    asked.map_err(|error| error.message).unwrap();
    fs::remove_dir_all(&directory).unwrap();
    names.0
}

#[test]
fn the_page_has_every_counter() {
    let (page, told) = (page(), told());
    let missing: Vec<_> = told
        .iter()
        .filter(|name| !page.contains_key(*name))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/status.md says nothing of {missing:?}"
    );
    let gone: Vec<_> = page.keys().filter(|name| !told.contains(name)).collect();
    assert!(
        gone.is_empty(),
        "docs/status.md tells of {gone:?}, which are not there"
    );
    assert!(told.len() > 150, "{}", told.len());
}

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => sources(&path, found),
            false => found.push(path),
        }
    }
}

#[test]
fn what_counts_nothing_is_said_to_be_0() {
    let mut files = Vec::new();
    for name in ["sql", "mysql", "server"] {
        sources(&repository().join(name).join("src"), &mut files);
    }
    let texts: Vec<String> = files
        .iter()
        .map(|file| fs::read_to_string(file).unwrap())
        .collect();
    let named = texts.iter().flat_map(|text| {
        let after = text.split("Counter::").skip(1);
        after.filter_map(|text| text.split(|c: char| !c.is_alphanumeric()).next())
    });
    let named: BTreeSet<&str> = named.collect();
    let page = page();
    // Of statements, most are counted by their names.
    let others = COUNTERS
        .iter()
        .filter(|(_, name)| !name.starts_with("Com_"));
    for (counter, name) in others {
        let counter: &Counter = counter;
        let is_counted = named.contains(format!("{counter:?}").as_str());
        let is_said = page
            .get(*name)
            .is_some_and(|what| what.starts_with("always 0"));
        assert!(is_counted != is_said, "{name}: is it counted, or always 0?");
    }
}
