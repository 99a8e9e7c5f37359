//! Spans for OpenTelemetry: one for each transaction, and one for each call, sent to a collector as
//! OTLP over HTTP.
//!
//! | file | what is inside |
//! |---|---|
//! | `collector` | where they are sent |
//! | `context` | which trace a transaction belongs to |
//! | `messages` | what is sent |
//!
//! Nothing waits for the collector: spans go through a bounded queue, and what finds it full, or
//! the collector not answering, is counted and forgotten. Calls are told the trace and their own
//! span, so what they cause is below them. A trace that its caller does not want to see (the flag
//! `sampled` is not set) has no spans here either, and calls get its header as it came.

mod collector;
mod context;
pub(crate) mod messages;

pub use collector::Collector;

use super::{
    Coordinator,
    call::{Call, Caller, Guard, is_http},
    model::{Global, Micros, Reply, Status},
};
use cohort_process::{Notice, notice};
use context::{Context, TRACEPARENT, TRACESTATE};
use messages::{Export, KeyValue, Resource, ResourceSpans, Scope, ScopeSpans, Span};
use prost::Message;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::mpsc;

/// Spans that wait to be sent at most: in tests so few that they are too many soon.
const QUEUE_MAX: usize = if cfg!(test) { 64 } else { 8_192 };
/// Sent at once at most.
const BATCH_MAX: usize = QUEUE_MAX / 16;
/// What is not a whole batch is sent after so long.
const PAUSE: Duration = Duration::from_secs(1);
/// So long a collector may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The way to the collector.
pub(super) struct Spans(mpsc::Sender<Span>);

/// Sends them.
pub(super) struct Exporter {
    collector: Collector,
    caller: Caller,
    queue: mpsc::Receiver<Span>,
}

/// A call that is being made, and its place in a trace.
pub(super) struct Begun {
    context: Context,
    span_id: [u8; 8],
}

/// A queue of spans for this collector; what is wrong with it.
pub(super) fn channel(collector: &Collector) -> Result<(Spans, Exporter), String> {
    let wrong = |why: &str| format!("coordinator-otlp-endpoint: {why}");
    let url = &collector.url;
    if !is_http(url) {
        return Err(wrong(&format!(
            "http://… or https://… is expected, not {url}"
        )));
    }
    let caller = Caller::new(Guard::parse("", true)?)?;
    caller.check(url).map_err(|why| wrong(&why))?;
    super::extras::check_headers(&collector.headers).map_err(|why| wrong(&why))?;
    let (sender, queue) = mpsc::channel(QUEUE_MAX);
    let collector = collector.clone();
    let exporter = Exporter {
        collector,
        caller,
        queue,
    };
    Ok((Spans(sender), exporter))
}

fn nanos(micros: Micros) -> u64 {
    micros.saturating_mul(1_000)
}

/// A URL without what may be secret in it.
fn shown(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (place, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let place = place.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{place}{path}")
}

fn span(context: &Context, global: &Global) -> Span {
    let state = global.options.branch_headers.get(TRACESTATE);
    Span {
        trace_id: context.trace_id.to_vec(),
        trace_state: state.cloned().unwrap_or_default(),
        attributes: vec![
            KeyValue::new("cohort.gid", &global.gid),
            KeyValue::new("cohort.trans_type", global.pattern.name()),
        ],
        ..Span::default()
    }
}

fn status(why: Option<&str>) -> messages::Status {
    messages::Status {
        message: why.unwrap_or_default().to_owned(),
        code: if why.is_some() {
            messages::ERROR
        } else {
            messages::OK
        },
    }
}

impl Coordinator {
    /// A call for a transaction is about to be made: it is told its place in the trace.
    pub(super) fn begin_span(&self, global: &Global, call: &mut Call) -> Option<Begun> {
        self.spans.as_ref()?;
        let context = Context::of(global);
        if !context.is_sampled {
            return None;
        }
        let span_id = self.jitter().max(1).to_be_bytes();
        let header = context.header(span_id);
        call.headers.insert(TRACEPARENT.to_owned(), header);
        Some(Begun { context, span_id })
    }

    /// It was made, and came to this.
    pub(super) fn end_span(
        &self,
        begun: Option<Begun>,
        (global, call): (&Global, &Call),
        (started, took): (Micros, Micros),
        reply: &Reply,
    ) {
        let Some(Begun { context, span_id }) = begun else {
            return;
        };
        let (result, why) = match reply {
            Reply::Success(_) => ("success", None),
            Reply::Ongoing => ("ongoing", None),
            Reply::Failure(why) => ("failure", Some(why.as_str())),
            Reply::Error(why) => ("error", Some(why.as_str())),
            // It was not made.
            Reply::Unsent => return,
        };
        let mut span = span(&context, global);
        span.span_id = span_id.to_vec();
        span.parent_span_id = context.span_id.to_vec();
        span.name = format!("{} {}", call.op, call.branch_id);
        span.kind = messages::CLIENT;
        span.start_time_unix_nano = nanos(started);
        span.end_time_unix_nano = nanos(started.saturating_add(took));
        let more = [
            ("cohort.branch_id", call.branch_id.as_str()),
            ("cohort.op", &call.op),
            ("cohort.result", result),
            ("url.full", &shown(&call.url)),
        ];
        let more = more.map(|(key, value)| KeyValue::new(key, value));
        span.attributes.extend(more);
        span.status = Some(status(why));
        self.send_span(span);
    }

    /// A transaction has ended.
    pub(super) fn span_of_end(&self, global: &Global) {
        if self.spans.is_none() {
            return;
        }
        let context = Context::of(global);
        if !context.is_sampled {
            return;
        }
        let end = global
            .finished
            .or(global.rolled_back)
            .unwrap_or(global.updated);
        let mut span = span(&context, global);
        span.span_id = context.span_id.to_vec();
        span.parent_span_id = context.parent.map_or(Vec::new(), |parent| parent.to_vec());
        span.name = format!("global transaction {}", global.pattern.name());
        span.kind = messages::INTERNAL;
        span.start_time_unix_nano = nanos(global.created);
        span.end_time_unix_nano = nanos(end);
        let result = KeyValue::new("cohort.status", global.status.name());
        span.attributes.push(result);
        let has_failed = global.status == Status::Failed;
        span.status = Some(status(has_failed.then_some(&global.rollback_reason)));
        self.send_span(span);
    }

    fn send_span(&self, span: Span) {
        let Some(Spans(queue)) = &self.spans else {
            return;
        };
        if queue.try_send(span).is_err() {
            self.metrics.spans("dropped", 1);
        }
    }
}

impl Exporter {
    /// Sends all spans, until the coordinator ends.
    pub async fn send_all(mut self, coordinator: Arc<Coordinator>) {
        let mut was_heard = true;
        while let Some(first) = self.queue.recv().await {
            let batch = self.gather(first).await;
            let count = batch.len() as u64;
            let sent = self.send(batch).await;
            coordinator
                .metrics
                .spans(if sent.is_ok() { "success" } else { "fail" }, count);
            if let (Err(why), true) = (&sent, was_heard) {
                notice!(Notice::NoSpans, "nobody takes spans: {why}");
            }
            was_heard = sent.is_ok();
            self.caller.tidy();
        }
    }

    async fn gather(&mut self, first: Span) -> Vec<Span> {
        let mut batch = vec![first];
        let until = tokio::time::Instant::from(Instant::now() + PAUSE);
        while batch.len() < BATCH_MAX {
            match tokio::time::timeout_at(until, self.queue.recv()).await {
                Ok(Some(span)) => batch.push(span),
                Ok(None) | Err(_) => break,
            }
        }
        batch
    }

    async fn send(&self, spans: Vec<Span>) -> Result<(), String> {
        let scope = Scope {
            name: "cohort".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let name = KeyValue::new("service.name", &self.collector.service);
        let export = Export {
            resource_spans: vec![ResourceSpans {
                resource: Some(Resource {
                    attributes: vec![name],
                }),
                scope_spans: vec![ScopeSpans {
                    scope: Some(scope),
                    spans,
                }],
            }],
        };
        let (url, body) = (&self.collector.url, export.encode_to_vec());
        let posted = self.caller.deliver(url, &self.collector.headers, body);
        let posted = tokio::time::timeout(TIMEOUT, posted).await;
        posted.unwrap_or_else(|_| Err(format!("{url}: no answer within {TIMEOUT:?}")))
    }
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn urls_are_shown_without_secrets() {
        for (url, wanted) in [
            ("http://user:secret@a:80/x?token=1", "http://a:80/x"),
            ("https://a", "https://a"),
            ("h:1/p.S/M", "h:1/p.S/M"),
            ("dns:///h:1/p.S/M", "dns:///h:1/p.S/M"),
            ("http://a/x@y", "http://a/x@y"),
        ] {
            assert_eq!(shown(url), wanted);
        }
    }
}
