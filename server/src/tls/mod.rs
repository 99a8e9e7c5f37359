//! TLS of client connections: from the settings, the variables and the files in the data directory
//! to what clients are offered.

mod certificates;

use certificates::{CA, CERT, KEY};
use cohort_engine::types::Value;
use cohort_mysql::tls::{Offer, Refusal, Sources, Tls};
use cohort_process::{Notice, notice};
use cohort_sql::{
    Instance, SqlError,
    variables::{Values, persisted},
};
use parking_lot::Mutex;
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Weak},
};

/// The variables that name files.
const FILES: [&str; 3] = ["ssl_ca", "ssl_cert", "ssl_key"];

/// Takes the certificate that the variables name, or the one in the data directory, which is made
/// if it is not there; what is wrong with it.
pub fn start(instance: &Arc<Instance>, directory: &Path) -> Result<Arc<Tls>, String> {
    let tls = Arc::<Tls>::default();
    let ours = ServerTls {
        instance: Arc::downgrade(instance),
        tls: Arc::clone(&tls),
        directory: directory.to_owned(),
        current: Mutex::default(),
    };
    let values = instance.globals.values();
    if values.text("tls_version").is_empty() {
        notice!(Notice::NoTls, "no TLS for clients, as tls_version is empty");
    } else {
        if FILES.iter().all(|name| values.text(name).is_empty()) {
            find_or_make(instance, directory)?;
        }
        ours.load(&instance.globals.values()).map_err(|refusal| {
            let Refusal {
                setting, detail, ..
            } = refusal;
            let kept = directory.join(persisted::FILE);
            let kept = match kept.exists() {
                true => format!("; SET PERSIST may have set them in {}", kept.display()),
                false => String::new(),
            };
            format!(
                "{setting}: {detail}; TLS for clients needs ssl-cert and ssl-key, which belong \
                 together, and may have ssl-ca; without all three the server makes its own, and \
                 --tls-version '' does without TLS{kept}"
            )
        })?;
    }
    instance.encrypted_by(Box::new(ours));
    Ok(tls)
}

/// TLS with a certificate of its own, for tests.
pub(crate) fn with_new_certificate(directory: &Path) -> Result<Tls, String> {
    certificates::make(directory, None)?;
    let offer = Offer::load(Sources {
        authority: Some(directory.join(CA)),
        certificate: Some(directory.join(CERT)),
        key: Some(directory.join(KEY)),
        versions: "TLSv1.2,TLSv1.3".into(),
    });
    let tls = Tls::default();
    tls.set_offer(Some(offer.map_err(|refusal| refusal.to_string())?));
    Ok(tls)
}

/// Has the variables name the certificate in the data directory.
fn find_or_make(instance: &Instance, directory: &Path) -> Result<(), String> {
    let is_there = |name: &str| directory.join(name).exists();
    if !is_there(CA) && !is_there(CERT) {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
        certificates::make(directory, host.as_deref().map(str::trim))
            .map_err(|error| format!("making a certificate: {error}"))?;
        notice!(
            Notice::CertificateMade,
            "made a certificate for TLS; clients that verify it need {CA} (ssl-ca)"
        );
    }
    for (variable, file) in FILES.into_iter().zip([CA, CERT, KEY]) {
        // Without an authority no client is asked for a certificate.
        if file == CA && !is_there(CA) {
            continue;
        }
        let value = Value::Bytes(file.into());
        let configured = instance.configure(variable, &value);
        configured.map_err(|error| format!("{variable}: {}", error.message))?;
    }
    Ok(())
}

/// The TLS of a server, as statements see it.
struct ServerTls {
    instance: Weak<Instance>,
    tls: Arc<Tls>,
    directory: PathBuf,
    /// The variables as they were when the certificate was taken.
    current: Mutex<Option<Values>>,
}

impl ServerTls {
    /// Offers what the variables say.
    fn load(&self, values: &Values) -> Result<(), Refusal> {
        let file = |name: &str| {
            let text = values.text(name);
            // Absolute paths stay as they are.
            (!text.is_empty()).then(|| self.directory.join(text))
        };
        let offer = Offer::load(Sources {
            authority: file("ssl_ca"),
            certificate: file("ssl_cert"),
            key: file("ssl_key"),
            versions: values.text("tls_version").to_owned(),
        })?;
        self.tls.set_offer(Some(offer));
        *self.current.lock() = Some(values.clone());
        Ok(())
    }
}

impl cohort_sql::Tls for ServerTls {
    fn reload(&self, rollback: bool) -> Result<(), SqlError> {
        let Some(instance) = self.instance.upgrade() else {
            return Ok(());
        };
        let values = instance.globals.values();
        match self.load(&values) {
            Ok(()) => Ok(()),
            Err(refusal) if rollback => Err(SqlError::tls_not_reloaded(refusal)),
            Err(refusal) => {
                notice!(Notice::NoTls, "no TLS for clients: {refusal}");
                self.tls.set_offer(None);
                *self.current.lock() = Some(values);
                Ok(())
            }
        }
    }

    fn status(&self) -> Vec<(&'static str, String)> {
        const CURRENT: [(&str, &str); 9] = [
            ("Current_tls_ca", "ssl_ca"),
            ("Current_tls_capath", "ssl_capath"),
            ("Current_tls_cert", "ssl_cert"),
            ("Current_tls_cipher", "ssl_cipher"),
            ("Current_tls_ciphersuites", "tls_ciphersuites"),
            ("Current_tls_crl", "ssl_crl"),
            ("Current_tls_crlpath", "ssl_crlpath"),
            ("Current_tls_key", "ssl_key"),
            ("Current_tls_version", "tls_version"),
        ];
        let current = self.current.lock();
        let value = |name| {
            let values = current.as_ref();
            values.map_or_else(String::new, |values| values.text(name).to_owned())
        };
        let mut status: Vec<_> = CURRENT.map(|(name, of)| (name, value(of))).into();
        let (accepts, finished) = self.tls.counts();
        let offer = self.tls.offer();
        let of_offer = |tell: fn(&Offer) -> &str| {
            let offer = offer.as_deref();
            offer.map_or_else(String::new, |offer| tell(offer).to_owned())
        };
        status.extend([
            ("Ssl_accepts", accepts.to_string()),
            ("Ssl_finished_accepts", finished.to_string()),
            ("Ssl_server_not_after", of_offer(|offer| &offer.valid_until)),
            ("Ssl_server_not_before", of_offer(|offer| &offer.valid_from)),
        ]);
        status
    }
}
