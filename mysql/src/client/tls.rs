//! TLS with a server, if whoever connects wants it.

use crate::stream::Stream;
use hyper_rustls::ConfigBuilderExt;
use std::{
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};
use tokio_rustls::rustls::{
    self, ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::{
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_cert_signed_by_trust_anchor,
    },
    crypto::{WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
    server::ParsedCertificate,
};

/// How much of a server must be proved, by MySQL's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing: whoever can come between can read everything. It keeps listeners out only.
    Required,
    /// That its certificate is of this authority.
    VerifyCa,
    /// And that it is for the host that was asked for.
    VerifyIdentity,
}

impl FromStr for Mode {
    type Err = String;
    fn from_str(text: &str) -> Result<Mode, String> {
        match text.to_ascii_uppercase().as_str() {
            "REQUIRED" => Ok(Mode::Required),
            "VERIFY_CA" => Ok(Mode::VerifyCa),
            "VERIFY_IDENTITY" => Ok(Mode::VerifyIdentity),
            _ => Err(format!(
                "ssl-mode {text}: DISABLED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY is expected"
            )),
        }
    }
}

/// What is asked of a server's TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    /// How much must be proved.
    pub mode: Mode,
    /// A file with the certificates of those who may have signed the server's, in PEM; `None`:
    /// those that the system trusts.
    pub authority: Option<PathBuf>,
}

/// A demand with its certificates.
#[derive(Clone, Debug)]
pub struct Tls(Arc<ClientConfig>);

impl Tls {
    /// Reads the certificates; what is wrong with them.
    pub fn load(demand: &Demand) -> Result<Tls, String> {
        let wrong = |error: rustls::Error| error.to_string();
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(wrong)?;
        let verifier = |roots| Verifier {
            roots,
            algorithms: ring::default_provider().signature_verification_algorithms,
        };
        let builder = match (demand.mode, &demand.authority) {
            (Mode::VerifyIdentity, None) => builder
                .with_native_roots()
                .map_err(|error| format!("the system's certificates: {error}"))?,
            (Mode::VerifyIdentity, Some(path)) => {
                builder.with_root_certificates(authorities(path)?)
            }
            (Mode::VerifyCa, None) => return Err("VERIFY_CA needs ssl-ca".into()),
            (Mode::VerifyCa, Some(path)) => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(verifier(Some(authorities(path)?)))),
            (Mode::Required, _) => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(verifier(None))),
        };
        Ok(Tls(Arc::new(builder.with_no_client_auth())))
    }

    /// Encrypts a connection to this host, and waits until both sides have agreed on keys.
    pub fn secure(&self, stream: &Stream, host: &str) -> Result<(), String> {
        let name = ServerName::try_from(host.to_owned()).map_err(|error| error.to_string())?;
        let connection = ClientConnection::new(Arc::clone(&self.0), name);
        let connection = connection.map_err(|error| error.to_string())?;
        let secured = stream
            .secure(connection, &[])
            .and_then(|()| stream.shake_hands());
        secured.map_err(|error| error.to_string())
    }
}

/// The certificates in a PEM file, as those who may have signed others; what is wrong with them.
pub fn authorities(path: &Path) -> Result<RootCertStore, String> {
    let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| wrong(&error))? {
        let certificate = certificate.map_err(|error| wrong(&error))?;
        roots.add(certificate).map_err(|error| wrong(&error))?;
    }
    if roots.is_empty() {
        return Err(wrong(&"no certificate is in it"));
    }
    Ok(roots)
}

/// Does not look at the name that a certificate is for, which those that MySQL makes for itself do
/// not have.
#[derive(Debug)]
struct Verifier {
    /// `None`: any certificate will do.
    roots: Option<RootCertStore>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if let Some(roots) = &self.roots {
            let certificate = ParsedCertificate::try_from(end_entity)?;
            let known = self.algorithms.all;
            verify_server_cert_signed_by_trust_anchor(
                &certificate,
                roots,
                intermediates,
                now,
                known,
            )?;
        }
        Ok(ServerCertVerified::assertion())
    }
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
