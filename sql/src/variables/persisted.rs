//! Values of variables that outlast a restart: SET PERSIST. They stand in `mysqld-auto.cnf` in the
//! data directory, in MySQL's own format, and are set when the server starts, after all others.

use super::{Kind, Variable};
use crate::error::SqlError;
use cohort_engine::{env::Env, types::Value};
use parking_lot::Mutex;
use serde_json::{Map, Value as Json, json};
use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

/// The name of the file.
pub const FILE: &str = "mysqld-auto.cnf";
/// The version of its format.
const VERSION: u64 = 2;
/// It is not larger than that: a few hundred variables.
const BYTES_MAX: usize = 16 << 20;
/// Its sections: MySQL parts its variables by when it reads them. Here all are alike.
const SECTIONS: [&str; 7] = [
    "mysql_dynamic_variables",
    "mysql_dynamic_parse_early_variables",
    "mysql_static_variables",
    "mysql_static_parse_early_variables",
    "mysql_dynamic_sensitive_variables",
    "mysql_static_sensitive_variables",
    "mysql_sensitive_variables",
];

/// A value as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Persisted {
    /// Its text, as SHOW VARIABLES has it.
    pub value: String,
    /// When it was set, in microseconds since 1970.
    pub micros: u64,
    /// Who set it.
    pub user: String,
    /// From where.
    pub host: String,
}

/// All that are kept, by the names of their variables.
pub type Variables = BTreeMap<String, Persisted>;

/// The values, and the file that they stand in.
pub struct Store {
    env: Env,
    path: PathBuf,
    variables: Mutex<Variables>,
}

impl Store {
    /// Nothing yet, and the file it will stand in.
    #[must_use]
    pub fn new(env: Env, directory: &Path) -> Store {
        Store {
            env,
            path: directory.join(FILE),
            variables: Mutex::default(),
        }
    }
    /// What the file in a data directory holds; without one, nothing.
    ///
    /// # Errors
    /// It cannot be read, or is none of this format: the text says what to do.
    pub fn open(env: Env, directory: &Path) -> Result<Store, String> {
        let store = Store::new(env, directory);
        let wrong = |why: String| {
            format!(
                "{}: {why}; correct the file, or delete it and set the variables again",
                store.path.display()
            )
        };
        match store.env.read(&store.path, BYTES_MAX) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(wrong(error.to_string())),
            Ok(text) => *store.variables.lock() = read(&text).map_err(wrong)?,
        }
        Ok(store)
    }
    /// The values now.
    #[must_use]
    pub fn variables(&self) -> Variables {
        self.variables.lock().clone()
    }
    /// Changes them, and returns once that is durable.
    ///
    /// # Errors
    /// What `change` says, or 1026 if the file cannot be written: then nothing is changed.
    pub fn change(
        &self,
        change: impl FnOnce(&mut Variables) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let mut variables = self.variables.lock();
        let mut changed = variables.clone();
        change(&mut changed)?;
        if changed != *variables {
            let written = self.env.replace(&self.path, &write(&changed));
            written.map_err(|error| SqlError::error_on_write(FILE, error))?;
            *variables = changed;
        }
        Ok(())
    }
}

fn write(variables: &Variables) -> Vec<u8> {
    let entry = |(name, one): (&String, &Persisted)| {
        let set = json!({"Host": one.host, "User": one.user, "Timestamp": one.micros});
        (name.clone(), json!({"Value": one.value, "Metadata": set}))
    };
    let section: Map<String, Json> = variables.iter().map(entry).collect();
    let mut text = json!({"Version": VERSION, SECTIONS[0]: section}).to_string();
    text.push('\n');
    text.into_bytes()
}

fn read(text: &[u8]) -> Result<Variables, String> {
    let file: Json = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    if file["Version"] != json!(VERSION) {
        return Err(format!("its Version is {}, not {VERSION}", file["Version"]));
    }
    let mut variables = Variables::new();
    let sections = SECTIONS.iter().filter_map(|section| file.get(section));
    for section in sections {
        let section = section.as_object().ok_or("a section is no object")?;
        for (name, entry) in section {
            let text = |value: &Json| value.as_str().map(str::to_owned);
            let value = text(&entry["Value"]).ok_or_else(|| format!("{name} has no Value"))?;
            let set = &entry["Metadata"];
            let one = Persisted {
                value,
                micros: set["Timestamp"].as_u64().unwrap_or(0),
                user: text(&set["User"]).unwrap_or_default(),
                host: text(&set["Host"]).unwrap_or_default(),
            };
            variables.insert(name.clone(), one);
        }
    }
    Ok(variables)
}

impl Variable {
    /// The value whose text is kept, to be given to `convert`.
    #[must_use]
    pub fn of_persisted(&self, text: &str) -> Value {
        let number = match self.kind {
            Kind::UInt { .. } => text.parse().ok().map(Value::UInt),
            Kind::Double { .. } => text.parse().ok().map(Value::Double),
            _ => None,
        };
        // What is no number is refused by `convert`.
        number.unwrap_or_else(|| Value::Bytes(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back() {
        let one = |value: &str| Persisted {
            value: value.to_owned(),
            micros: 1_795_687_040_344_604,
            user: "ann".to_owned(),
            host: "localhost".to_owned(),
        };
        let variables = Variables::from([
            ("sql_mode".to_owned(), one("ANSI,\"\\")),
            ("wait_timeout".to_owned(), one("5")),
        ]);
        assert_eq!(read(&write(&variables)), Ok(variables));
    }

    #[test]
    fn files_of_mysql_are_read() {
        let text = br#"{"Version": 2, "mysql_dynamic_variables": {"sql_mode": {"Value": "ANSI",
            "Metadata": {"Host": "localhost", "User": "sb", "Timestamp": 1795687040344604}}},
            "mysql_dynamic_parse_early_variables": {"max_connections": {"Value": "200",
            "Metadata": {"Host": "localhost", "User": "sb", "Timestamp": 1795687040344604}}}}"#;
        let variables = read(text).unwrap();
        let values: Vec<&str> = variables.values().map(|one| one.value.as_str()).collect();
        assert_eq!(values, ["200", "ANSI"]);
        assert_eq!(read(br#"{"Version": 2}"#), Ok(Variables::new()));
        for broken in [
            "",
            "{",
            "[]",
            r#"{"Version": 1}"#,
            r#"{"Version": 2, "mysql_dynamic_variables": 5}"#,
        ] {
            assert!(read(broken.as_bytes()).is_err(), "{broken}");
        }
    }
}
