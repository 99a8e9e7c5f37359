//! A small business service, and a client: HTTP on threads.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread,
    time::Duration,
};

/// A call of a branch, as the service gets it.
#[derive(Clone, Debug, Default)]
pub struct Visit {
    pub method: String,
    pub path: String,
    pub query: BTreeMap<String, String>,
    pub headers: BTreeMap<String, String>,
    pub body: String,
    /// The same, if it is no text.
    pub bytes: Vec<u8>,
}

impl Visit {
    /// A value of the query; empty if it is not there.
    pub fn of(&self, name: &str) -> &str {
        self.query.get(name).map_or("", String::as_str)
    }
}

/// What the service answers.
pub enum Answer {
    Status(u16, String),
    /// Bytes that are no HTTP.
    Garbage,
    /// A body without end.
    Flood,
    /// Nothing, for as long as this.
    Silence(Duration),
}

impl Answer {
    pub fn ok() -> Answer {
        Answer::Status(200, r#"{"dtm_result":"SUCCESS"}"#.into())
    }
}

/// Serves on a port of its own until the process ends.
pub fn serve(handler: impl Fn(&Visit) -> Answer + Send + Sync + 'static) -> u16 {
    serve_at(TcpListener::bind("127.0.0.1:0").expect("a port"), handler)
}

/// Serves there until the process ends.
pub fn serve_at(
    listener: TcpListener,
    handler: impl Fn(&Visit) -> Answer + Send + Sync + 'static,
) -> u16 {
    let port = listener.local_addr().expect("its number").port();
    let handler = Arc::new(handler);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let handler = Arc::clone(&handler);
            thread::spawn(move || talk(stream, &*handler));
        }
    });
    port
}

/// Answers requests until the client goes away.
fn talk(stream: TcpStream, handler: &dyn Fn(&Visit) -> Answer) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut out = stream.try_clone().ok()?;
    let mut input = BufReader::new(stream);
    loop {
        let (first, headers, body) = message(&mut input)?;
        let mut words = first.split(' ');
        let (method, url) = (words.next()?, words.next()?);
        let (path, query) = url.split_once('?').unwrap_or((url, ""));
        let visit = Visit {
            method: method.to_owned(),
            path: path.to_owned(),
            query: crate::api::parse_query(query),
            headers,
            body: String::from_utf8_lossy(&body).into_owned(),
            bytes: body,
        };
        match handler(&visit) {
            Answer::Status(status, body) => {
                let length = body.len();
                let head = format!("HTTP/1.1 {status} x\r\ncontent-length: {length}\r\n\r\n");
                out.write_all((head + &body).as_bytes()).ok()?;
            }
            Answer::Garbage => return out.write_all(b"\0\xff\r\n\r\nwhat?").ok(),
            Answer::Flood => {
                out.write_all(b"HTTP/1.1 200 x\r\ncontent-length: 99999999999\r\n\r\n")
                    .ok()?;
                while out.write_all(&[b'x'; 65536]).is_ok() {}
                return None;
            }
            Answer::Silence(time) => {
                thread::sleep(time);
                return None;
            }
        }
    }
}

/// First line, headers and body of a request or an answer.
fn message(input: &mut impl BufRead) -> Option<(String, BTreeMap<String, String>, Vec<u8>)> {
    let mut line = || {
        let mut line = String::new();
        let length = input.read_line(&mut line).ok()?;
        (length > 0).then(|| line.trim_end().to_owned())
    };
    let first = line()?;
    let mut headers = BTreeMap::new();
    loop {
        let line = line()?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers
        .get("content-length")
        .map_or(Some(0), |length| length.parse().ok())?;
    let mut body = vec![0; length];
    input.read_exact(&mut body).ok()?;
    Some((first, headers, body))
}

/// One request; status 0 if there is no answer.
pub fn exchange(
    port: u16,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> (u16, String) {
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n");
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += &format!("content-length: {}\r\n\r\n", body.len());
    let answer = || {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
        stream.write_all((head + body).as_bytes()).ok()?;
        let (first, _, body) = message(&mut BufReader::new(stream))?;
        let status = first.split(' ').nth(1)?.parse().ok()?;
        Some((status, String::from_utf8(body).ok()?))
    };
    answer().unwrap_or((0, String::new()))
}
