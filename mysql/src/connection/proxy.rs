//! The PROXY protocol, versions 1 and 2: what stands between the server and its clients, such as a
//! load balancer, says in front of everything else who the client is.
//!
//! As in MariaDB the server does not wait for it: the greeting has gone, and the first that comes may
//! be a header, if it comes from where proxies are (proxy_protocol_networks). From elsewhere it is
//! a malformed packet.

use super::{Backend, Connection, Peer, Prompt};
use crate::packet::ReadError;
use ppp::{HeaderResult, PartialResult, v1, v2};
use std::net::SocketAddr;

/// How a header begins, of which no packet's beginning is: its number would not be 1.
const BEGINNINGS: [&[u8; 4]; 2] = [b"PROX", b"\r\n\r\n"];
/// The longest header of version 1.
const LINE_MAX: usize = 107;
/// The longest header of all: version 2 has two bytes for its length.
const LONGEST: usize = 16 + 0xffff;

/// What the bytes that have come are.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    /// A header of so many bytes, and the client it tells of, if it does.
    Header(usize, Option<SocketAddr>),
    /// The beginning of one.
    Part,
    /// No header.
    Malformed,
}

fn parse(bytes: &[u8]) -> Found {
    // The library takes some beginnings of a line for a malformed one.
    let line = bytes.get(..LINE_MAX).unwrap_or(bytes);
    if bytes.starts_with(BEGINNINGS[0]) && !line.windows(2).any(|end| end == b"\r\n") {
        return if line.len() < LINE_MAX {
            Found::Part
        } else {
            Found::Malformed
        };
    }
    let header = HeaderResult::parse(bytes);
    if header.is_incomplete() {
        return Found::Part;
    }
    match header {
        HeaderResult::V1(Ok(header)) => {
            let client = match header.addresses {
                v1::Addresses::Tcp4(ip) => Some((ip.source_address, ip.source_port).into()),
                v1::Addresses::Tcp6(ip) => Some((ip.source_address, ip.source_port).into()),
                v1::Addresses::Unknown => None,
            };
            Found::Header(header.header.len(), client)
        }
        HeaderResult::V2(Ok(header)) => {
            let client = match (header.command, header.addresses) {
                (v2::Command::Local, _) => None,
                (_, v2::Addresses::IPv4(ip)) => Some((ip.source_address, ip.source_port).into()),
                (_, v2::Addresses::IPv6(ip)) => Some((ip.source_address, ip.source_port).into()),
                (_, v2::Addresses::Unix(_) | v2::Addresses::Unspecified) => None,
            };
            Found::Header(header.len(), client)
        }
        HeaderResult::V1(Err(_)) | HeaderResult::V2(Err(_)) => Found::Malformed,
    }
}

impl<B: Backend> Connection<B> {
    /// Takes a PROXY header, if one has come; `Pending` if it, or what else comes first, has not come
    /// as a whole.
    pub(super) fn take_proxy_header(&mut self) -> Result<(), ReadError> {
        let stream = &mut Prompt(&self.stream);
        let reader = &mut self.wire.reader;
        let mut wanted = BEGINNINGS[0].len();
        let begins = |bytes: &[u8]| BEGINNINGS.iter().any(|head| bytes.starts_with(*head));
        loop {
            let have = reader.peek(stream, wanted)?;
            if !begins(have) {
                return Ok(());
            }
            match parse(have) {
                Found::Part if wanted < LONGEST => wanted = have.len() + 1,
                Found::Header(length, client) => {
                    reader.skip(length);
                    if let Some(address) = client {
                        self.peer = Peer::behind_proxy(address);
                    }
                    return Ok(());
                }
                Found::Part | Found::Malformed => return Err(ReadError::OutOfOrder),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version_2(command: u8, family: u8, addresses: &[u8]) -> Vec<u8> {
        let length = (addresses.len() as u16).to_be_bytes();
        let head = [
            &b"\r\n\r\n\0\r\nQUIT\n"[..],
            &[0x20 | command, family],
            &length,
        ];
        [&head.concat(), addresses].concat()
    }

    #[test]
    fn headers_tell_who_the_client_is() {
        let v4 = [&[10, 1, 2, 3, 10, 9, 9, 9][..], &[0x30, 0x39, 0x0c, 0xea]].concat();
        let mut v6 = [0; 36];
        (v6[0], v6[15], v6[32], v6[33]) = (0xfd, 7, 0x30, 0x39);
        let first = Some("10.1.2.3:12345");
        for (header, client) in [
            (
                b"PROXY TCP4 10.1.2.3 10.9.9.9 12345 3306\r\n".to_vec(),
                first,
            ),
            (
                b"PROXY TCP6 fd00::7 fd00::1 12345 3306\r\n".to_vec(),
                Some("[fd00::7]:12345"),
            ),
            (b"PROXY UNKNOWN\r\n".to_vec(), None),
            (b"PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n".to_vec(), None),
            (version_2(1, 0x11, &v4), first),
            // What follows the addresses is for others.
            (
                version_2(1, 0x11, &[&v4[..], &[4, 0, 2, 9, 9]].concat()),
                first,
            ),
            (version_2(1, 0x21, &v6), Some("[fd00::7]:12345")),
            (version_2(1, 0x31, &[0; 216]), None),
            (version_2(1, 0, b""), None),
            (version_2(0, 0x11, &v4), None),
            (version_2(0, 0, b""), None),
        ] {
            let client = client.map(|client| client.parse().unwrap());
            let found = Found::Header(header.len(), client);
            assert_eq!(parse(&header), found, "{}", header.escape_ascii());
            let with_more = [&header[..], b"\x01\0\0\x01x"].concat();
            assert_eq!(parse(&with_more), found);
            for cut in 4..header.len() {
                assert_eq!(parse(&header[..cut]), Found::Part, "{cut}");
            }
        }
    }

    #[test]
    fn what_is_no_header_is_malformed() {
        for nonsense in [
            &b"PROXY TCP4 10.1.2.3 10.9.9.9 123456 3306\r\n"[..],
            b"PROXY TCP4 fd00::7 10.9.9.9 1 2\r\n",
            b"PROXY TCP5 1 2 3 4\r\n",
            b"PROXZ\r\n",
            b"\r\n\r\n\0\r\nQUIT\n\x31\x11\0\0",
            b"\r\n\r\n\0\r\nQUIT\n\x2f\x11\0\0",
            b"\r\n\r\nGET",
        ] {
            assert_eq!(
                parse(nonsense),
                Found::Malformed,
                "{}",
                nonsense.escape_ascii()
            );
        }
        let endless = [&b"PROXY UNKNOWN "[..], &[b'x'; 200]].concat();
        assert_eq!(parse(&endless), Found::Malformed);
        let short = version_2(1, 0x11, &[0; 5]);
        assert_eq!(parse(&short), Found::Malformed);
    }
}
