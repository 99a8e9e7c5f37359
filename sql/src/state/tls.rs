//! What statements can see and change of encryption. The server provides it; an instance without
//! a server has none.

use crate::error::SqlError;

/// The TLS that a client speaks through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encryption {
    /// `TLSv1.2` or `TLSv1.3`.
    pub version: &'static str,
    /// The cipher suite, by OpenSSL's name.
    pub cipher: &'static str,
    /// All that the server offers, with colons between them.
    pub ciphers: &'static str,
    /// The name by which the client has asked for the server, if it has.
    pub server_name: String,
    /// The client's certificate, which is good, if it has shown one.
    pub certificate: Option<Certificate>,
}

/// A certificate's names, as OpenSSL writes them: `/C=FI/O=Example/CN=somebody`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Certificate {
    /// Whose it is.
    pub subject: String,
    /// Who has signed it.
    pub issuer: String,
}

/// The server's TLS.
pub trait Tls: Send + Sync {
    /// Takes the certificate anew, from the files that the variables name, for those who connect
    /// from now on. If that fails all stays as it is, or without `rollback` TLS is off.
    fn reload(&self, rollback: bool) -> Result<(), SqlError>;
    /// Status variables with their values.
    fn status(&self) -> Vec<(&'static str, String)>;
}
