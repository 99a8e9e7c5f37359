//! Calls to branches, and what their answers mean.
//!
//! | file | what is inside |
//! |---|---|
//! | `guard` | which hosts may be called |
//! | `balance` | calls over gRPC by turns to all addresses of a name |
//! | `http`, `json_rpc` | requests and answers; `grpc::client` has those over gRPC |
//! | `pool` | connections over HTTP/1.1 |
//! | `meter` | how much is read of them at once |
//! | `turns` | how many calls are made at once |
//!
//! Connections are kept alive and shared: HTTP has a pool for each host, gRPC one connection. Of a
//! name's addresses the next is tried when one cannot be connected to. An
//! answer is read up to a limit, and a call has a time limit.

mod balance;
mod guard;
mod http;
mod json_rpc;
mod meter;
mod pool;
mod turns;

pub use guard::Guard;
pub use turns::{Turn, Turns, impatiently};

use super::{
    extras::Body,
    grpc,
    model::{Global, Micros, Reply, SECOND, Seconds},
};
use balance::Balancer;
use cohort_mysql::client::tls::authorities;
use guard::Resolver;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::{
    HeaderMap, Request, Response, StatusCode, Uri,
    body::{Bytes, Incoming},
    header::{AUTHORIZATION, CONTENT_TYPE},
};
use hyper_rustls::{ConfigBuilderExt, HttpsConnectorBuilder, builderstates::WantsProtocols1};
use hyper_util::{
    client::legacy::{self, Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use pool::Pool;
use std::{collections::BTreeMap, path::Path, pin::pin, sync::Arc, time::Duration};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::ring};

/// No address of a branch or a client is longer.
const URL_BYTES_MAX: usize = 8_192;
/// No call takes longer: until it has ended nothing else can be done about its transaction.
pub const TIME_MAX: Micros = 3_600 * SECOND;
/// No more of an answer is read.
const ANSWER_BYTES_MAX: usize = 1 << 20;
/// No more of it is kept as an error's text.
const ERROR_CHARACTERS_MAX: usize = 1_000;

/// What is called for a transaction.
#[derive(Clone, Debug)]
pub struct Call {
    /// Where.
    pub url: String,
    /// With what; empty: a GET, unless `post`.
    pub body: Body,
    /// POST even without a body.
    pub post: bool,
    /// Which branch.
    pub branch_id: String,
    /// Which operation.
    pub op: String,
    /// The transaction's and the step's.
    pub headers: BTreeMap<String, String>,
    /// How long it may take.
    pub timeout: Duration,
}

/// What came back.
#[derive(Clone, Debug)]
pub struct Answer {
    /// HTTP's status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, as far as it is text.
    pub body: String,
    /// Headers after the body.
    pub trailers: HeaderMap,
}

/// Where a call goes, and how.
enum Target {
    Http(Uri),
    Grpc(Uri),
    /// The addresses of its name by turns.
    Balanced(Uri),
}

impl Target {
    /// What a branch's url says; why it is none. A url with http(s):// is HTTP whatever the
    /// transaction came by.
    fn parse(url: &str) -> Result<Target, String> {
        if is_http(url) {
            let uri: Uri = url.parse().map_err(|error| format!("url {url}: {error}"))?;
            return Ok(Target::Http(uri));
        }
        match url.strip_prefix(grpc::client::BALANCED) {
            Some(place) => grpc::client::address(place).map(Target::Balanced),
            None => grpc::client::address(url).map(Target::Grpc),
        }
    }
}

impl Target {
    fn uri(&self) -> &Uri {
        match self {
            Target::Http(uri) | Target::Grpc(uri) | Target::Balanced(uri) => uri,
        }
    }
}

pub(super) fn is_http(url: &str) -> bool {
    url.starts_with("http://") || url.starts_with("https://")
}

/// The host and port in a branch's url, for people: it may be none.
pub(super) fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let place = rest.trim_start_matches('/');
    let place = place.split(['/', '?', '#']).next().unwrap_or_default();
    // Without a password.
    place.rsplit('@').next().unwrap_or_default()
}

/// Refuses what no call may take.
pub fn check_time(time: Seconds) -> Result<(), String> {
    match time.0 > TIME_MAX {
        true => Err(format!(
            "request_timeout: {} seconds are allowed",
            Seconds(TIME_MAX)
        )),
        false => Ok(()),
    }
}

/// The port of a URI that names none.
fn usual_port(uri: &Uri) -> u16 {
    match uri.scheme_str() {
        Some("https") => 443,
        _ => 80,
    }
}

type Http2 = Client<pool::Connector, Full<Bytes>>;

/// The client side, shared by all calls.
pub struct Caller {
    http: Pool,
    grpc: Http2,
    balancer: Balancer,
    guard: Arc<Guard>,
    turns: Turns,
}

impl Caller {
    /// Calls whom `guard` allows.
    ///
    /// # Errors
    ///
    /// TLS cannot be had.
    pub fn new(guard: Guard) -> Result<Caller, String> {
        Caller::trusting(guard, None)
    }

    /// The same; `authority` names the file with those whose certificates are trusted, unless it
    /// is those that the system trusts.
    ///
    /// # Errors
    ///
    /// TLS cannot be had, or what is wrong with the file.
    pub fn trusting(guard: Guard, authority: Option<&Path>) -> Result<Caller, String> {
        let guard = Arc::new(guard);
        let resolver = Resolver::new(Arc::clone(&guard));
        Ok(Caller::with(guard, resolver, tls(authority)?))
    }

    fn with(guard: Arc<Guard>, resolver: Resolver, tls: ClientConfig) -> Caller {
        let https = secured(tls.clone())
            .enable_http1()
            .wrap_connector(connector(resolver.clone()));
        let calls_max = turns::calls_max();
        Caller {
            http: Pool::new(https, calls_max),
            grpc: http2(connector(resolver.clone()), tls.clone()),
            balancer: Balancer::new(resolver, Arc::clone(&guard), tls),
            guard,
            turns: Turns::new(calls_max),
        }
    }

    /// Whether this address may be called at all, as far as that is known before its name is
    /// looked up; why not.
    pub fn check(&self, url: &str) -> Result<(), String> {
        if url.is_empty() {
            return Ok(());
        }
        if url.len() > URL_BYTES_MAX {
            return Err(format!("url: {URL_BYTES_MAX} bytes are allowed"));
        }
        self.target(url).map(drop)
    }

    /// Where a url leads, if that is allowed.
    fn target(&self, url: &str) -> Result<Target, String> {
        let target = Target::parse(url)?;
        self.guard
            .check(target.uri())
            .map_err(|why| format!("url {url}: {why}"))?;
        Ok(target)
    }

    /// Closes connections that nobody used for long.
    pub fn tidy(&self) {
        self.http.tidy();
        self.balancer.tidy();
        self.turns.tidy();
    }

    /// Calls, and says what the answer means. `begin` is called when it begins: it has its turn.
    pub async fn call(&self, global: &Global, call: &Call, begin: impl FnOnce()) -> Reply {
        if call.url.is_empty() {
            return Reply::Success(String::new());
        }
        let (target, method) = match self.destination(global, call) {
            Ok(destination) => destination,
            Err(why) => return Reply::Error(why),
        };
        let Some(_turn) = self.turns.take(target.uri(), call.body.len()).await else {
            return Reply::Unsent;
        };
        // Its time begins with its turn.
        begin();
        // It is large, and stays where it is.
        let exchange = pin!(self.exchange(global, call, target, method));
        match tokio::time::timeout(call.timeout, exchange).await {
            Err(_) => Reply::Error(format!("no answer within {:?}", call.timeout)),
            Ok(Err(why)) => Reply::Error(why),
            Ok(Ok(reply)) => reply,
        }
    }

    /// Posts JSON to the coordinator at `url`; what it answers, or why it refuses.
    pub async fn post(
        &self,
        url: &str,
        token: Option<&str>,
        body: &serde_json::Value,
    ) -> Result<serde_json::Value, String> {
        let answer = self.send_json(url, token, body.to_string()).await?;
        let value: serde_json::Value = serde_json::from_str(&answer.body)
            .map_err(|_| format!("{url}: status {}, no JSON", answer.status.as_u16()))?;
        if answer.status != StatusCode::OK {
            let message = value["message"].as_str().unwrap_or(&answer.body);
            return Err(message.to_owned());
        }
        Ok(value)
    }

    /// Posts JSON to whoever takes it; why it does not.
    pub async fn notify(&self, url: &str, body: String) -> Result<(), String> {
        let status = self.send_json(url, None, body).await?.status;
        match status.is_success() {
            true => Ok(()),
            false => Err(format!("{url}: status {}", status.as_u16())),
        }
    }

    /// Posts protocol buffers to whoever takes them; why it does not.
    pub async fn deliver(
        &self,
        url: &str,
        headers: &BTreeMap<String, String>,
        body: Vec<u8>,
    ) -> Result<(), String> {
        let mut request = Request::post(url).header(CONTENT_TYPE, "application/x-protobuf");
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(Bytes::from(body)));
        let answer = self
            .http
            .send(request.map_err(|error| format!("{url}: {error}"))?);
        let status = answer
            .await
            .map_err(|error| format!("{url}: {error}"))?
            .status;
        match status.is_success() {
            true => Ok(()),
            false => Err(format!("{url}: status {}", status.as_u16())),
        }
    }

    async fn send_json(
        &self,
        url: &str,
        token: Option<&str>,
        body: String,
    ) -> Result<Answer, String> {
        let mut request = Request::post(url).header(CONTENT_TYPE, "application/json");
        if let Some(token) = token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| format!("{url}: {error}"))?;
        let answer = self.http.send(request).await;
        answer.map_err(|error| format!("{url}: {error}"))
    }

    /// Where a call goes, if that is allowed, and the method of JSON-RPC if it is one.
    fn destination(
        &self,
        global: &Global,
        call: &Call,
    ) -> Result<(Target, Option<String>), String> {
        let method = json_rpc::method(global, &call.url);
        let target = match is_http(&call.url) && method.is_none() {
            true => self.target(&http::url(global, call))?,
            false => self.target(&call.url)?,
        };
        Ok((target, method))
    }

    async fn exchange(
        &self,
        global: &Global,
        call: &Call,
        target: Target,
        method: Option<String>,
    ) -> Result<Reply, String> {
        match (target, method) {
            (Target::Http(uri), None) => {
                let answer = self.http.send(http::request(uri, call)?).await?;
                Ok(http::meaning(&call.url, &answer))
            }
            (Target::Http(uri), Some(method)) => {
                let request = json_rpc::request(uri, &method, global, call)?;
                let answer = self.http.send(request).await?;
                Ok(json_rpc::meaning(&call.url, &answer))
            }
            (Target::Grpc(uri), _) => {
                let request = grpc::client::request(uri, global, call)?;
                // Large: the other calls are smaller without it.
                grpc_reply(call, Box::pin(self.send_grpc(request)).await)
            }
            (Target::Balanced(uri), _) => {
                let request = grpc::client::request(uri, global, call)?;
                let answer =
                    Box::pin(async { Ok(read(self.balancer.send(request).await?).await?) });
                grpc_reply(call, answer.await)
            }
        }
    }

    /// Sends a request over HTTP/2, whose URI has scheme and authority, and reads the answer.
    pub async fn send_grpc(&self, request: Request<Full<Bytes>>) -> Result<Answer, Unanswered> {
        let response = self.grpc.request(request).await;
        Ok(read(response.map_err(|error| Unanswered::from(&error))?).await?)
    }
}

/// Why a call over HTTP/2 has no answer.
#[derive(Debug)]
pub enum Unanswered {
    /// It was refused before anybody looked at it: the connection has as many calls as it may.
    Refused,
    /// Nobody knows what became of it, or nobody could be reached; why.
    Failed(String),
}

impl From<String> for Unanswered {
    fn from(why: String) -> Unanswered {
        Unanswered::Failed(why)
    }
}

impl From<&legacy::Error> for Unanswered {
    fn from(error: &legacy::Error) -> Unanswered {
        let first: &(dyn std::error::Error + 'static) = error;
        let mut causes = std::iter::successors(Some(first), |error| error.source());
        // RFC 9113, 8.7: "REFUSED_STREAM" says that nothing was done.
        let is_refusal = |cause: &(dyn std::error::Error + 'static)| {
            let http2 = cause.downcast_ref::<h2::Error>();
            http2.and_then(h2::Error::reason) == Some(h2::Reason::REFUSED_STREAM)
        };
        match causes.any(is_refusal) {
            true => Unanswered::Refused,
            false => Unanswered::Failed(reasons(error)),
        }
    }
}

fn grpc_reply(call: &Call, answer: Result<Answer, Unanswered>) -> Result<Reply, String> {
    match answer {
        Ok(answer) => Ok(grpc::client::meaning(&call.url, &answer)),
        Err(Unanswered::Refused) => Ok(Reply::Unsent),
        Err(Unanswered::Failed(why)) => Err(why),
    }
}

/// Connects to the first address of a name that can be connected to. Each has its part of the
/// time: one that does not even refuse leaves some of a call's to the next.
fn connector(resolver: Resolver) -> HttpConnector<Resolver> {
    const CONNECT_TIME: Duration = Duration::from_secs(2);
    let mut connector = HttpConnector::new_with_resolver(resolver);
    connector.set_nodelay(true);
    connector.enforce_http(false);
    connector.set_connect_timeout(Some(CONNECT_TIME));
    connector
}

fn secured(tls: ClientConfig) -> HttpsConnectorBuilder<WantsProtocols1> {
    HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http()
}

/// Calls over HTTP/2.
fn http2(connector: HttpConnector<Resolver>, tls: ClientConfig) -> Http2 {
    Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(Duration::from_secs(30))
        .http2_only(true)
        .http2_keep_alive_interval(Duration::from_secs(10))
        .build(secured(tls).enable_http2().wrap_connector(connector))
}

/// TLS with services whose certificates are signed by one of this file's; without one, which the
/// system trusts, or the file that SSL_CERT_FILE names.
fn tls(authority: Option<&Path>) -> Result<ClientConfig, String> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = match authority {
        Some(path) => builder.with_root_certificates(authorities(path)?),
        None => match builder.clone().with_native_roots() {
            Ok(builder) => builder,
            // A system that trusts nobody can still call those without TLS.
            Err(_) => builder.with_root_certificates(RootCertStore::empty()),
        },
    };
    Ok(builder.with_no_client_auth())
}

/// Reads an answer to its end, or as far as it says something.
async fn read(response: Response<Incoming>) -> Result<Answer, String> {
    let (head, body) = response.into_parts();
    let says_all = matches!(head.status, StatusCode::CONFLICT | StatusCode::TOO_EARLY);
    let mut body = Limited::new(body, ANSWER_BYTES_MAX);
    let (mut bytes, mut trailers) = (Vec::new(), HeaderMap::new());
    while let Some(frame) = body.frame().await {
        let frame = match frame {
            Ok(frame) => frame,
            // It is too long, and its status is enough.
            Err(error) if says_all && error.is::<LengthLimitError>() => break,
            Err(error) => return Err(format!("reading the answer: {error}")),
        };
        match frame.into_data() {
            Ok(data) => bytes.extend_from_slice(&data),
            Err(frame) => trailers = frame.into_trailers().unwrap_or(trailers),
        }
    }
    Ok(Answer {
        status: head.status,
        headers: head.headers,
        body: String::from_utf8_lossy(&bytes).into_owned(),
        trailers,
    })
}

/// An error with what caused it.
fn reasons(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let texts: Vec<String> = causes.map(ToString::to_string).collect();
    texts.join(": ")
}

/// As much of a text as is kept of an error.
pub fn shortened(text: &str) -> String {
    text.chars().take(ERROR_CHARACTERS_MAX).collect()
}

#[cfg(test)]
mod tests;
