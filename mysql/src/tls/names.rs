//! OpenSSL's names, which MySQL shows.

use std::sync::LazyLock;
use tokio_rustls::rustls::{CipherSuite, ProtocolVersion, SupportedProtocolVersion, version};

/// The versions of TLS, by MySQL's names.
pub(super) const VERSIONS: [(&str, &SupportedProtocolVersion); 2] =
    [("TLSv1.2", &version::TLS12), ("TLSv1.3", &version::TLS13)];

const CIPHERS: [(CipherSuite, &str); 9] = [
    (
        CipherSuite::TLS13_AES_256_GCM_SHA384,
        "TLS_AES_256_GCM_SHA384",
    ),
    (
        CipherSuite::TLS13_AES_128_GCM_SHA256,
        "TLS_AES_128_GCM_SHA256",
    ),
    (
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
        "TLS_CHACHA20_POLY1305_SHA256",
    ),
    (
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        "ECDHE-ECDSA-AES256-GCM-SHA384",
    ),
    (
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        "ECDHE-ECDSA-AES128-GCM-SHA256",
    ),
    (
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
        "ECDHE-ECDSA-CHACHA20-POLY1305",
    ),
    (
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        "ECDHE-RSA-AES256-GCM-SHA384",
    ),
    (
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        "ECDHE-RSA-AES128-GCM-SHA256",
    ),
    (
        CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        "ECDHE-RSA-CHACHA20-POLY1305",
    ),
];

/// A version of TLS.
pub(super) fn version(version: ProtocolVersion) -> &'static str {
    match version {
        ProtocolVersion::TLSv1_2 => "TLSv1.2",
        _ => "TLSv1.3",
    }
}

/// A cipher suite.
pub(super) fn cipher(suite: CipherSuite) -> &'static str {
    let known = CIPHERS.iter().find(|(known, _)| *known == suite);
    known.map_or("", |(_, name)| name)
}

/// All cipher suites that are offered, best first and with colons between them.
pub(super) static ALL: LazyLock<String> = LazyLock::new(|| CIPHERS.map(|(_, name)| name).join(":"));

#[cfg(test)]
mod tests {
    use super::*;
    use tokio_rustls::rustls::crypto::ring;

    #[test]
    fn every_cipher_that_is_offered_has_a_name() {
        for suite in ring::ALL_CIPHER_SUITES {
            assert_ne!(cipher(suite.suite()), "", "{suite:?}");
        }
    }
}
