//! MySQL's client/server protocol 4.1: bytes in, bytes out.
//!
//! A connection is served by any thread, as long as its client sends ([`connection`]). The bytes
//! of one command are parsed in place in the connection's read buffer, and the reply is encoded
//! into its write buffer and leaves with one write if it fits ([`packet`]). The modules follow a connection's
//! life: [`handshake`], [`tls`] and [`auth`] admit it, [`connection`] obeys its commands, [`parameters`]
//! decodes what COM_STMT_EXECUTE carries, and [`reply`] encodes results. [`client`] is the other side:
//! for the lab, and for a coordinator whose tables are in another server.
//!
//! 1. Nothing here knows SQL: it is all behind [`Handler`] and [`Backend`], which the tests also
//!    implement with canned answers.
//! 2. Bytes from the client never panic and never make us allocate more than twice what has
//!    really arrived, nor more than `max_allowed_packet`; for what is compressed, no more than it says
//!    it is, if it may be that long ([`compression`]).
//! 3. A slot (the right to execute) is held while a command is executed, and while its bytes are
//!    copied from and to the socket, never while the client is waited for.

pub mod auth;
pub mod backup;
pub mod client;
pub mod compression;
pub mod connection;
pub mod constants;
pub mod handler;
pub mod handshake;
pub mod packet;
pub mod parameters;
pub mod reply;
pub mod rsa;
pub mod semi_sync;
mod session;
pub mod stream;
pub mod tls;

#[cfg(test)]
mod tests;

pub use handler::{Account, Arrival, Backend, Handler, Peer};
