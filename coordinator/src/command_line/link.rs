//! The way to the coordinator.

use super::Tx;
use crate::call::{Caller, Guard};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

/// Whom to ask, and how to print what it answers.
pub(super) struct Link {
    runtime: Runtime,
    caller: Caller,
    base: String,
    token: Option<String>,
    operator: String,
    json: bool,
}

impl Link {
    pub fn new(tx: &Tx) -> Result<Link, String> {
        let base = tx.url.trim_end_matches('/').to_owned();
        if tx.ca.is_some() && !base.starts_with("https://") {
            return Err(format!(
                "--ca is for https://…, and the coordinator is at {base}"
            ));
        }
        let runtime = Builder::new_current_thread().enable_all().build();
        Ok(Link {
            runtime: runtime.map_err(|error| error.to_string())?,
            caller: Caller::trusting(Guard::parse("", true)?, tx.ca.as_deref())?,
            base,
            token: tx.token.clone(),
            operator: tx.operator.clone(),
            json: tx.json,
        })
    }

    /// Sends a request of this name; the answer, or why it is refused.
    pub fn ask(&self, name: &str, mut fields: Value) -> Result<Value, String> {
        fields["operator"] = self.operator.as_str().into();
        let url = format!("{}/api/cohort/{name}", self.base);
        let asked = self.caller.post(&url, self.token.as_deref(), &fields);
        self.runtime.block_on(asked)
    }

    /// Prints an answer, for people unless JSON is wanted.
    pub fn print(&self, answer: &Value, told: fn(&Value) -> String) {
        match self.json {
            true => println!("{answer}"),
            false => print!("{}", told(answer)),
        }
    }
}
