//! TLS of connections: what a server offers to its clients, and how it runs over a stream.
//!
//! The client asks for it in its login ([`handshake`](super::handshake)). From then on the
//! [`Stream`] encrypts and decrypts, and nobody else need know. A server can change its
//! certificate while it runs: who has connected keeps the old one.

mod certificate;
mod names;
mod secured;

pub(crate) use secured::Secured;

use crate::{client::tls::authorities, stream::Stream};
use parking_lot::RwLock;
use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};
use tokio_rustls::rustls::{
    self, InconsistentKeys, ServerConfig, ServerConnection, SupportedProtocolVersion,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{NoServerSessionStorage, WebPkiClientVerifier},
};

/// The files, in PEM, and the versions that an offer is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sources {
    /// Certificates of those who may have signed a client's (ssl_ca).
    pub authority: Option<PathBuf>,
    /// The server's certificate, and those between it and its authority (ssl_cert).
    pub certificate: Option<PathBuf>,
    /// The certificate's private key (ssl_key).
    pub key: Option<PathBuf>,
    /// `TLSv1.2`, `TLSv1.3` or both, with a comma (tls_version).
    pub versions: String,
}

/// Why there is no offer.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The setting that is to blame.
    pub setting: &'static str,
    /// MySQL's words for it.
    pub words: &'static str,
    /// Where, and what exactly.
    pub detail: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}: {})", self.words, self.setting, self.detail)
    }
}

/// What a server offers to new connections.
#[derive(Debug)]
pub struct Offer {
    config: Arc<ServerConfig>,
    /// From when on its certificate is valid, as OpenSSL writes it.
    pub valid_from: String,
    /// Until when.
    pub valid_until: String,
    /// What it is made of.
    pub sources: Sources,
}

impl Offer {
    /// Reads the files.
    pub fn load(sources: Sources) -> Result<Offer, Refusal> {
        let versions = versions(&sources.versions).map_err(|detail| Refusal {
            setting: "tls_version",
            words: "TLS version is invalid",
            detail,
        })?;
        let certificate_refused = |detail| Refusal {
            setting: "ssl_cert",
            words: "Unable to get certificate",
            detail,
        };
        let key_refused = |detail| Refusal {
            setting: "ssl_key",
            words: "Unable to get private key",
            detail,
        };
        let chain = certificates(sources.certificate.as_deref()).map_err(certificate_refused)?;
        let key = private_key(sources.key.as_deref()).map_err(key_refused)?;
        let first = chain.first().map(|first| first.as_ref());
        let (valid_from, valid_until) = first
            .and_then(certificate::validity)
            .ok_or_else(|| certificate_refused("its validity cannot be read".into()))?;
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions)
            .map_err(|error| certificate_refused(error.to_string()))?;
        let builder = match &sources.authority {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let refused = |detail| Refusal {
                    setting: "ssl_ca",
                    words: "SSL_CTX_set_default_verify_paths failed",
                    detail,
                };
                let roots = Arc::new(authorities(path).map_err(refused)?);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider)
                    .allow_unauthenticated()
                    .build()
                    .map_err(|error| refused(error.to_string()))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let config = builder.with_single_cert(chain, key);
        let mut config = config.map_err(|error| match error {
            rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => Refusal {
                setting: "ssl_key",
                words: "Private key does not match the certificate public key",
                detail: "it is the key of another certificate".into(),
            },
            error => key_refused(error.to_string()),
        })?;
        // Every connection agrees on keys of its own.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Offer {
            config: Arc::new(config),
            valid_from,
            valid_until,
            sources,
        })
    }
}

fn versions(list: &str) -> Result<Vec<&'static SupportedProtocolVersion>, String> {
    let version = |name: &str| {
        let known = |(known, _): &&(&str, _)| known.eq_ignore_ascii_case(name.trim());
        let found = names::VERSIONS.iter().find(known);
        found
            .map(|(_, version)| *version)
            .ok_or_else(|| format!("'{name}' is not one of TLSv1.2 and TLSv1.3"))
    };
    list.split(',').map(version).collect()
}

fn certificates(path: Option<&Path>) -> Result<Vec<CertificateDer<'static>>, String> {
    let path = path.ok_or("no file is given")?;
    let told = |error: &dyn fmt::Display| format!("{}: {error}", path.display());
    let read = CertificateDer::pem_file_iter(path).map_err(|error| told(&error))?;
    let chain: Vec<_> = read
        .collect::<Result<_, _>>()
        .map_err(|error| told(&error))?;
    if chain.is_empty() {
        return Err(told(&"no certificate is in it"));
    }
    Ok(chain)
}

fn private_key(path: Option<&Path>) -> Result<PrivateKeyDer<'static>, String> {
    let path = path.ok_or("no file is given")?;
    PrivateKeyDer::from_pem_file(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// The TLS of a server.
#[derive(Debug, Default)]
pub struct Tls {
    offer: RwLock<Option<Arc<Offer>>>,
    accepted: AtomicU64,
    finished: AtomicU64,
}

impl Tls {
    /// What new connections are offered; `None` if TLS is off.
    #[must_use]
    pub fn offer(&self) -> Option<Arc<Offer>> {
        self.offer.read().clone()
    }
    /// Offers something else from now on.
    pub fn set_offer(&self, offer: Option<Offer>) {
        *self.offer.write() = offer.map(Arc::new);
    }
    /// How many connections have begun with TLS, and how many of them have carried the handshake
    /// out.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        (self.accepted.load(Relaxed), self.finished.load(Relaxed))
    }
    /// Begins with TLS over a stream, of which `received` was read already.
    pub(crate) fn accept(&self, offer: &Offer, stream: &Stream, received: &[u8]) -> io::Result<()> {
        self.accepted.fetch_add(1, Relaxed);
        let connection = ServerConnection::new(Arc::clone(&offer.config));
        stream.secure(connection.map_err(io::Error::other)?, received)
    }
    pub(crate) fn note_finished(&self) {
        self.finished.fetch_add(1, Relaxed);
    }
}
