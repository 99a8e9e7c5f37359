//! HTTP: bytes to requests, answers to bytes.

use super::{
    Coordinator,
    api::{self, Answer, Request},
    body::{self, Held, Room, Unread},
    grpc,
    listen::{Connection, Visitor},
    web,
};
use http_body_util::Full;
use hyper::{
    HeaderMap, Method, Response, StatusCode,
    body::{Body, Bytes, Incoming},
    header::{AUTHORIZATION, CONTENT_TYPE},
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::{
    collections::BTreeMap, convert::Infallible, error::Error, future::Future, sync::Arc,
    time::Duration,
};

/// A client must have sent a request's head within so long.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// A silent gRPC connection is asked so often whether it is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(60);

/// Serves a connection for HTTP.
pub(super) async fn serve_http(
    coordinator: Arc<Coordinator>,
    connection: Connection,
    visitor: Arc<Visitor>,
) -> hyper::Result<()> {
    serve_requests(connection, move |request| {
        let (coordinator, visitor) = (Arc::clone(&coordinator), Arc::clone(&visitor));
        async move {
            let room = coordinator.answers.clone();
            let answer = answer(coordinator, request, Arc::clone(&visitor)).await;
            counted(&room, answer, &visitor)
        }
    })
    .await
}

/// Has each request of a connection answered.
pub(super) async fn serve_requests<F, B>(
    connection: Connection,
    answer: impl Fn(hyper::Request<Incoming>) -> F,
) -> hyper::Result<()>
where
    F: Future<Output = Response<B>>,
    B: Body<Data = Bytes> + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let service = service_fn(move |request| {
        let answer = answer(request);
        async move { Ok::<_, Infallible>(answer.await) }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(connection, service)
        .await
}

/// Serves a connection for gRPC.
pub(super) async fn serve_grpc(
    coordinator: Arc<Coordinator>,
    connection: Connection,
    visitor: Arc<Visitor>,
) -> hyper::Result<()> {
    let service = service_fn(move |request| {
        grpc::answer(Arc::clone(&coordinator), request, Arc::clone(&visitor))
    });
    http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(KEEP_ALIVE)
        .serve_connection(connection, service)
        .await
}

async fn answer(
    coordinator: Arc<Coordinator>,
    request: hyper::Request<Incoming>,
    visitor: Arc<Visitor>,
) -> Answer {
    let begun = coordinator.env.monotonic_nanos();
    let name = request.uri().path().rsplit('/').next().map(str::to_owned);
    let answer = match read(&coordinator, request, &visitor).await {
        // Nobody else wants it.
        Ok((request, _held)) if api::only_tells(&request) => {
            Box::pin(api::handle(&coordinator, request)).await
        }
        // In a task of its own: it goes on if the client goes away.
        Ok((request, held)) => {
            let coordinator = Arc::clone(&coordinator);
            // It is large, and tasks are moved several times before they stay anywhere.
            tokio::spawn(Box::pin(async move {
                let _held = held;
                api::handle(&coordinator, request).await
            }))
            .await
            .unwrap_or_else(|_| Answer::error(500, "a mistake in the coordinator; see its log"))
        }
        Err(answer) => answer,
    };
    let took = coordinator.env.monotonic_nanos().saturating_sub(begun) / 1000;
    let is_success = answer.status == 200;
    let name = name.unwrap_or_default();
    coordinator.metrics.request("http", &name, is_success, took);
    answer
}

/// The response, if there is room for it until its client has taken it.
fn counted(room: &Room, mut answer: Answer, visitor: &Arc<Visitor>) -> Response<Full<Bytes>> {
    let bytes = std::mem::take(&mut answer.body).into_bytes();
    match body::answer(room, bytes, visitor) {
        Some(bytes) => with_body(&answer, bytes),
        None => response(Answer::error(503, body::NO_ROOM)),
    }
}

pub(super) fn response(mut answer: Answer) -> Response<Full<Bytes>> {
    let bytes = std::mem::take(&mut answer.body).into();
    with_body(&answer, bytes)
}

fn with_body(answer: &Answer, body: Bytes) -> Response<Full<Bytes>> {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    if let Ok(kind) = answer.content_type.parse() {
        response.headers_mut().insert(CONTENT_TYPE, kind);
    }
    response
}

async fn read(
    coordinator: &Coordinator,
    request: hyper::Request<Incoming>,
    visitor: &Visitor,
) -> Result<(Request, Held), Answer> {
    let token = coordinator.options.token.as_deref();
    if let Some(refusal) = refusal(token, request.headers()) {
        return Err(refusal);
    }
    visitor.is_welcome();
    // hyper leaves the body out of its answer.
    let method = match request.method() {
        &Method::HEAD => Method::GET,
        method => method.clone(),
    };
    let method = method.as_str().to_owned();
    let path = request.uri().path().to_owned();
    let trace = trace_of(request.headers());
    let query = api::parse_query(request.uri().query().unwrap_or_default());
    let read = body::read(&coordinator.room, request.into_body()).await;
    let (body, held) = read.map_err(|why| match why {
        Unread::TooLarge(why) => Answer::error(413, &why),
        Unread::Crowded(why) => Answer::error(503, why),
        Unread::Late(why) => Answer::error(408, why),
        Unread::Broken(why) => Answer::error(400, &why),
    })?;
    let request = Request {
        method,
        path,
        query,
        trace,
        body,
    };
    Ok((request, held))
}

/// OpenTelemetry's context: whoever is called for this request belongs to the same trace.
pub(super) fn trace_of(headers: &HeaderMap) -> BTreeMap<String, String> {
    let known = ["traceparent", "tracestate", "baggage"].into_iter();
    let found = known.filter_map(|name| {
        let value = headers.get(name)?.to_str().ok()?;
        Some((name.to_owned(), value.to_owned()))
    });
    found.collect()
}

/// Why a request is not let in: it has not the token, or may come from a web page where there is none.
pub(super) fn refusal(token: Option<&str>, headers: &HeaderMap) -> Option<Answer> {
    match token {
        Some(_) if is_authorized(token, headers) => None,
        Some(_) => Some(Answer::error(401, "a bearer token is needed")),
        None => web::refusal(headers).map(|why| Answer::error(403, why)),
    }
}

/// Whether a request has the token, if there is one.
pub(super) fn is_authorized(token: Option<&str>, headers: &HeaderMap) -> bool {
    let Some(token) = token else {
        return true;
    };
    let header = headers.get(AUTHORIZATION);
    let given = header.and_then(|value| bearer(value.to_str().ok()?));
    given.is_some_and(|given| is_same(given.as_bytes(), token.as_bytes()))
}

/// The token of an Authorization header. Its scheme may be written in any case (RFC 9110, 11.1).
fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| token.trim_start_matches(' '))
}

/// Compares in a time that says nothing about where they differ.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let differences = one.iter().zip(other).fold(0, |sum, (a, b)| sum | (a ^ b));
    one.len() == other.len() && differences == 0
}

#[cfg(test)]
mod tests {
    use super::bearer;

    #[test]
    fn a_schemes_case_does_not_matter_a_tokens_does() {
        for header in ["Bearer aB", "bearer aB", "BEARER  aB"] {
            assert_eq!(bearer(header), Some("aB"), "{header}");
        }
        for header in ["", "Bearer", "Basic aB", "BeareraB"] {
            assert_eq!(bearer(header), None, "{header}");
        }
    }
}
