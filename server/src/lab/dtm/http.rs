//! One end of an HTTP/1.1 connection that is kept alive, with blocking calls.
//!
//! Just what the experiment needs, and so cheap that it is the others who are measured: bodies
//! have a Content-Length, everything else in a head is passed over.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
};

/// A longer head or body is refused.
const HEAD_MAX: usize = 64 << 10;
const BODY_MAX: usize = 1 << 20;
/// What one read may bring.
const PIECE: usize = 4 << 10;

/// A request or a response.
#[derive(Debug, PartialEq, Eq)]
pub struct Message {
    /// `POST /path?query HTTP/1.1`, or `HTTP/1.1 200 OK`.
    pub first_line: String,
    /// The body.
    pub body: Vec<u8>,
}

impl Message {
    /// A request's path and query.
    pub fn target(&self) -> &str {
        self.first_line.split(' ').nth(1).unwrap_or_default()
    }

    /// A response's status; 0 if it is none.
    pub fn status(&self) -> u16 {
        self.target().parse().unwrap_or(0)
    }
}

/// See the module.
pub struct Http {
    stream: TcpStream,
    /// Received, and not taken yet.
    buffer: Vec<u8>,
    /// What is sent next.
    out: Vec<u8>,
}

impl Http {
    /// Connects.
    pub fn connect(address: SocketAddr) -> io::Result<Http> {
        TcpStream::connect(address).and_then(Http::over)
    }

    /// A connection that is there.
    pub fn over(stream: TcpStream) -> io::Result<Http> {
        stream.set_nodelay(true)?;
        Ok(Http {
            stream,
            buffer: Vec::new(),
            out: Vec::new(),
        })
    }

    /// The connection itself.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Sends a POST and waits for its response.
    pub fn post(&mut self, target: &str, body: &str) -> io::Result<Message> {
        self.send(target, body)?;
        self.receive()?
            .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// Sends a POST.
    pub fn send(&mut self, target: &str, body: &str) -> io::Result<()> {
        self.out.clear();
        write!(
            self.out,
            "POST {target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
        self.stream.write_all(&self.out)
    }

    /// Answers a request.
    pub fn respond(&mut self, status: u16, body: &str) -> io::Result<()> {
        self.out.clear();
        write!(
            self.out,
            "HTTP/1.1 {status} -\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n\
             {body}",
            body.len()
        )?;
        self.stream.write_all(&self.out)
    }

    /// The next message; `None` if the other end has closed the connection in between.
    pub fn receive(&mut self) -> io::Result<Option<Message>> {
        loop {
            if let Some((message, length)) = parse(&self.buffer)? {
                self.buffer.drain(..length);
                return Ok(Some(message));
            }
            let mut piece = [0; PIECE];
            match self.stream.read(&mut piece)? {
                0 if self.buffer.is_empty() => return Ok(None),
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => self.buffer.extend_from_slice(&piece[..n]),
            }
        }
    }
}

/// A message at the beginning of `bytes`, and how long it is; `None` if there is more to come.
fn parse(bytes: &[u8]) -> io::Result<Option<(Message, usize)>> {
    let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what);
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        if bytes.len() > HEAD_MAX {
            return Err(invalid("the head is too long"));
        }
        return Ok(None);
    };
    let head = std::str::from_utf8(&bytes[..end]).map_err(|_| invalid("the head is no text"))?;
    let mut lines = head.split("\r\n");
    let first_line = lines.next().unwrap_or_default().to_owned();
    let mut length = 0;
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        if name.eq_ignore_ascii_case("content-length") {
            let value = value.trim().parse::<usize>();
            length = value.map_err(|_| invalid("Content-Length is no number"))?;
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(invalid("a Content-Length is expected"));
        }
    }
    if length > BODY_MAX {
        return Err(invalid("the body is too long"));
    }
    let begin = end + 4;
    let body = bytes.get(begin..begin + length);
    Ok(body.map(|body| {
        let body = body.to_vec();
        (Message { first_line, body }, begin + length)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages() {
        let bytes = b"POST /a?b=1 HTTP/1.1\r\nX: y\r\ncontent-LENGTH: 2\r\n\r\nhiHTTP";
        let (message, length) = parse(bytes).unwrap().unwrap();
        assert_eq!((message.target(), length), ("/a?b=1", bytes.len() - 4));
        assert_eq!(message.body, b"hi");
        for torn in 0..length {
            assert_eq!(parse(&bytes[..torn]).unwrap(), None);
        }
        let (message, _) = parse(b"HTTP/1.1 409 Conflict\r\n\r\n").unwrap().unwrap();
        assert_eq!((message.status(), message.body), (409, Vec::new()));
    }

    #[test]
    fn what_is_no_message() {
        for text in [
            "GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
            "GET / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(parse(&[b'x'; HEAD_MAX + 1]).is_err());
    }
}
