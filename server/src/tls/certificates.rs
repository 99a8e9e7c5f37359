//! The certificates that a server makes for itself, under MySQL's names in the data directory.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    time::{Duration, SystemTime},
};

/// The authority's certificate.
pub const CA: &str = "ca.pem";
/// The server's certificate.
pub const CERT: &str = "server-cert.pem";
/// Its key.
pub const KEY: &str = "server-key.pem";
const CA_KEY: &str = "ca-key.pem";
const CLIENT_CERT: &str = "client-cert.pem";
const CLIENT_KEY: &str = "client-key.pem";

/// Who may read them: keys are the server's alone.
const CERT_MODE: u32 = 0o644;
const KEY_MODE: u32 = 0o600;
/// As long as MySQL's.
const VALID: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
/// The clocks of clients may be behind this one.
const CLOCKS_DIFFER: Duration = Duration::from_secs(24 * 3600);
/// Under which names and addresses every machine knows itself.
const SELF: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Makes an authority, and certificates of a server and of a client that it has signed. What is
/// there is replaced.
pub fn make(directory: &Path, host: Option<&str>) -> Result<(), String> {
    let wrong = |error: rcgen::Error| error.to_string();
    let authority_key = KeyPair::generate().map_err(wrong)?;
    let mut authority = named("CA", Vec::new()).map_err(wrong)?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let authority_cert = authority.self_signed(&authority_key).map_err(wrong)?;
    let key_text = authority_key.serialize_pem();
    let issuer = Issuer::new(authority, authority_key);
    let issue = |what, names, purpose| {
        let key = KeyPair::generate()?;
        let mut params = named(what, names)?;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![purpose];
        let cert = params.signed_by(&key, &issuer)?;
        Ok((cert.pem(), key.serialize_pem()))
    };
    let host = host.filter(|host| !SELF.contains(host));
    let names = SELF.into_iter().chain(host).map(str::to_owned).collect();
    let server = ExtendedKeyUsagePurpose::ServerAuth;
    let (server_cert, server_key) = issue("Server", names, server).map_err(wrong)?;
    let client = ExtendedKeyUsagePurpose::ClientAuth;
    let (client_cert, client_key) = issue("Client", Vec::new(), client).map_err(wrong)?;
    for (name, text, mode) in [
        (CA_KEY, key_text, KEY_MODE),
        (CLIENT_KEY, client_key, KEY_MODE),
        (KEY, server_key, KEY_MODE),
        (CLIENT_CERT, client_cert, CERT_MODE),
        // Those whose presence says that all of them are there.
        (CA, authority_cert.pem(), CERT_MODE),
        (CERT, server_cert, CERT_MODE),
    ] {
        let path = directory.join(name);
        write(&path, &text, mode).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

fn named(what: &str, names: Vec<String>) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names)?;
    let name = format!("Cohort_{what}_Auto_Generated_Certificate");
    params.distinguished_name.push(DnType::CommonName, name);
    let now = SystemTime::now();
    params.not_before = (now - CLOCKS_DIFFER).into();
    params.not_after = (now + VALID).into();
    Ok(params)
}

fn write(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
