//! Requests over HTTP, and their answers.

use super::{
    Coordinator,
    api::{self, Answer, Request},
    grpc,
    http1::{self, Broken, Head, Length, Wire},
    listen::Connection,
};
use futures_util::FutureExt;
use httpdate::HttpDate;
use hyper::{StatusCode, Uri, server::conn::http2, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::{
    collections::BTreeMap,
    io::Write,
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};
use tokio::time::timeout;

/// A larger request is refused.
const REQUEST_BYTES_MAX: usize = 64 << 20;
/// A client must have sent a request's head within so long, and its body.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
const BODY_TIMEOUT: Duration = Duration::from_secs(60);
/// So much of what a refused client sends is read, and for so long.
const READ_AWAY_MAX: usize = 1 << 20;
const READ_AWAY_TIME: Duration = Duration::from_secs(2);
/// A silent gRPC connection is asked so often whether it is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(60);

/// Serves a connection for HTTP.
pub(super) async fn serve_http(coordinator: Arc<Coordinator>, connection: Connection) {
    let mut wire = Wire::new(connection);
    // A client that goes away, or is silent for too long, has its connection ended.
    while let Ok(true) = serve_next(&coordinator, &mut wire).await {}
}

/// Serves a connection for gRPC.
pub(super) async fn serve_grpc(coordinator: Arc<Coordinator>, connection: Connection) {
    let service = service_fn(move |request| grpc::answer(Arc::clone(&coordinator), request));
    // The client went away, or sent what is no HTTP/2: its connection ends.
    let _ = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(KEEP_ALIVE)
        .serve_connection(TokioIo::new(connection), service)
        .await;
}

/// What is wanted of a request's head.
struct Wanted {
    method: String,
    target: String,
    is_authorized: bool,
    trace: BTreeMap<String, String>,
}

/// Serves the next request; whether another may follow. It is carried out to its end, even if its
/// client goes away meanwhile.
async fn serve_next(
    coordinator: &Arc<Coordinator>,
    wire: &mut Wire<Connection>,
) -> Result<bool, Broken> {
    let head = wire.request(|request| {
        let header = |name: &str| http1::header(request.headers, name);
        Wanted {
            method: request.method.unwrap_or_default().to_owned(),
            target: request.path.unwrap_or_default().to_owned(),
            is_authorized: is_authorized(coordinator, header),
            trace: trace_of(header),
        }
    });
    let head = match timeout(HEAD_TIMEOUT, head)
        .await
        .unwrap_or(Err(Broken::Closed))
    {
        Ok(head) => head,
        Err(broken) => {
            let status = match broken {
                Broken::LongHead => 431,
                Broken::Malformed(_) => 400,
                _ => return Err(broken),
            };
            let answer = Answer::error(status, &broken.to_string());
            wire.send(&written(coordinator, &answer, true, true))
                .await?;
            return Ok(false);
        }
    };
    let begun = coordinator.env.monotonic_nanos();
    let (length, has_body) = (head.length, head.what.method != "HEAD");
    let (path, query) = split(&head.what.target);
    let name = path.rsplit('/').next().unwrap_or_default().to_owned();
    let (mut is_last, mut is_refused) = (head.is_last, false);
    let answer = match read(wire, head, path, &query).await? {
        Ok(request) => {
            let handled = AssertUnwindSafe(api::handle(coordinator, request)).catch_unwind();
            let mistake = "a mistake in the coordinator; see its log";
            handled
                .await
                .unwrap_or_else(|_| Answer::error(500, mistake))
        }
        Err(refused) => {
            (is_last, is_refused) = (true, true);
            refused
        }
    };
    let took = coordinator.env.monotonic_nanos().saturating_sub(begun) / 1000;
    let is_success = answer.status == 200;
    coordinator.metrics.request("http", &name, is_success, took);
    wire.send(&written(coordinator, &answer, has_body, is_last))
        .await?;
    if is_refused {
        // A connection that ends with something unread is reset, and some clients then tell of
        // that and not of the answer.
        let rest = wire.body(length, READ_AWAY_MAX);
        let _ = timeout(READ_AWAY_TIME, rest).await;
    }
    Ok(!is_last)
}

/// Reads the rest of a request, or says why it is refused.
async fn read(
    wire: &mut Wire<Connection>,
    head: Head<Wanted>,
    path: String,
    query: &str,
) -> Result<Result<Request, Answer>, Broken> {
    if !head.what.is_authorized {
        return Ok(Err(Answer::error(401, "a bearer token is needed")));
    }
    let too_large = || {
        let text = format!("the request's body: {REQUEST_BYTES_MAX} bytes are allowed");
        Answer::error(413, &text)
    };
    if matches!(head.length, Length::Known(count) if count > REQUEST_BYTES_MAX as u64) {
        return Ok(Err(too_large()));
    }
    if head.expects_continue {
        wire.send(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    let is_here = wire.has(head.length);
    let body = wire.body(head.length, REQUEST_BYTES_MAX);
    let body = match is_here {
        true => Ok(body.await),
        false => timeout(BODY_TIMEOUT, body).await,
    };
    let refused = match body {
        Ok(Ok(body)) => {
            return Ok(Ok(Request {
                method: head.what.method,
                path,
                query: api::parse_query(query),
                trace: head.what.trace,
                body,
            }));
        }
        Ok(Err(Broken::LongBody)) => too_large(),
        Ok(Err(Broken::Malformed(why))) => {
            Answer::error(400, &format!("the request's body: {why}"))
        }
        Ok(Err(broken)) => return Err(broken),
        Err(_) => Answer::error(408, "the request's body did not come in time"),
    };
    Ok(Err(refused))
}

/// Path and query of a request's target, which may be a whole URI.
fn split(target: &str) -> (String, String) {
    if !target.starts_with('/')
        && let Ok(uri) = target.parse::<Uri>()
    {
        let query = uri.query().unwrap_or_default();
        return (uri.path().to_owned(), query.to_owned());
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    (path.to_owned(), query.to_owned())
}

/// An answer's bytes.
fn written(coordinator: &Coordinator, answer: &Answer, has_body: bool, is_last: bool) -> Vec<u8> {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let date = HttpDate::from(UNIX_EPOCH + Duration::from_micros(coordinator.env.wall_micros()));
    let mut out = Vec::with_capacity(256 + answer.body.len());
    // Nothing fails to be written to memory.
    let _ = write!(
        out,
        "HTTP/1.1 {status}\r\ncontent-type: {}\r\ncontent-length: {}\r\ndate: {date}\r\n{}\r\n",
        answer.content_type,
        answer.body.len(),
        if is_last { "connection: close\r\n" } else { "" },
    );
    if has_body {
        out.extend_from_slice(answer.body.as_bytes());
    }
    out
}

/// OpenTelemetry's context, out of headers: whoever is called for this request belongs to the same
/// trace.
pub(super) fn trace_of<'a>(
    header: impl Fn(&'static str) -> Option<&'a str>,
) -> BTreeMap<String, String> {
    let known = ["traceparent", "tracestate", "baggage"].into_iter();
    known
        .filter_map(|name| Some((name.to_owned(), header(name)?.to_owned())))
        .collect()
}

/// Whether a request has the token, if there is one, in its headers.
pub(super) fn is_authorized<'a>(
    coordinator: &Coordinator,
    header: impl Fn(&'static str) -> Option<&'a str>,
) -> bool {
    let Some(token) = &coordinator.options.token else {
        return true;
    };
    let given = header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    given.is_some_and(|given| is_same(given.as_bytes(), token.as_bytes()))
}

/// Compares in a time that says nothing about where they differ.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let differences = one.iter().zip(other).fold(0, |sum, (a, b)| sum | (a ^ b));
    one.len() == other.len() && differences == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        for (target, path, query) in [
            ("/a/b?c=d?e", "/a/b", "c=d?e"),
            ("/a", "/a", ""),
            ("http://h:1/a?b", "/a", "b"),
            ("*", "*", ""),
        ] {
            assert_eq!(split(target), (path.to_owned(), query.to_owned()));
        }
    }
}
