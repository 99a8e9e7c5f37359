//! gRPC over HTTP/2, as its PROTOCOL-HTTP2 document has it: messages in frames, and how a call ended
//! in the headers `grpc-status` and `grpc-message`.
//!
//! ```text
//! u8   1: compressed, which is never offered here and so refused
//! u32  length of the message, big endian
//! …    the message
//! ```

use hyper::{
    HeaderMap,
    body::Bytes,
    header::{HeaderName, HeaderValue},
};

/// Bytes before a message.
pub const HEAD_BYTES: usize = 5;
/// A larger message is refused.
pub const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// The header with a [`Code`].
pub const STATUS: HeaderName = HeaderName::from_static("grpc-status");
/// The header with an error's text, percent-encoded.
pub const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
/// The content type of requests and responses.
pub const CONTENT_TYPE: &str = "application/grpc";

/// How a call ended: those of gRPC's codes that are used or understood here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// It succeeded.
    Ok = 0,
    /// Some error.
    Unknown = 2,
    /// The request is wrong.
    InvalidArgument = 3,
    /// The protocol's "ongoing".
    FailedPrecondition = 9,
    /// The protocol's "failure".
    Aborted = 10,
    /// There is no such method.
    Unimplemented = 12,
    /// A mistake in the server.
    Internal = 13,
    /// The server stops, or is away: try again.
    Unavailable = 14,
    /// Who are you?
    Unauthenticated = 16,
}

/// A code and a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The code.
    pub code: Code,
    /// The text for people.
    pub message: String,
}

impl Status {
    /// An error.
    pub fn new(code: Code, message: impl Into<String>) -> Status {
        let message = message.into();
        Status { code, message }
    }
    /// As headers or trailers.
    #[must_use]
    pub fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(STATUS, HeaderValue::from(self.code as u16));
        if !self.message.is_empty()
            && let Ok(value) = HeaderValue::from_str(&escape(&self.message))
        {
            headers.insert(MESSAGE, value);
        }
        headers
    }
}

/// A message in its frame.
#[must_use]
pub fn encode(message: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(HEAD_BYTES + message.len());
    // Messages come from requests of bounded size.
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    out.push(0);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(message);
    Bytes::from(out)
}

/// Takes the first whole message from `bytes`; `None`: it is not all there yet.
///
/// # Errors
///
/// It is compressed, or announced as larger than `max`.
pub fn take(bytes: &mut Vec<u8>, max: usize) -> Result<Option<Vec<u8>>, Status> {
    let Some((&[compressed, a, b, c, d], rest)) = bytes.split_first_chunk() else {
        return Ok(None);
    };
    if compressed != 0 {
        let message = "compressed messages are not supported";
        return Err(Status::new(Code::Unimplemented, message));
    }
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    if length > max {
        let message = format!("a message of {length} bytes; {max} are allowed");
        return Err(Status::new(Code::InvalidArgument, message));
    }
    let Some(message) = rest.get(..length) else {
        return Ok(None);
    };
    let message = message.to_vec();
    bytes.drain(..HEAD_BYTES + length);
    Ok(Some(message))
}

/// The one message that a unary call's body consists of.
///
/// # Errors
///
/// It does not, or see [`take`].
pub fn only(mut body: Vec<u8>, max: usize) -> Result<Vec<u8>, Status> {
    match take(&mut body, max)? {
        Some(message) if body.is_empty() => Ok(message),
        _ => {
            let message = "one message is expected, whole";
            Err(Status::new(Code::InvalidArgument, message))
        }
    }
}

/// Percent-encodes what is no printable ASCII.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' '..=b'~' if byte != b'%' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// The text that [`escape`] made; what is not encoded properly stays as it is.
#[must_use]
pub fn unescape(encoded: &[u8]) -> String {
    let mut out = Vec::with_capacity(encoded.len());
    let mut rest = encoded;
    while let Some((&byte, after)) = rest.split_first() {
        let digit = |at: usize| char::from(*after.get(at)?).to_digit(16);
        let value = match byte {
            b'%' => digit(0).zip(digit(1)),
            _ => None,
        };
        match value.and_then(|(high, low)| u8::try_from(high << 4 | low).ok()) {
            Some(value) => {
                out.push(value);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                out.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_taken_as_they_come() {
        let mut all = encode(b"one").to_vec();
        all.extend_from_slice(&encode(b""));
        all.extend_from_slice(&encode(b"three"));
        let mut seen = Vec::new();
        let mut buffer = Vec::new();
        for byte in all {
            buffer.push(byte);
            while let Some(message) = take(&mut buffer, 10).unwrap() {
                seen.push(message);
            }
        }
        assert_eq!(seen, [&b"one"[..], b"", b"three"]);
        assert!(buffer.is_empty());
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let refused = |bytes: &[u8]| only(bytes.to_vec(), 10).unwrap_err().code;
        assert_eq!(refused(b""), Code::InvalidArgument);
        assert_eq!(refused(b"\0\0\0\0\x02a"), Code::InvalidArgument);
        assert_eq!(refused(b"\0\0\0\0\x01ab"), Code::InvalidArgument);
        assert_eq!(refused(b"\0\xff\xff\xff\xff"), Code::InvalidArgument);
        assert_eq!(refused(b"\x01\0\0\0\0"), Code::Unimplemented);
    }

    #[test]
    fn texts_become_headers() {
        let headers = Status::new(Code::Aborted, "100 %\nsnow ☃").headers();
        assert_eq!(headers[STATUS], "10");
        assert_eq!(headers[MESSAGE], "100 %25%0Asnow %E2%98%83");
        assert_eq!(unescape(headers[MESSAGE].as_bytes()), "100 %\nsnow ☃");
        assert_eq!(unescape(b"%4g%"), "%4g%");
    }
}
