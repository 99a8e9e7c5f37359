//! What operators ask over HTTP, asked within the process: the same requests, by the same functions.
//! Who may ask is the caller's to say.

use super::{
    Coordinator,
    api::{self, Request},
    when,
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::{runtime::Handle, sync::oneshot};

/// No answer is waited for longer: the coordinator's tables may be in another server.
const PATIENCE: Duration = Duration::from_secs(30);

/// The way to a coordinator of this process.
#[derive(Clone)]
pub struct Operator {
    coordinator: Weak<Coordinator>,
    runtime: Handle,
    /// Its state is in another server.
    pub is_elsewhere: bool,
}

impl Operator {
    pub(super) fn new(coordinator: &Arc<Coordinator>, runtime: &Handle) -> Operator {
        Operator {
            coordinator: Arc::downgrade(coordinator),
            runtime: runtime.clone(),
            is_elsewhere: coordinator.store.is_shared(),
        }
    }

    /// What `POST /api/cohort/NAME` answers.
    ///
    /// # Errors
    ///
    /// Why it is refused, in the coordinator's words.
    pub fn ask(&self, name: &str, fields: &Value) -> Result<Value, String> {
        self.request("POST", &format!("/api/cohort/{name}"), &[], fields)
    }

    /// What `GET /api/dtmsvr/NAME` answers.
    ///
    /// # Errors
    ///
    /// As `ask`.
    pub fn look_up(&self, name: &str, query: &[(&str, &str)]) -> Result<Value, String> {
        let path = format!("/api/dtmsvr/{name}");
        self.request("GET", &path, query, &Value::Null)
    }

    fn request(
        &self,
        method: &str,
        path: &str,
        query: &[(&str, &str)],
        fields: &Value,
    ) -> Result<Value, String> {
        let stopping = || "the coordinator has ended".to_owned();
        let coordinator = self.coordinator.upgrade().ok_or_else(stopping)?;
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let request = Request {
            method: method.to_owned(),
            path: path.to_owned(),
            query: query.iter().map(pair).collect(),
            trace: BTreeMap::new(),
            body: fields.to_string().into_bytes(),
        };
        let (told, answer) = oneshot::channel();
        // It holds the coordinator no longer than it works for it.
        self.runtime.spawn(async move {
            let asked = Box::pin(api::handle(&coordinator, request));
            // Who has asked may have gone.
            let _ = told.send(tokio::time::timeout(PATIENCE, asked).await);
        });
        let late = || "the coordinator does not answer".to_owned();
        let answer = answer.blocking_recv().map_err(|_| stopping())?;
        let answer = answer.map_err(|_| late())?;
        let value: Value = serde_json::from_str(&answer.body).unwrap_or(Value::Null);
        match answer.status {
            200 => Ok(value),
            _ => Err(value["message"]
                .as_str()
                .map_or_else(|| answer.body.clone(), str::to_owned)),
        }
    }

    /// How old a time is that the coordinator has told, by another one that it has told.
    #[must_use]
    pub fn age(time: &str, now: &str) -> Option<Duration> {
        let at = |text| when::parse_time(text);
        let micros = at(now)?.saturating_sub(at(time)?);
        Some(Duration::from_micros(micros))
    }
}
