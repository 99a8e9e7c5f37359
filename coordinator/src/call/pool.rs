//! Connections over HTTP/1.1, kept alive for the next call to the same place.
//!
//! A connection has no task of its own: who makes a call drives it meanwhile, and nobody does
//! while it is idle. So a call costs no switch between tasks: it is written, and whoever waits for
//! its answer reads it. What the other end does to an idle connection is noticed when the next
//! call takes it.

use super::{
    Answer,
    guard::Resolver,
    meter::{Meter, Metered},
    read, reasons, usual_port,
};
use http_body_util::Full;
use hyper::{
    Request, Uri,
    body::Bytes,
    client::conn::http1::{self, SendRequest},
    header::{HOST, HeaderValue},
    http::uri::{Authority, PathAndQuery, Scheme},
};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::{client::legacy::connect::HttpConnector, rt::TokioIo};
use rustc_hash::FxHashMap;
use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::{Duration, Instant},
};
use tokio::net::TcpStream;
use tower_service::Service;

/// So many connections to one place are kept; in all as many as calls are made at once.
const IDLE_MAX: usize = 256;
/// Those that nobody used for so long are closed.
const IDLE_TIME: Duration = Duration::from_secs(30);

type Body = Full<Bytes>;
type Socket = MaybeHttpsStream<TokioIo<TcpStream>>;
pub(super) type Connector = HttpsConnector<HttpConnector<Resolver>>;

/// Where a connection leads.
type Place = (Scheme, Authority);

/// A connection.
struct Connection {
    requests: SendRequest<Body>,
    /// Reads and writes when it is polled; `None`: it is closed.
    io: Option<Box<http1::Connection<Metered<Socket>, Body>>>,
    meter: Arc<Meter>,
}

/// See the module.
pub(super) struct Pool {
    connector: Connector,
    /// So many connections are kept in all.
    most: usize,
    /// The last used comes last.
    idle: Mutex<FxHashMap<Place, Vec<(Connection, Instant)>>>,
}

impl Pool {
    pub fn new(connector: Connector, most: usize) -> Pool {
        Pool {
            connector,
            most,
            idle: Mutex::default(),
        }
    }

    fn idle(&self) -> MutexGuard<'_, FxHashMap<Place, Vec<(Connection, Instant)>>> {
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
    pub async fn send(&self, mut request: Request<Body>) -> Result<Answer, String> {
        let uri = std::mem::take(request.uri_mut());
        let place = place(&uri)?;
        let path = uri.path_and_query().cloned();
        *request.uri_mut() = path
            .unwrap_or_else(|| PathAndQuery::from_static("/"))
            .into();
        if !request.headers().contains_key(HOST) {
            let host = HeaderValue::from_str(host(&uri)).map_err(|error| error.to_string())?;
            request.headers_mut().insert(HOST, host);
        }
        while let Some(mut connection) = self.take(&place) {
            connection.run_once().await;
            match connection.exchange(request).await {
                Ok(answer) => return Ok(self.done(place, connection, answer)),
                Err(Failed::Unsent(unsent)) => request = *unsent,
                Err(Failed::Lost(why)) => return Err(why),
            }
        }
        // Large and rare: calls over connections that are there are smaller without it.
        let mut connection = Box::pin(self.connect(uri)).await?;
        match connection.exchange(request).await {
            Ok(answer) => Ok(self.done(place, connection, answer)),
            Err(Failed::Unsent(_)) => Err("the connection was closed at once".into()),
            Err(Failed::Lost(why)) => Err(why),
        }
    }

    fn take(&self, place: &Place) -> Option<Connection> {
        let mut idle = self.idle();
        let (connection, since) = idle.get_mut(place)?.pop()?;
        (since.elapsed() <= IDLE_TIME).then_some(connection)
    }

    fn done(&self, place: Place, connection: Connection, answer: Answer) -> Answer {
        if connection.requests.is_ready() {
            let mut idle = self.idle();
            let all: usize = idle.values().map(Vec::len).sum();
            let connections = idle.entry(place).or_default();
            if connections.len() < IDLE_MAX && all < self.most {
                connections.push((connection, Instant::now()));
            }
        }
        answer
    }

    async fn connect(&self, uri: Uri) -> Result<Connection, String> {
        let mut connector = self.connector.clone();
        poll_fn(|context| connector.poll_ready(context))
            .await
            .map_err(|error| reasons(&*error))?;
        let stream = connector.call(uri).await;
        let stream = stream.map_err(|error| format!("connecting: {}", reasons(&*error)))?;
        let (stream, meter) = Metered::new(stream);
        let (requests, io) = http1::handshake(stream)
            .await
            .map_err(|error| reasons(&error))?;
        Ok(Connection {
            requests,
            io: Some(Box::new(io)),
            meter,
        })
    }
}

/// Why a request has no answer.
enum Failed {
    /// It was not sent.
    Unsent(Box<Request<Body>>),
    /// Nobody knows what became of it.
    Lost(String),
}

impl Connection {
    /// Reads and writes what can be read and written now.
    fn run(&mut self, context: &mut Context<'_>) {
        self.meter.begin_turn();
        if let Some(io) = &mut self.io
            && Pin::new(io).poll(context).is_ready()
        {
            // Whoever waits for something learns of the end by this.
            self.io = None;
        }
    }

    async fn run_once(&mut self) {
        poll_fn(|context| {
            self.run(context);
            Poll::Ready(())
        })
        .await;
    }

    async fn exchange(&mut self, request: Request<Body>) -> Result<Answer, Failed> {
        let sent = self.requests.try_send_request(request);
        let meter = Arc::clone(&self.meter);
        meter.expect_head();
        let mut exchange = pin!(async {
            let response = sent.await.map_err(|mut error| match error.take_message() {
                Some(request) => Failed::Unsent(Box::new(request)),
                None => Failed::Lost(reasons(error.error())),
            })?;
            meter.has_head();
            read(response).await.map_err(Failed::Lost)
        });
        let answer = poll_fn(|context| {
            if let Poll::Ready(answer) = exchange.as_mut().poll(context) {
                return Poll::Ready(answer);
            }
            self.run(context);
            exchange.as_mut().poll(context)
        })
        .await;
        // So that it knows that the answer is read, and whether it stays open.
        self.run_once().await;
        answer
    }
}

fn place(uri: &Uri) -> Result<Place, String> {
    let place = uri.scheme().cloned().zip(uri.authority().cloned());
    place.ok_or_else(|| format!("url {uri}: it has no host"))
}

/// The header of that name: without the port, if it is the usual one.
fn host(uri: &Uri) -> &str {
    if uri.port_u16() == Some(usual_port(uri)) {
        return uri.host().unwrap_or_default();
    }
    let place = uri.authority().map_or("", Authority::as_str);
    place.rsplit_once('@').map_or(place, |(_, place)| place)
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
}
