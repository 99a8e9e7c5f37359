//! Files of the server that statements name: which may be read and written at all.
//!
//! secure_file_priv says where they must lie: nowhere (NULL), anywhere (empty), or in a directory,
//! by the names that are left when symbolic links have been followed. A name without a directory, and
//! a relative path, begin at the data directory: MySQL has a directory for each database there, in
//! which it looks for a name without a directory, and Cohort has none.

use crate::{
    error::SqlError,
    expr::{Environment, VariableScope},
};
use cohort_engine::{
    env::{Env, File, Foreign},
    types::Value,
};
use std::{
    io,
    path::{Path, PathBuf},
};

/// Where files of the server may be.
pub(crate) struct Files<'a> {
    env: &'a Env,
    /// The data directory.
    dir: &'a Path,
    /// secure_file_priv.
    allowed: Option<PathBuf>,
}

impl<'a> Files<'a> {
    pub fn new(env: &'a Env, dir: &'a Path, environment: &dyn Environment) -> Files<'a> {
        let allowed = environment.system_variable(VariableScope::Global, "secure_file_priv");
        Files {
            env,
            dir,
            allowed: match allowed {
                Ok(Value::Bytes(directory)) => {
                    let directory = String::from_utf8_lossy(&directory);
                    Some(PathBuf::from(directory.as_ref()))
                }
                Ok(_) | Err(_) => None,
            },
        }
    }

    /// Opens a file to read it: 1290, 13, 1085 or 29 if it may not or cannot be read.
    pub fn open(&self, name: &str) -> Result<(PathBuf, File), SqlError> {
        let path = self.dir.join(name);
        let resolved = self.env.resolve(&path);
        let real = match &resolved {
            Ok(real) => real.clone(),
            // Whether it is there is only told where it might be read.
            Err(_) => self.beside(&path)?,
        };
        self.check(&real)?;
        if let Err(error) = resolved {
            let (errno, why) = told(&error);
            return Err(SqlError::cannot_stat_file(path.display(), errno, why));
        }
        match self.env.open_foreign(&real, Foreign::Read) {
            Ok(file) => Ok((real, file)),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                Err(SqlError::file_not_readable(path.display()))
            }
            Err(error) => {
                let (errno, why) = told(&error);
                Err(SqlError::log_file_not_found(path.display(), errno, why))
            }
        }
    }

    /// A new file to write rows to, which others of the server's group may read: 1290, 1086 or 1 if it
    /// may not or cannot be written.
    pub fn create(&self, name: &str) -> Result<(PathBuf, File), SqlError> {
        let path = self.dir.join(name);
        let real = self.beside(&path)?;
        self.check(&real)?;
        match self.env.open_foreign(&real, Foreign::New) {
            Ok(file) => Ok((real, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(SqlError::file_exists(name))
            }
            Err(error) => {
                let (errno, why) = told(&error);
                Err(SqlError::cannot_create_file(path.display(), errno, why))
            }
        }
    }

    /// Where a file is that is not there yet: 1290 if not even its directory is, unless it may lie
    /// anywhere.
    fn beside(&self, path: &Path) -> Result<PathBuf, SqlError> {
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(SqlError::option_prevents("--secure-file-priv"));
        };
        match self.env.resolve(directory) {
            Ok(directory) => Ok(directory.join(name)),
            Err(_) if self.allowed == Some(PathBuf::new()) => Ok(path.to_owned()),
            Err(_) => Err(SqlError::option_prevents("--secure-file-priv")),
        }
    }

    /// 1290 for a path, without symbolic links, that secure_file_priv does not allow.
    fn check(&self, path: &Path) -> Result<(), SqlError> {
        let refused = || SqlError::option_prevents("--secure-file-priv");
        let allowed = self.allowed.as_ref().ok_or_else(refused)?;
        if allowed.as_os_str().is_empty() {
            return Ok(());
        }
        match self.env.resolve(allowed) {
            Ok(directory) if path.starts_with(&directory) && path != directory => Ok(()),
            Ok(_) | Err(_) => Err(refused()),
        }
    }
}

/// The number and the words of an error of the system.
fn told(error: &io::Error) -> (i32, String) {
    let text = error.to_string();
    let words = text.split(" (os error").next().unwrap_or_default();
    (error.raw_os_error().unwrap_or(0), words.to_owned())
}

/// 2 for a file that cannot be read any further.
pub fn failed_to_read(path: &Path, error: &io::Error) -> SqlError {
    let (errno, why) = told(error);
    SqlError::cannot_read_file(path.display(), errno, why)
}
