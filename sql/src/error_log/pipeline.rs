//! Which lines are written, and in which form: log_error_verbosity, log_error_suppression_list and
//! log_error_services.

use super::{Level, Notice, Value};
use std::path::{Path, PathBuf};

/// A form of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sink {
    /// MySQL's lines of text.
    Text,
    /// A JSON object for each line.
    Json,
}

impl Sink {
    pub const ALL: [Sink; 2] = [Sink::Text, Sink::Json];

    /// Its file, where log_error names one: JSON lines have one of their own, as in MySQL.
    pub fn path(self, log_error: &Path) -> PathBuf {
        match self {
            Sink::Text => log_error.to_owned(),
            Sink::Json => {
                let mut path = log_error.as_os_str().to_owned();
                path.push(".00.json");
                path.into()
            }
        }
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Pipeline {
    services: Services,
    /// Up to which level lines are written.
    verbosity: u64,
    suppressed: Vec<Notice>,
}

impl Default for Pipeline {
    fn default() -> Pipeline {
        Pipeline {
            services: Services {
                filters: true,
                sinks: vec![Sink::Text],
            },
            verbosity: Level::Warning as u64,
            suppressed: Vec::new(),
        }
    }
}

impl Pipeline {
    pub fn set(&mut self, name: &str, value: &Value) {
        match (name, value) {
            ("log_error_verbosity", Value::UInt(level)) => self.verbosity = *level,
            ("log_error_services", Value::Bytes(list)) => {
                if let Some(services) = services(list) {
                    self.services = services;
                }
            }
            ("log_error_suppression_list", Value::Bytes(list)) => {
                if let Some(notices) = notices(list) {
                    self.suppressed = notices;
                }
            }
            _ => {}
        }
    }
    /// Errors, and what everybody wants to know, cannot be suppressed.
    pub fn lets_through(&self, notice: Notice) -> bool {
        let level = notice.level();
        let is_wanted = level as u64 <= self.verbosity
            && (level < Level::Warning || !self.suppressed.contains(&notice));
        !self.services.filters || is_wanted
    }
    pub fn sinks(&self) -> &[Sink] {
        &self.services.sinks
    }
}

/// log_error_services.
#[derive(Clone, Debug)]
struct Services {
    /// The verbosity and the list of what is suppressed are looked at.
    filters: bool,
    sinks: Vec<Sink>,
}

/// `None` for what is no list of services that are there.
fn services(list: &[u8]) -> Option<Services> {
    let list = std::str::from_utf8(list).ok()?;
    let mut found = Services {
        filters: false,
        sinks: Vec::new(),
    };
    let names = list.split([',', ';', ' ']).filter(|name| !name.is_empty());
    for name in names {
        let sink = match name {
            "log_filter_internal" if !found.filters => {
                found.filters = true;
                continue;
            }
            "log_sink_internal" => Sink::Text,
            "log_sink_json" => Sink::Json,
            _ => return None,
        };
        if found.sinks.contains(&sink) {
            return None;
        }
        found.sinks.push(sink);
    }
    Some(found)
}

/// `None` for what is no list of codes or names of lines. What MySQL says and this server does not
/// may be named: there is nothing to suppress.
fn notices(list: &[u8]) -> Option<Vec<Notice>> {
    let list = std::str::from_utf8(list).ok()?.trim();
    if list.is_empty() {
        return Some(Vec::new());
    }
    let mut found = Vec::new();
    for name in list.split(',').map(str::trim) {
        let number = name.strip_prefix("MY-").unwrap_or(name).parse::<u32>().ok();
        let is_it = |notice: &&Notice| {
            notice.symbol().eq_ignore_ascii_case(name) || number == Some(notice.number())
        };
        match Notice::ALL.iter().find(is_it) {
            Some(notice) => found.push(*notice),
            None if is_mysqls(name, number) => {}
            None => return None,
        }
    }
    Some(found)
}

/// Whether it may be a line of MySQL's log: their numbers begin at 10000.
fn is_mysqls(name: &str, number: Option<u32>) -> bool {
    match number {
        Some(number) => (10_000..50_000).contains(&number),
        None => {
            name.starts_with("ER_") && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        }
    }
}

pub(super) fn can_be(name: &str, value: &Value) -> bool {
    match (name, value) {
        ("log_error_services", Value::Bytes(list)) => services(list).is_some(),
        ("log_error_suppression_list", Value::Bytes(list)) => notices(list).is_some(),
        ("log_error_services" | "log_error_suppression_list", _) => false,
        _ => true,
    }
}
