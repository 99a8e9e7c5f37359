//! Connections over HTTP/1.1, kept alive for the next call to the same place.
//!
//! A connection has no task of its own: whoever makes a call writes its request and reads its
//! answer, and what the other end does to an idle connection is noticed when the next call takes
//! it. So a call costs no switch between tasks.

use super::{
    super::http1::{Broken, Wire},
    ANSWER_BYTES_MAX, Answer,
    guard::Resolver,
    reasons, usual_port,
};
use hyper::{
    HeaderMap, Method, Request, StatusCode, Uri,
    header::{CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING},
};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::{client::legacy::connect::HttpConnector, rt::TokioIo};
use std::{
    collections::HashMap,
    future::poll_fn,
    io::Write,
    pin::Pin,
    sync::{Mutex, MutexGuard, PoisonError},
    task::Poll,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncRead, ReadBuf},
    net::TcpStream,
};
use tower_service::Service;

/// So many connections to one place are kept.
const IDLE_MAX: usize = 256;
/// Those that nobody used for so long are closed.
const IDLE_TIME: Duration = Duration::from_secs(30);

pub(super) type Connector = HttpsConnector<HttpConnector<Resolver>>;

/// Where a connection leads: `scheme://host:port`.
type Place = String;

/// In a box, for it is large if it can be encrypted, and goes from hand to hand.
type Connection = Box<Wire<TokioIo<MaybeHttpsStream<TokioIo<TcpStream>>>>>;

/// See the module.
pub(super) struct Pool {
    connector: Connector,
    /// The last used comes last.
    idle: Mutex<HashMap<Place, Vec<(Connection, Instant)>>>,
}

impl Pool {
    pub fn new(connector: Connector) -> Pool {
        Pool {
            connector,
            idle: Mutex::default(),
        }
    }

    fn idle(&self) -> MutexGuard<'_, HashMap<Place, Vec<(Connection, Instant)>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes what was not used for long.
    pub fn tidy(&self) {
        self.idle().retain(|_, connections| {
            // The first have been idle longest.
            let old = connections.partition_point(|(_, since)| since.elapsed() > IDLE_TIME);
            connections.drain(..old);
            !connections.is_empty()
        });
    }

    /// Sends a request, whose URI has scheme and authority, and reads the answer.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub async fn send(&self, request: &Request<Vec<u8>>) -> Result<Answer, String> {
        let uri = request.uri();
        let place = place(uri)?;
        let bytes = written(request);
        while let Some(mut connection) = self.take(&place) {
            if !is_open(&mut connection).await {
                continue;
            }
            return self.exchange(place, connection, &bytes).await;
        }
        // Rare, and large: calls are smaller without it.
        let connection = Box::pin(self.connect(uri.clone())).await?;
        self.exchange(place, connection, &bytes).await
    }

    fn take(&self, place: &str) -> Option<Connection> {
        let mut idle = self.idle();
        let (connection, since) = idle.get_mut(place)?.pop()?;
        (since.elapsed() <= IDLE_TIME).then_some(connection)
    }

    fn keep(&self, place: Place, connection: Connection) {
        let mut idle = self.idle();
        let connections = idle.entry(place).or_default();
        if connections.len() < IDLE_MAX {
            connections.push((connection, Instant::now()));
        }
    }

    async fn connect(&self, uri: Uri) -> Result<Connection, String> {
        let mut connector = self.connector.clone();
        poll_fn(|context| connector.poll_ready(context))
            .await
            .map_err(|error| reasons(&*error))?;
        let stream = connector.call(uri).await;
        let stream = stream.map_err(|error| format!("connecting: {}", reasons(&*error)))?;
        Ok(Box::new(Wire::new(TokioIo::new(stream))))
    }

    /// One request and its answer. Dropped in the middle, it takes the connection with it.
    async fn exchange(
        &self,
        place: Place,
        mut connection: Connection,
        request: &[u8],
    ) -> Result<Answer, String> {
        let lost = |error: std::io::Error| format!("sending the request: {error}");
        connection.send(request).await.map_err(lost)?;
        let unread = |broken: Broken| format!("reading the answer: {broken}");
        let head = connection.answer().await.map_err(unread)?;
        let status = StatusCode::from_u16(head.what);
        let status = status.map_err(|error| format!("{}: {error}", head.what))?;
        let body = connection.body(head.length, ANSWER_BYTES_MAX);
        let body = body.await.map_err(unread)?;
        if !head.is_last {
            self.keep(place, connection);
        }
        Ok(Answer {
            status,
            headers: HeaderMap::new(),
            body: super::text(body),
            trailers: HeaderMap::new(),
        })
    }
}

/// Whether an idle connection can take a request: it was not closed meanwhile, and nothing came
/// that nobody asked for.
async fn is_open(connection: &mut Connection) -> bool {
    let Some(stream) = connection.idle() else {
        return false;
    };
    poll_fn(|context| {
        let mut byte = [0];
        let read = Pin::new(&mut *stream).poll_read(context, &mut ReadBuf::new(&mut byte));
        Poll::Ready(read.is_pending())
    })
    .await
}

/// A request's bytes.
fn written(request: &Request<Vec<u8>>) -> Vec<u8> {
    let (uri, headers, body) = (request.uri(), request.headers(), request.body());
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let mut out = Vec::with_capacity(256 + path.len() + body.len());
    // Nothing fails to be written to memory.
    let _ = write!(out, "{} {path} HTTP/1.1\r\n", request.method());
    if !headers.contains_key(HOST) {
        let _ = write!(out, "host: {}\r\n", host(uri));
    }
    for (name, value) in headers {
        // How long the message is we know best.
        if ![CONTENT_LENGTH, TRANSFER_ENCODING, CONNECTION].contains(name) {
            let _ = write!(out, "{name}: ");
            out.extend_from_slice(value.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
    }
    if !body.is_empty() || request.method() != Method::GET {
        let _ = write!(out, "content-length: {}\r\n", body.len());
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(body);
    out
}

fn place(uri: &Uri) -> Result<Place, String> {
    let place = uri.scheme_str().zip(uri.authority());
    let place = place.map(|(scheme, authority)| format!("{scheme}://{authority}"));
    place.ok_or_else(|| format!("url {uri}: it has no host"))
}

/// The header of that name: without the port, if it is the usual one.
fn host(uri: &Uri) -> String {
    let name = uri.host().unwrap_or_default();
    match uri.port_u16() {
        Some(port) if port != usual_port(uri) => format!("{name}:{port}"),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_port_is_not_told() {
        for (uri, wanted) in [
            ("http://a/x", "a"),
            ("http://a:80/", "a"),
            ("https://a:443/", "a"),
            ("http://u:p@a:443/", "a:443"),
            ("http://[::1]:8080/", "[::1]:8080"),
        ] {
            assert_eq!(host(&uri.parse().unwrap()), wanted);
        }
    }

    #[test]
    fn requests() {
        let request = |method: &str, uri: &str, body: &str| {
            let request = Request::builder().method(method).uri(uri);
            let request = request.header("X-Y", "z").header("Content-Length", "7");
            let bytes = written(&request.body(body.into()).unwrap());
            String::from_utf8(bytes).unwrap().replace("\r\n", "|")
        };
        let head = "HTTP/1.1|host: a:8|x-y: z|";
        assert_eq!(
            request("GET", "http://a:8/b?c=d", ""),
            format!("GET /b?c=d {head}|")
        );
        assert_eq!(
            request("POST", "http://a:8", ""),
            format!("POST / {head}content-length: 0||")
        );
        assert_eq!(
            request("POST", "http://a:8", "hi"),
            format!("POST / {head}content-length: 2||hi")
        );
    }
}
