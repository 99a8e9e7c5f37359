//! Checks of what is in `packaging/`: it may name nothing that is not there.

use crate::{
    config::{self, Settings},
    serve,
};
use clap::Args as _;
use cohort_engine::{
    env::fake::Disk,
    txn::{Engine, EngineOptions},
    types::Value,
};
use cohort_sql::variables;
use std::{fs, path::Path, sync::Arc};

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

fn read(name: &str) -> String {
    let path = repository().join(name);
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A setting of the sample file.
struct Sample {
    name: String,
    /// The line, without the `#` before it.
    line: String,
    /// The lines above it.
    comment: String,
}

/// The settings of the sample file: those that are set, and those that are behind a `#`.
fn samples(file: &str) -> Vec<Sample> {
    let (mut samples, mut comment) = (Vec::new(), String::new());
    for line in file.lines() {
        let bare = line.strip_prefix('#').unwrap_or(line);
        let is_setting = bare.starts_with(|c: char| c.is_ascii_lowercase());
        match bare.split_once(" = ") {
            Some((name, _)) if is_setting => samples.push(Sample {
                name: name.to_owned(),
                line: bare.to_owned(),
                comment: std::mem::take(&mut comment),
            }),
            _ if line.is_empty() => comment.clear(),
            _ => comment += &format!("{bare} "),
        }
    }
    samples
}

/// What a flag's help says is its default.
fn default_of_flag(name: &str) -> Option<String> {
    let command = Settings::augment_args(clap::Command::new("serve"));
    let flag = command.get_arguments().find(|flag| flag.get_id() == name)?;
    let help = flag.get_long_help().or(flag.get_help())?.to_string();
    let (_, told) = help.rsplit_once("[default: ")?;
    Some(told.trim_end_matches(']').to_owned())
}

#[test]
fn the_sample_names_settings_that_are_and_their_defaults() {
    let samples = samples(&read("packaging/cohort.toml"));
    assert!(samples.len() > 40, "{}", samples.len());
    for Sample {
        name,
        line,
        comment,
    } in &samples
    {
        assert!(comment.len() > 10, "{name} has no comment");
        let settings = config::parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        let variable = variables::find(name).ok();
        let of_flag = default_of_flag(name);
        assert!(
            variable.is_some() || of_flag.is_some() || settings.variables.is_empty(),
            "{name}"
        );
        if comment.contains("Default: ") {
            continue;
        }
        let table: toml::Table = line.parse().unwrap();
        let value = serve::toml_value(name, table[name].clone()).unwrap();
        let default = match (of_flag, variable) {
            (_, Some(variable)) => {
                let value = variable.convert(&value).unwrap().0;
                assert_eq!(
                    variable.show(&value),
                    variable.show(&variable.default()),
                    "{name}"
                );
                continue;
            }
            (Some(default), None) => default,
            (None, None) => panic!("{name} has no default"),
        };
        let told = match value {
            Value::Bytes(text) => config::integer(&String::from_utf8(text.clone()).unwrap())
                .map_or_else(
                    || String::from_utf8(text).unwrap(),
                    |bytes| bytes.to_string(),
                ),
            Value::Int(n) if default == "off" => if n == 0 { "off" } else { "on" }.to_owned(),
            Value::Int(n) => n.to_string(),
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(told, default, "{name}");
    }
}

/// Has a new server take the settings; an error is why it would not start.
fn start(settings: &Settings) -> Result<(), String> {
    let directory = Path::new("/data");
    let options = EngineOptions::default();
    let engine = Engine::open(&Disk::new(1).env(), directory, options, &mut |_| {});
    serve::database(settings, &Arc::new(engine.unwrap()), directory).map(drop)
}

#[test]
fn a_server_takes_all_of_the_sample() {
    let file = read("packaging/cohort.toml");
    let lines: Vec<_> = samples(&file)
        .into_iter()
        .map(|sample| sample.line)
        .collect();
    let all = config::parse(&lines.join("\n")).unwrap();
    start(&config::parse(&file).unwrap()).unwrap();
    start(&all).unwrap();
    let wrong = config::parse("no_such_setting = 1").unwrap();
    assert!(start(&wrong).is_err_and(|error| error.contains("no_such_setting")));
}

/// The instructions of the Containerfile, each with what follows it, on one line.
fn instructions() -> Vec<(String, String)> {
    let file = read("packaging/Containerfile");
    let lines = file.lines().filter(|line| !line.starts_with('#'));
    let text = lines.collect::<Vec<_>>().join("\n").replace("\\\n", " ");
    let split = |line: &str| {
        let (word, rest) = line.split_once(' ').unwrap();
        (word.to_owned(), rest.to_owned())
    };
    text.lines()
        .filter(|line| !line.is_empty())
        .map(split)
        .collect()
}

#[test]
fn the_image_is_made_of_what_is_there() {
    let instructions = instructions();
    let all = |wanted: &str| -> Vec<&str> {
        let found = instructions.iter().filter(|(word, _)| word == wanted);
        found.map(|(_, rest)| rest.as_str()).collect()
    };
    let mut copied = Vec::new();
    for copy in all("COPY") {
        let words = copy.split(' ').filter(|word| !word.starts_with("--"));
        let words: Vec<_> = words.collect();
        let [source, target] = words[..] else {
            panic!("{copy}");
        };
        // What cargo build --release makes is not there before.
        let is_built = source == "target/release/cohort";
        assert!(is_built || repository().join(source).is_file(), "{source}");
        copied.push(target);
    }
    let started: Vec<String> = serde_json::from_str(all("ENTRYPOINT")[0]).unwrap();
    assert!(copied.contains(&started[0].as_str()), "{started:?}");
    let made = all("RUN").join(" ");
    let settings = all("ENV")[0].split(' ').map(|pair| {
        let (name, path) = pair.split_once('=').unwrap();
        let directory = if name == "COHORT_SOCKET" {
            "/run/cohort"
        } else {
            path
        };
        assert!(
            path.starts_with(directory) && made.contains(directory),
            "{pair}"
        );
        (name.to_owned(), path.to_owned())
    });
    let settings = config::from_environment(settings).unwrap();
    assert!(settings.variables.is_empty(), "{:?}", settings.variables);
    let mut ports: Vec<u16> = all("EXPOSE")[0]
        .split(' ')
        .map(|port| port.parse().unwrap())
        .collect();
    for name in [
        "port",
        "coordinator_port",
        "coordinator_grpc_port",
        "console_port",
    ] {
        let default: u16 = default_of_flag(name).unwrap().parse().unwrap();
        ports.retain(|port| *port != default);
    }
    assert!(ports.is_empty(), "nobody listens on {ports:?}");
    assert_eq!(all("USER"), ["cohort"]);
    let known = [
        "ARG",
        "FROM",
        "RUN",
        "COPY",
        "USER",
        "WORKDIR",
        "VOLUME",
        "ENV",
        "EXPOSE",
        "STOPSIGNAL",
        "ENTRYPOINT",
        "CMD",
    ];
    for (word, _) in &instructions {
        assert!(known.contains(&word.as_str()), "{word}");
    }
}

#[test]
fn the_unit_starts_the_server_as_the_settings_expect_it() {
    let unit = read("packaging/cohort.service");
    let settings = config::parse(&read("packaging/cohort.toml")).unwrap();
    let one = |name: &str| {
        let line = unit.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("{name}"))
    };
    let program = one("ExecStart=/usr/bin/");
    assert_eq!(program, "cohort serve --config /etc/cohort/cohort.toml");
    let state = Path::new("/var/lib").join(one("StateDirectory="));
    assert_eq!(settings.datadir.as_deref(), Some(state.as_path()));
    let runtime = Path::new("/run").join(one("RuntimeDirectory="));
    assert_eq!(settings.socket.unwrap().parent(), Some(runtime.as_path()));
}
