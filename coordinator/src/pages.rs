//! A port for web pages, over the coordinator's HTTP. What is on them is the caller's.
//!
//! 1. Who calls us by a name that is not ours is not answered: it may be a page whose name was made to
//!    resolve to this machine. Neither is what another site's page sends. See `web`.
//! 2. Every answer forbids pages to run, show or send anything but what is ours.
//! 3. Who is not known has a quarter of the places at most, and gives them back to who comes later.
//! 4. Answers are made on threads of their own, as they read tables; who has to wait before, for wrong
//!    passwords, holds none.

use super::{
    api::parse_query,
    http::serve_requests,
    listen::{self, Tls, Visitor},
    web::{self, Foreign},
};
use cohort_process::service;
use http_body_util::{BodyExt, Either, Full, Limited, channel::Channel};
use hyper::{
    HeaderMap, Method, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{CONTENT_TYPE, COOKIE, HeaderName, HeaderValue},
};
use std::{
    collections::BTreeMap,
    convert::Infallible,
    net::{SocketAddr, TcpListener},
    sync::Arc,
    thread::JoinHandle,
    time::Duration,
};
use tokio::{runtime::Builder, sync::oneshot};

/// Connections at once. A page that stays up to date keeps one.
const CONNECTIONS_MAX: usize = 256;
/// Answers that are made at once.
const THREADS_MAX: usize = 16;
/// What a form may have, in bytes, and how long it may take.
const FORM_BYTES_MAX: usize = 64 << 10;
const FORM_TIMEOUT: Duration = Duration::from_secs(10);
/// How long answers that have begun may take at the end.
const SHUTDOWN: Duration = Duration::from_secs(1);
/// What is said with every answer.
const ALWAYS: [(&str, &str); 6] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
         form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-store"),
];

/// A request for a page.
#[derive(Clone, Debug)]
pub struct PageRequest {
    /// GET or POST.
    pub is_post: bool,
    /// The path, without the query.
    pub path: String,
    /// The query's names and values.
    pub query: BTreeMap<String, String>,
    /// A form's names and values.
    pub form: BTreeMap<String, String>,
    /// The value of each cookie, by name.
    pub cookies: BTreeMap<String, String>,
    /// Where it comes from.
    pub address: SocketAddr,
    /// Whether it came over TLS.
    pub is_encrypted: bool,
}

/// A page, or another thing that a browser asks for.
#[derive(Clone, Debug, Default)]
pub struct PageAnswer {
    /// HTTP's status.
    pub status: u16,
    /// Headers, besides those of every answer.
    pub headers: Vec<(&'static str, String)>,
    /// What is in it.
    pub body: Vec<u8>,
}

/// How a request is answered.
pub enum PageReply {
    /// With this.
    Now(PageAnswer),
    /// After so long a time with what this makes.
    Later(Duration, Box<dyn FnOnce() -> PageReply + Send>),
    /// With server-sent events: what this makes, at once and each time that so long has passed, until
    /// it makes none.
    Events(Duration, Box<dyn FnMut() -> Option<String> + Send>),
}

/// What answers requests.
pub type Pages = dyn Fn(PageRequest) -> PageReply + Send + Sync;

/// Whether who sends a request has logged in. It must be quick.
pub type Knows = dyn Fn(&PageRequest) -> bool + Send + Sync;

/// The names that a port has.
#[derive(Clone, Debug)]
pub struct Hosts {
    /// It listens on loopback: its names are those of this machine.
    pub is_loopback: bool,
    /// Other names, without a port. An address is never a name that somebody else can have.
    pub names: Vec<String>,
}

impl Hosts {
    fn has(&self, host: &str) -> bool {
        let name = web::name_of(host);
        let is_named = self.names.iter().any(|own| own.eq_ignore_ascii_case(&name));
        is_named || web::is_loopback(host) || (!self.is_loopback && web::is_address(host))
    }
}

/// The running port. Dropping it ends it.
pub struct PagePort {
    /// Dropped, it ends the thread.
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl PagePort {
    /// Answers with what `pages` makes, by threads with so many bytes of stack. Whom `knows` does not know
    /// keeps nobody out.
    ///
    /// # Errors
    ///
    /// Why it cannot listen.
    pub fn start(
        (listener, tls): (TcpListener, Option<Tls>),
        hosts: Hosts,
        stack: usize,
        (pages, knows): (Arc<Pages>, Arc<Knows>),
    ) -> Result<PagePort, String> {
        let failed = |error: std::io::Error| format!("the port for pages: {error}");
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(THREADS_MAX)
            .thread_stack_size(stack)
            .thread_name("pages")
            .enable_all()
            .build()
            .map_err(failed)?;
        let listener = {
            let _inside = runtime.enter();
            listen::listen(listener).map_err(failed)?
        };
        let is_encrypted = tls.is_some();
        let tls = tls.map(|tls| tls.acceptor("http/1.1"));
        let (hosts, port) = (Arc::new(hosts), ("console", CONNECTIONS_MAX));
        runtime.spawn(listen::accept(
            listener,
            tls,
            port,
            move |connection, visitor| {
                let (hosts, pages) = (Arc::clone(&hosts), Arc::clone(&pages));
                let knows = Arc::clone(&knows);
                serve_requests(connection, move |request| {
                    let (visitor, pages) = (Arc::clone(&visitor), Arc::clone(&pages));
                    let (hosts, knows) = (Arc::clone(&hosts), Arc::clone(&knows));
                    async move {
                        let _served = visitor.serve();
                        let read = read(request, &hosts, (&visitor, &*knows), is_encrypted).await;
                        with_rules(match read {
                            Ok(request) => answer(pages, request).await,
                            Err((status, why)) => whole(plain(status, why)),
                        })
                    }
                })
            },
        ));
        let (end, ended) = oneshot::channel::<()>();
        let work = move || {
            // An error is the sender's end, which is what is waited for.
            let _ = runtime.block_on(ended);
            runtime.shutdown_timeout(SHUTDOWN);
        };
        let thread = service::start("pages", "and nobody sees the console", work);
        Ok(PagePort {
            end: Some(end),
            thread: Some(thread.map_err(failed)?),
        })
    }
}

impl Drop for PagePort {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            // A panic has been printed where it happened.
            let _ = thread.join();
        }
    }
}

/// The bodies of answers: whole, or as they come.
type Body = Either<Full<Bytes>, Channel<Bytes, Infallible>>;

async fn read(
    request: hyper::Request<Incoming>,
    hosts: &Hosts,
    (visitor, knows): (&Visitor, &Knows),
    is_encrypted: bool,
) -> Result<PageRequest, (u16, &'static str)> {
    let headers = request.headers();
    match web::foreign(headers, |host| hosts.has(host)) {
        Some(Foreign::Host) => return Err((403, "host: this is not the name of the console")),
        Some(Foreign::Origin) => return Err((403, "origin: another page's requests are refused")),
        Some(Foreign::Site) => {
            return Err((403, "sec-fetch-site: another site's requests are refused"));
        }
        None => {}
    }
    let is_post = match *request.method() {
        Method::GET => false,
        Method::POST => true,
        _ => return Err((405, "GET or POST is expected")),
    };
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let is_form = kind.is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded"));
    if is_post && !is_form {
        return Err((415, "a form is expected"));
    }
    let mut page = PageRequest {
        is_post,
        path: request.uri().path().to_owned(),
        query: parse_query(request.uri().query().unwrap_or_default()),
        form: BTreeMap::new(),
        cookies: cookies(headers),
        address: visitor.address,
        is_encrypted,
    };
    if knows(&page) {
        visitor.is_welcome();
    }
    if is_post {
        let body = Limited::new(request.into_body(), FORM_BYTES_MAX).collect();
        let body = tokio::time::timeout(FORM_TIMEOUT, body).await;
        let body = body.map_err(|_| (408, "the form did not come in time"))?;
        let body = body.map_err(|_| (413, "the form is too large, or has no end"))?;
        page.form = parse_query(&String::from_utf8_lossy(&body.to_bytes()));
    }
    Ok(page)
}

fn cookies(headers: &HeaderMap) -> BTreeMap<String, String> {
    let texts = headers.get_all(COOKIE).into_iter();
    let texts = texts.filter_map(|text| text.to_str().ok());
    let pairs = texts.flat_map(|text| text.split(';'));
    let pairs = pairs.filter_map(|pair| pair.trim().split_once('='));
    let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    pairs.map(own).collect()
}

async fn answer(pages: Arc<Pages>, request: PageRequest) -> Response<Body> {
    let mut reply = made(move || pages(request)).await;
    loop {
        match reply {
            Some(PageReply::Now(answer)) => return whole(answer),
            Some(PageReply::Later(wait, make)) => {
                tokio::time::sleep(wait).await;
                reply = made(make).await;
            }
            Some(PageReply::Events(every, next)) => return events(every, next),
            None => return whole(plain(500, "a mistake in the console; see the error log")),
        }
    }
}

/// What a thread makes; `None`: it has panicked, which was printed.
async fn made<T: Send + 'static>(make: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(make).await.ok()
}

fn events(every: Duration, mut next: Box<dyn FnMut() -> Option<String> + Send>) -> Response<Body> {
    let (mut sender, body) = Channel::new(2);
    tokio::spawn(async move {
        loop {
            let told = made(move || {
                let event = next();
                (next, event)
            });
            let Some((again, Some(event))) = told.await else {
                return;
            };
            next = again;
            let lines = event.lines().map(|line| format!("data: {line}\n"));
            let text = lines.collect::<String>() + "\n";
            // Nobody hears it any more.
            if sender.send_data(Bytes::from(text)).await.is_err() {
                return;
            }
            tokio::time::sleep(every).await;
        }
    });
    let mut response = Response::new(Either::Right(body));
    let kind = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

fn plain(status: u16, why: &str) -> PageAnswer {
    PageAnswer {
        status,
        headers: vec![("content-type", "text/plain; charset=utf-8".into())],
        body: format!("{why}\n").into_bytes(),
    }
}

fn whole(answer: PageAnswer) -> Response<Body> {
    let mut response = Response::new(Either::Left(Full::new(Bytes::from(answer.body))));
    let status = StatusCode::from_u16(answer.status);
    *response.status_mut() = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in answer.headers {
        if let Ok(value) = HeaderValue::try_from(value) {
            let name = HeaderName::from_static(name);
            response.headers_mut().append(name, value);
        }
    }
    response
}

/// The answer with what is said with every one.
fn with_rules(mut response: Response<Body>) -> Response<Body> {
    for (name, value) in ALWAYS {
        let name = HeaderName::from_static(name);
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_can_be_somebody_elses_are_not_ours() {
        let hosts = |is_loopback, names: &[&str]| Hosts {
            is_loopback,
            names: names.iter().map(|name| (*name).to_owned()).collect(),
        };
        let here = hosts(true, &[]);
        for (host, ours) in [
            ("localhost:8036", true),
            ("127.0.0.1:8036", true),
            ("[::1]:8036", true),
            ("evil.example:8036", false),
            ("10.0.0.1:8036", false),
            ("", false),
        ] {
            assert_eq!(here.has(host), ours, "{host}");
        }
        let there = hosts(false, &["db.example"]);
        for (host, ours) in [
            ("DB.example:8036", true),
            ("10.0.0.1:8036", true),
            ("evil.example", false),
            ("db.example.evil.example", false),
        ] {
            assert_eq!(there.has(host), ours, "{host}");
        }
    }

    #[test]
    fn cookies_are_pairs() {
        let mut headers = HeaderMap::new();
        headers.append(COOKIE, HeaderValue::from_static("a=1; b=x=y;c"));
        headers.append(COOKIE, HeaderValue::from_static("d=2"));
        let found = cookies(&headers);
        let found: Vec<_> = found
            .iter()
            .map(|(n, v)| (n.as_str(), v.as_str()))
            .collect();
        assert_eq!(found, [("a", "1"), ("b", "x=y"), ("d", "2")]);
    }
}
