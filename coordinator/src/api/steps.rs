//! What clients send, made into transactions and branches.
//!
//! Their JSON is taken as it comes: unknown fields are ignored, null is as good as absent, the
//! last of two fields of one name counts.

pub(super) use super::super::plan::text;
use super::{
    super::decide::Branches,
    super::model::{
        Branch, BranchStatus, Global, Micros, Options, Pattern, Seconds, Status, shortened_reason,
    },
    super::{
        call::{check_time, is_http},
        extras, plan,
    },
    Coordinator, Refusal, Result, Transaction,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// No transaction has more branches.
const BRANCHES_MAX: usize = 10_000;
const GID_BYTES_MAX: usize = 128;
const PROTOCOL_BYTES_MAX: usize = 16;
const BRANCH_ID_BYTES_MAX: usize = 128;
const OP_BYTES_MAX: usize = 64;

/// A global transaction as a client describes it.
#[derive(Clone, Debug)]
pub(crate) struct Submission {
    pub gid: String,
    pub trans_type: String,
    pub steps: Vec<Map<String, Value>>,
    pub payloads: Vec<Vec<u8>>,
    pub query_prepared: String,
    pub protocol: String,
    pub custom_data: String,
    pub rollback_reason: String,
    pub options: Options,
    pub extra: Map<String, Value>,
}

/// A field as `read` has it, or its type's default if it is not there or null. What is something
/// else is refused: nobody's steps are left out because they are written in an unexpected way.
fn typed<'a, T: Default>(
    fields: &'a Map<String, Value>,
    name: &str,
    wanted: &str,
    read: impl FnOnce(&'a Value) -> Option<T>,
) -> Result<T> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(T::default()),
        Some(value) => {
            let expected = || Refusal::Bad(format!("{name}: {wanted} is expected"));
            read(value).ok_or_else(expected)
        }
    }
}

fn number(fields: &Map<String, Value>, name: &str) -> Result<f64> {
    typed(fields, name, "a number", Value::as_f64)
}

fn seconds(fields: &Map<String, Value>, name: &str) -> Result<Seconds> {
    number(fields, name).map(Seconds::from_number)
}

fn flag(fields: &Map<String, Value>, name: &str) -> Result<bool> {
    typed(fields, name, "true or false", Value::as_bool)
}

/// A list whose elements are all what `read` wants.
fn list<'a, T>(
    fields: &'a Map<String, Value>,
    name: &str,
    wanted: &str,
    read: impl Fn(&'a Value) -> Option<T>,
) -> Result<Vec<T>> {
    let all = |list: &'a Value| list.as_array()?.iter().map(read).collect();
    typed(fields, name, wanted, all)
}

/// A payload, which goes to its branch as it is; null is none.
fn payload(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::Null => Some(Vec::new()),
        value => value.as_str().map(|text| text.as_bytes().to_vec()),
    }
}

fn headers(fields: &Map<String, Value>) -> Result<BTreeMap<String, String>> {
    let header =
        |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
    let all = |map: &Value| map.as_object()?.iter().map(header).collect();
    typed(fields, "branch_headers", "an object of texts", all)
}

/// Refuses a name that no header can carry: calls over gRPC have it in one.
fn plain(name: &str, text: &str) -> Result {
    match text.contains(|c: char| c.is_control()) {
        true => Err(Refusal::Bad(format!("{name}: no control characters"))),
        false => Ok(()),
    }
}

/// Refuses what is no name of a transaction. DTM takes semicolons out: then two names were one.
fn check_gid(gid: &str) -> Result {
    if gid.is_empty() {
        return Err(Refusal::Bad("gid: one is expected".into()));
    }
    short("gid", gid, GID_BYTES_MAX)?;
    plain("gid", gid)?;
    match gid.contains(';') {
        true => Err(Refusal::Bad("gid: no semicolons".into())),
        false => Ok(()),
    }
}

/// Refuses what does not fit into its column.
pub(super) fn short(name: &str, text: &str, bytes_max: usize) -> Result {
    if text.len() > bytes_max {
        let what = format!("{name}: {bytes_max} bytes are allowed");
        return Err(Refusal::Bad(what));
    }
    Ok(())
}

impl Submission {
    /// Reads it.
    pub fn parse(fields: &Map<String, Value>) -> Result<Submission> {
        let options = Options {
            wait_result: flag(fields, "wait_result")?,
            timeout_to_fail: seconds(fields, "timeout_to_fail")?,
            request_timeout: seconds(fields, "request_timeout")?,
            retry_interval: seconds(fields, "retry_interval")?,
            branch_headers: headers(fields)?,
            concurrent: flag(fields, "concurrent")?,
            // What is below 0 is 0, as with times.
            retry_limit: number(fields, "retry_limit")? as u64,
            pass_results: flag(fields, "pass_results")?,
            end_webhook: typed(fields, "end_webhook", "a URL", |url| {
                url.as_str().map(str::to_owned)
            })?,
        };
        let object = |value: &Value| value.as_object().cloned();
        let extra = typed(fields, "req_extra", "an object", object)?;
        let submission = Submission {
            gid: text(fields, "gid"),
            trans_type: text(fields, "trans_type"),
            steps: list(fields, "steps", "a list of objects", object)?,
            payloads: list(fields, "payloads", "a list of texts", payload)?,
            query_prepared: text(fields, "query_prepared"),
            protocol: text(fields, "protocol"),
            custom_data: text(fields, "custom_data"),
            rollback_reason: text(fields, "rollback_reason"),
            options,
            extra,
        };
        submission.checked()
    }

    /// Itself, if it is within limits.
    pub fn checked(self) -> Result<Submission> {
        let mut submission = self;
        // What clients of DTM can say is among the extras.
        if submission.options.end_webhook.is_empty() {
            submission.options.end_webhook = text(&submission.extra, "end_webhook");
        }
        let end_webhook = &submission.options.end_webhook;
        if !end_webhook.is_empty() && !is_http(end_webhook) {
            let what = "end_webhook: http://… or https://… is expected";
            return Err(Refusal::Bad(what.into()));
        }
        check_gid(&submission.gid)?;
        if submission.trans_type == Pattern::Workflow.name() {
            // Which its client is called with.
            plain(
                "custom_data: name",
                &workflow_data(&submission.custom_data).0,
            )?;
        }
        short("protocol", &submission.protocol, PROTOCOL_BYTES_MAX)?;
        if submission.steps.len() > BRANCHES_MAX {
            return Err(Refusal::Bad(format!("more than {BRANCHES_MAX} steps")));
        }
        check_time(submission.options.request_timeout).map_err(Refusal::Bad)?;
        extras::check_headers(&submission.options.branch_headers).map_err(Refusal::Bad)?;
        for step in &submission.steps {
            extras::check_step(step).map_err(Refusal::Bad)?;
        }
        Ok(submission)
    }

    /// The same, whose branches belong to this trace unless their headers say otherwise.
    #[must_use]
    pub fn traced(mut self, trace: &BTreeMap<String, String>) -> Submission {
        for (name, value) in trace {
            let headers = &mut self.options.branch_headers;
            headers.entry(name.clone()).or_insert_with(|| value.clone());
        }
        self
    }

    /// Its kind.
    pub fn pattern(&self) -> Result<Pattern> {
        Pattern::parse(&self.trans_type)
            .ok_or_else(|| Refusal::Other(format!("unknow trans type: {}", self.trans_type)))
    }

    /// The transaction, with its branches.
    pub async fn transaction(
        &self,
        coordinator: &Coordinator,
        status: Status,
        now: Micros,
    ) -> Result<Transaction> {
        let pattern = self.pattern()?;
        let rules = pattern.rules();
        let payloads: Vec<_> = (0..self.steps.len()).map(|step| self.body(step)).collect();
        let planned = plan::branches(pattern, &self.steps, &payloads);
        let global = Global {
            query_prepared: self.query_prepared.clone(),
            protocol: self.protocol.clone(),
            custom_data: self.custom_data.clone(),
            steps: serde_json::to_string(&self.steps).unwrap_or_default(),
            payloads: match planned {
                Some(_) => plan::written(&payloads),
                None => String::new(),
            },
            rollback_reason: shortened_reason(&self.rollback_reason),
            options: self.options.clone(),
            ..Global::new(&self.gid, pattern, status, now)
        };
        let branches = match planned {
            Some(planned) => planned,
            None if rules.branches == (Branches::Submitted { topics: true }) => {
                self.delivered(coordinator, payloads).await?
            }
            None => Vec::new(),
        };
        let urls = branches.iter().map(|branch| branch.url.as_str());
        let others = [&self.query_prepared, &self.options.end_webhook];
        for url in urls.chain(others.map(String::as_str)) {
            coordinator.caller.check(url).map_err(Refusal::Bad)?;
        }
        let transaction = Transaction::new(global, branches);
        extras::check(&transaction).map_err(Refusal::Bad)?;
        transaction.check().map_err(Refusal::Bad)?;
        Ok(transaction)
    }

    fn body(&self, step: usize) -> Vec<u8> {
        if let Some(payload) = self.payloads.get(step) {
            return payload.clone();
        }
        let data = self.steps.get(step).map(|step| text(step, "data"));
        data.unwrap_or_default().into_bytes()
    }

    /// A message's branches: a step may name a topic, which has several receivers.
    async fn delivered(
        &self,
        coordinator: &Coordinator,
        payloads: Vec<Vec<u8>>,
    ) -> Result<Vec<Branch>> {
        let mut branches = Vec::with_capacity(self.steps.len());
        for (place, (step, body)) in self.steps.iter().zip(payloads).enumerate() {
            let id = plan::branch_id(place);
            let url = text(step, "action");
            let Some(topic) = url.strip_prefix(plan::TOPIC) else {
                branches.push(Branch::new(&id, "action", &url, body));
                continue;
            };
            let subscribers = coordinator.store.subscribers(topic).await?;
            if subscribers.is_empty() {
                return Err(Refusal::Other("topic not found".into()));
            }
            let several = subscribers.len() > 1;
            for (number, subscriber) in subscribers.iter().enumerate() {
                let id = match several {
                    true => format!("{id}-{:02}", number + 1),
                    false => id.clone(),
                };
                branches.push(Branch::new(&id, "action", &subscriber.url, body.clone()));
            }
        }
        Ok(branches)
    }
}

/// What registerBranch brings.
#[derive(Clone, Debug)]
pub(crate) struct Registration {
    pub gid: String,
    /// What the client takes the transaction for.
    pub pattern: Pattern,
    pub branches: Vec<Branch>,
}

impl Registration {
    /// Reads it; `data` is what to send to the branch.
    pub fn parse(fields: &Map<String, Value>) -> Result<Registration> {
        Registration::new(fields, text(fields, "data").into_bytes())
    }

    /// The same with `data` from elsewhere, which may be no text.
    pub fn new(fields: &Map<String, Value>, data: Vec<u8>) -> Result<Registration> {
        let field = |name: &str| text(fields, name);
        check_gid(&field("gid"))?;
        let id = field("branch_id");
        short("branch_id", &id, BRANCH_ID_BYTES_MAX)?;
        short("op", &field("op"), OP_BYTES_MAX)?;
        plain("branch_id", &id)?;
        let branch = |op: &str, url: &str| Branch::new(&id, op, url, data.clone());
        let kind = field("trans_type");
        let unknown = || Refusal::Other(format!("unknow trans type: {kind}"));
        let pattern = Pattern::parse(&kind).ok_or_else(unknown)?;
        let rules = pattern.rules();
        let branches = match rules.branches {
            Branches::Registered => {
                let ops = rules.ops.iter();
                ops.map(|op| branch(op, &field(op))).collect()
            }
            Branches::RegisteredWithUrl => {
                let (ops, url) = (rules.ops.iter(), field("url"));
                ops.map(|op| branch(op, &url)).collect()
            }
            Branches::Told => {
                let status = BranchStatus::parse(&field("status"))
                    .ok_or_else(|| Refusal::Bad("status: succeed or failed".into()))?;
                let mut done = branch(&field("op"), "");
                done.status = status;
                vec![done]
            }
            Branches::Submitted { .. } => return Err(unknown()),
        };
        Ok(Registration {
            gid: field("gid"),
            pattern,
            branches,
        })
    }
}

/// Name and data of a workflow, for calling its client.
pub(crate) fn workflow_data(custom_data: &str) -> (String, Vec<u8>) {
    let fields: Map<String, Value> = serde_json::from_str(custom_data).unwrap_or_default();
    // The client encoded it; data that is no base64 is none of its clients'.
    let data = STANDARD.decode(text(&fields, "data")).unwrap_or_default();
    (text(&fields, "name"), data)
}
