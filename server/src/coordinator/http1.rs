//! Messages of HTTP/1.1 (RFC 9112), as bytes: for both ends of a connection.
//!
//! A general library passes each message through tasks, channels and tables of headers; profiles
//! showed that this was half of what the coordinator's own code did for a saga. What it needs is
//! less: one message after another, read whole, of which three headers count.
//!
//! A head is read until its empty line, up to [`HEAD_BYTES_MAX`], and parsed once. A body is as
//! long as `Content-Length` says, or comes in chunks, or, of an answer, until the connection ends.
//! Nobody's word is taken for how much memory to get: it grows with what arrives.

use httparse::Header;
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// A longer head is refused.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// So are more headers.
const HEADERS_MAX: usize = 100;
/// The line with a chunk's size may have so many bytes, and all lines after the last chunk.
const CHUNK_LINE_BYTES_MAX: usize = 4 << 10;
const END_OF_LINE: &[u8] = b"\r\n";
/// Room for what the next read brings, at least.
const PIECE: usize = 4 << 10;
/// A larger buffer is given back when its message is read.
const BUFFER_KEPT_MAX: usize = 64 << 10;

/// Why there is no message.
#[derive(Debug)]
pub(super) enum Broken {
    /// The connection ended before its first byte.
    Closed,
    /// It ended or failed in the middle.
    Io(io::Error),
    /// It is no message.
    Malformed(&'static str),
    /// Its head is longer than allowed.
    LongHead,
    /// Its body is.
    LongBody,
}

const NO_HTTP: Broken = Broken::Malformed("no HTTP/1.1");

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Broken {
        Broken::Io(error)
    }
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Broken::Closed => f.write_str("connection closed before message completed"),
            Broken::Io(error) => error.fmt(f),
            Broken::Malformed(what) => f.write_str(what),
            Broken::LongHead => write!(f, "more than {HEAD_BYTES_MAX} bytes of headers"),
            Broken::LongBody => f.write_str("length limit exceeded"),
        }
    }
}

/// How long a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    /// So many bytes.
    Known(u64),
    /// Its chunks tell.
    Chunked,
    /// It ends with the connection.
    ToTheEnd,
}

/// A message without its body.
#[derive(Debug)]
pub(super) struct Head<T> {
    /// What is wanted of a request; an answer's status.
    pub what: T,
    pub length: Length,
    /// No other message follows it.
    pub is_last: bool,
    /// The client waits for a word before it sends the body.
    pub expects_continue: bool,
}

/// The value of a header, if it is there and is text.
pub(super) fn header<'a>(headers: &[Header<'a>], name: &str) -> Option<&'a str> {
    let found = headers.iter().find(|h| h.name.eq_ignore_ascii_case(name))?;
    std::str::from_utf8(found.value).ok()
}

/// A connection, and what was received of it and is not used yet.
pub(super) struct Wire<S> {
    stream: S,
    received: Vec<u8>,
    /// So many of these are used.
    used: usize,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Wire<S> {
    pub fn new(stream: S) -> Wire<S> {
        Wire {
            stream,
            received: Vec::new(),
            used: 0,
        }
    }

    /// The connection itself, if nothing was received that nobody has used.
    pub fn idle(&mut self) -> Option<&mut S> {
        self.rest().is_empty().then_some(&mut self.stream)
    }

    /// What was received and is not used yet.
    fn rest(&self) -> &[u8] {
        self.received.get(self.used..).unwrap_or_default()
    }

    /// Sends.
    pub async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }

    /// Receives some bytes; false: there are no more.
    async fn receive(&mut self) -> Result<bool, Broken> {
        // Once for all that was used since bytes last came.
        self.received.drain(..self.used);
        self.used = 0;
        self.received.reserve(PIECE);
        Ok(self.stream.read_buf(&mut self.received).await? > 0)
    }

    /// Receives some bytes, in the middle of a message.
    async fn more(&mut self) -> Result<(), Broken> {
        match self.receive().await? {
            true => Ok(()),
            false if self.rest().is_empty() => Err(Broken::Closed),
            false => Err(Broken::Io(io::ErrorKind::UnexpectedEof.into())),
        }
    }

    /// The next request's head, and what `keep` wants of it.
    pub async fn request<T>(
        &mut self,
        keep: impl FnOnce(&httparse::Request<'_, '_>) -> T,
    ) -> Result<Head<T>, Broken> {
        let end = self.end_of_head().await?;
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut request = httparse::Request::new(&mut headers);
        let parsed = request.parse(self.rest().get(..end).unwrap_or_default());
        whole(parsed)?;
        let framing = Framing::of(request.headers)?;
        let head = Head {
            what: keep(&request),
            // Who sends a request must say how long it is.
            length: framing.length.unwrap_or(Length::Known(0)),
            is_last: framing.is_last(request.version),
            expects_continue: framing.expects_continue,
        };
        self.used += end;
        Ok(head)
    }

    /// An answer's head. What only says that there will be one is passed over.
    pub async fn answer(&mut self) -> Result<Head<u16>, Broken> {
        loop {
            let end = self.end_of_head().await?;
            let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
            let mut answer = httparse::Response::new(&mut headers);
            let parsed = answer.parse(self.rest().get(..end).unwrap_or_default());
            whole(parsed)?;
            let status = answer.code.unwrap_or_default();
            let framing = Framing::of(answer.headers)?;
            let is_last = framing.is_last(answer.version);
            self.used += end;
            let length = match status {
                101 => {
                    return Err(Broken::Malformed(
                        "another protocol, which nobody asked for",
                    ));
                }
                100..=199 => continue,
                204 | 304 => Length::Known(0),
                _ => framing.length.unwrap_or(Length::ToTheEnd),
            };
            return Ok(Head {
                what: status,
                length,
                is_last: is_last || length == Length::ToTheEnd,
                expects_continue: false,
            });
        }
    }

    /// Receives until the head's empty line is there; how long the head is.
    async fn end_of_head(&mut self) -> Result<usize, Broken> {
        let mut seen = 0;
        loop {
            let end = end_of_lines(self.rest(), seen);
            seen = self.rest().len();
            if end.unwrap_or(seen) > HEAD_BYTES_MAX {
                return Err(Broken::LongHead);
            }
            if let Some(end) = end {
                return Ok(end);
            }
            // Who speaks another protocol, such as TLS, waits for us.
            let first = self.rest().first();
            if first.is_some_and(|byte| !byte.is_ascii_graphic() && !byte.is_ascii_whitespace()) {
                return Err(NO_HTTP);
            }
            self.more().await?;
        }
    }

    /// Whether a body of this length can be read without waiting.
    pub fn has(&self, length: Length) -> bool {
        matches!(length, Length::Known(count) if count <= self.rest().len() as u64)
    }

    /// A message's body.
    pub async fn body(&mut self, length: Length, bytes_max: usize) -> Result<Vec<u8>, Broken> {
        let body = match length {
            Length::Known(count) => {
                let count = usize::try_from(count).unwrap_or(usize::MAX);
                if count > bytes_max {
                    return Err(Broken::LongBody);
                }
                while self.rest().len() < count {
                    self.more().await?;
                }
                self.take(count)
            }
            Length::Chunked => self.chunks(bytes_max).await?,
            Length::ToTheEnd => {
                while self.rest().len() <= bytes_max {
                    if !self.receive().await? {
                        return Ok(self.take(bytes_max));
                    }
                }
                return Err(Broken::LongBody);
            }
        };
        if self.received.capacity() > BUFFER_KEPT_MAX {
            self.received.drain(..self.used);
            self.used = 0;
            self.received.shrink_to(PIECE);
        }
        Ok(body)
    }

    /// Takes so many of the bytes that are there.
    fn take(&mut self, count: usize) -> Vec<u8> {
        if self.used == 0 && self.received.len() <= count {
            return std::mem::take(&mut self.received);
        }
        let rest = self.rest();
        let taken = rest.get(..count).unwrap_or(rest).to_vec();
        self.used += taken.len();
        taken
    }

    /// A body in chunks; what may follow the last one is passed over.
    async fn chunks(&mut self, bytes_max: usize) -> Result<Vec<u8>, Broken> {
        const NO_CHUNK: Broken = Broken::Malformed("no chunk");
        let mut body = Vec::new();
        loop {
            let (line, size) = loop {
                match httparse::parse_chunk_size(self.rest()) {
                    Ok(httparse::Status::Complete(found)) => break found,
                    Ok(httparse::Status::Partial) if self.rest().len() < CHUNK_LINE_BYTES_MAX => {
                        self.more().await?;
                    }
                    _ => return Err(NO_CHUNK),
                }
            };
            if size == 0 {
                // With the line's end, so that no line but it is an empty one, too.
                self.used += line - END_OF_LINE.len();
                break;
            }
            self.used += line;
            let size = usize::try_from(size).unwrap_or(usize::MAX);
            if size > bytes_max.saturating_sub(body.len()) {
                return Err(Broken::LongBody);
            }
            let whole = size + END_OF_LINE.len();
            while self.rest().len() < whole {
                self.more().await?;
            }
            let chunk = self.rest().get(..whole).unwrap_or_default();
            body.extend_from_slice(chunk.strip_suffix(END_OF_LINE).ok_or(NO_CHUNK)?);
            self.used += whole;
        }
        loop {
            if let Some(end) = end_of_lines(self.rest(), 0) {
                self.used += end;
                return Ok(body);
            }
            if self.rest().len() > CHUNK_LINE_BYTES_MAX {
                return Err(NO_CHUNK);
            }
            self.more().await?;
        }
    }
}

/// Where the empty line ends that follows at least one other; the first `seen` bytes have none.
fn end_of_lines(bytes: &[u8], seen: usize) -> Option<usize> {
    // It may have begun in what was seen.
    let mut from = seen.saturating_sub(3);
    loop {
        let rest = bytes.get(from..)?;
        let line = rest.iter().position(|byte| *byte == b'\n')?;
        let after = rest.get(line + 1..)?;
        from += line + 1;
        if after.starts_with(b"\n") {
            return Some(from + 1);
        }
        if after.starts_with(b"\r\n") {
            return Some(from + 2);
        }
    }
}

fn whole(parsed: httparse::Result<usize>) -> Result<(), Broken> {
    match parsed {
        Ok(httparse::Status::Complete(_)) => Ok(()),
        Ok(httparse::Status::Partial) => Err(Broken::Malformed("an empty line too early")),
        Err(httparse::Error::TooManyHeaders) => Err(Broken::LongHead),
        Err(_) => Err(NO_HTTP),
    }
}

/// What headers say about the message itself.
#[derive(Default)]
struct Framing {
    length: Option<Length>,
    closes: bool,
    keeps: bool,
    expects_continue: bool,
}

impl Framing {
    fn of(headers: &[Header<'_>]) -> Result<Framing, Broken> {
        const TWO_LENGTHS: Broken = Broken::Malformed("two lengths of one body");
        let mut framing = Framing::default();
        for Header { name, value } in headers {
            let length = if name.eq_ignore_ascii_case("content-length") {
                let number = std::str::from_utf8(value).ok().filter(|text| {
                    // `parse` would take a sign.
                    text.bytes().all(|byte| byte.is_ascii_digit())
                });
                let number = number.and_then(|text| text.parse().ok());
                Length::Known(number.ok_or(Broken::Malformed("Content-Length is no number"))?)
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                if !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(Broken::Malformed("no such transfer encoding"));
                }
                Length::Chunked
            } else {
                if name.eq_ignore_ascii_case("connection") {
                    let mut words = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
                    let has = |word: &[u8]| words.clone().any(|w| w.eq_ignore_ascii_case(word));
                    framing.keeps |= has(b"keep-alive");
                    framing.closes |= words.any(|word| word.eq_ignore_ascii_case(b"close"));
                } else if name.eq_ignore_ascii_case("expect") {
                    framing.expects_continue = value.eq_ignore_ascii_case(b"100-continue");
                }
                continue;
            };
            // Two that differ would let somebody in between see other messages than we do.
            if framing.length.is_some_and(|other| other != length) {
                return Err(TWO_LENGTHS);
            }
            framing.length = Some(length);
        }
        Ok(framing)
    }

    /// Whether the connection ends after this message, of HTTP/1.0 or 1.1.
    fn is_last(&self, version: Option<u8>) -> bool {
        self.closes || (version == Some(0) && !self.keeps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::runtime::Builder;

    /// What is read of these bytes, which come one by one, or all at once.
    fn read<T>(
        bytes: &[u8],
        each: usize,
        read: impl AsyncFnOnce(&mut Wire<tokio::io::DuplexStream>) -> T,
    ) -> T {
        let runtime = Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (ours, mut theirs) = tokio::io::duplex(1 << 20);
            let bytes = bytes.to_vec();
            let sending = tokio::spawn(async move {
                for piece in bytes.chunks(each) {
                    theirs.write_all(piece).await.unwrap();
                    tokio::task::yield_now().await;
                }
            });
            let found = read(&mut Wire::new(ours)).await;
            sending.abort();
            found
        })
    }

    fn answer(text: &str, each: usize) -> Result<(u16, String, bool), Broken> {
        read(text.as_bytes(), each, async |wire| {
            let head = wire.answer().await?;
            let body = wire.body(head.length, 100).await?;
            Ok((head.what, String::from_utf8(body).unwrap(), head.is_last))
        })
    }

    #[test]
    fn answers() {
        for (text, status, body, is_last) in [
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
                200,
                "hi",
                false,
            ),
            ("HTTP/1.1 200 OK\ncontent-length: 2\n\nhi", 200, "hi", false),
            (
                "HTTP/1.1 409 -\r\nContent-Length: 0\r\nConnection: x, Close\r\n\r\n",
                409,
                "",
                true,
            ),
            (
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 -\r\n\r\n",
                204,
                "",
                false,
            ),
            ("HTTP/1.1 200 OK\r\n\r\nto the end", 200, "to the end", true),
            (
                "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n1",
                200,
                "1",
                true,
            ),
            (
                "HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\n1",
                200,
                "1",
                false,
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
                200,
                "abcde",
                false,
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: y\r\n\r\n",
                200,
                "a",
                false,
            ),
        ] {
            for each in [1, 7, text.len()] {
                let found = answer(text, each).unwrap();
                assert_eq!(found, (status, body.to_owned(), is_last), "{text}, {each}");
            }
        }
    }

    #[test]
    fn what_is_no_answer() {
        let long = format!(
            "HTTP/1.1 200 OK\r\nX: {}\r\n\r\n",
            "x".repeat(HEAD_BYTES_MAX)
        );
        for (text, wanted) in [
            ("", "connection closed before message completed"),
            ("HTTP/1.1 200 OK\r\nContent-Le", "unexpected end of file"),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nh",
                "unexpected end of file",
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nhi",
                "Content-Length is no number",
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nhi",
                "two lengths of one body",
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n",
                "length limit exceeded",
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
                "no such transfer encoding",
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
                "length limit exceeded",
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
                "no chunk",
            ),
            ("SSH-2.0-x\r\n\r\n", "no HTTP/1.1"),
            ("\u{16}\u{3}\u{1}\u{2}", "no HTTP/1.1"),
            (
                "HTTP/1.1 101 -\r\n\r\n",
                "another protocol, which nobody asked for",
            ),
            (&long, "more than 65536 bytes of headers"),
        ] {
            let error = answer(text, text.len().max(1)).unwrap_err();
            assert_eq!(
                error.to_string(),
                wanted,
                "{}",
                text.get(..50).unwrap_or(text)
            );
        }
    }

    #[test]
    fn requests_follow_one_another() {
        let text = "POST /a?b HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n1\
                    GET http://x/c HTTP/1.1\r\nX-Y: z\r\n\r\n";
        let found = read(text.as_bytes(), 5, async |wire| {
            let first = wire
                .request(|request| request.path.map(str::to_owned))
                .await?;
            let body = wire.body(first.length, 1).await?;
            let named = |request: &httparse::Request<'_, '_>| {
                let value = header(request.headers, "x-y").map(str::to_owned);
                (request.path.map(str::to_owned), value)
            };
            let second = wire.request(named).await?;
            let end = wire.request(|_| ()).await;
            assert!(matches!(end, Err(Broken::Closed)), "{end:?}");
            assert!(first.expects_continue && !second.expects_continue);
            Ok::<_, Broken>((first.what, body, second.length, second.what))
        });
        let (first, body, length, (second, named)) = found.unwrap();
        assert_eq!((first.as_deref(), &*body), (Some("/a?b"), &b"1"[..]));
        assert_eq!(
            (length, second.as_deref()),
            (Length::Known(0), Some("http://x/c"))
        );
        assert_eq!(named.as_deref(), Some("z"));
    }
}
