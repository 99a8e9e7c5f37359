//! Whether somebody may come in, by whatever door: the protocol's, or the console's.

use super::{Account, Backend, Peer, auth};
use cohort_sql::{
    Certificate, Encryption, SqlError, password, session::Identity, users::Requirement,
};

/// The stored form of no password, hashed when there is no other: to guess a user's name takes as
/// long as to guess a password.
const NOBODY: &str = "$A$00A$....................0000000000000000000000000000000000000000000";

/// Why somebody with the right password does not come in, for the server only.
pub const NOT_AS_REQUIRED: &str = "the connection is not as the account requires";

/// Who somebody says to be, and whether that was proved.
pub struct Claim<'a> {
    /// The name that was given.
    pub user: &'a str,
    /// Where it comes from.
    pub peer: &'a Peer,
    /// The account of that name and place, if there is one.
    pub account: Option<&'a Account>,
    /// The password is the account's.
    pub is_right: bool,
    /// A password was given.
    pub has_password: bool,
    /// It can say a new password, if the old one has expired.
    pub can_change_password: bool,
}

/// How somebody comes.
pub struct Way {
    /// Through TLS.
    pub is_encrypted: bool,
    /// Nobody else can listen.
    pub is_private: bool,
    /// What is known of the TLS.
    pub encryption: Option<Encryption>,
}

/// Whether a way is as an account requires.
fn is_met(requirement: &Requirement, way: &Way) -> bool {
    let known = way.encryption.as_ref();
    let certificate = known.and_then(|known| known.certificate.as_ref());
    match (requirement, certificate) {
        (Requirement::None, _) => true,
        (Requirement::Ssl, _) => way.is_encrypted,
        (Requirement::X509, certificate) => certificate.is_some(),
        (Requirement::Specified(_), None) => false,
        (Requirement::Specified(specified), Some(Certificate { subject, issuer })) => {
            let fits = |wanted: &Option<String>, has: &str| {
                wanted.as_ref().is_none_or(|wanted| wanted == has)
            };
            fits(&specified.subject, subject)
                && fits(&specified.issuer, issuer)
                && fits(&specified.cipher, known.map_or("", |known| known.cipher))
        }
    }
}

/// Who comes in; else the error that it is told, and what only the server may know of the reason.
pub fn judge<B: Backend>(
    backend: &B,
    claim: &Claim<'_>,
    way: &Way,
) -> Result<Identity, (SqlError, &'static str)> {
    let required = claim.account.map(|account| &account.requirement);
    let met = required.is_none_or(|required| is_met(required, way));
    let untold = |error| (error, "");
    if let Some(account) = claim.account {
        let noted = backend.note_login(account, claim.is_right);
        noted.map_err(untold)?;
    }
    let host = claim.peer.host();
    if !claim.is_right || !met {
        let reason = match (claim.account, claim.is_right) {
            (None, _) => "there is no such account",
            (Some(_), false) => "the password is wrong",
            (Some(_), true) => NOT_AS_REQUIRED,
        };
        let using = if claim.has_password { "YES" } else { "NO" };
        return Err((SqlError::access_denied(claim.user, host, using), reason));
    }
    if let Some(account) = claim.account {
        if account.locked {
            return Err(untold(SqlError::account_locked(claim.user, host)));
        }
        if account.expired && !claim.can_change_password {
            return Err(untold(SqlError::password_expired()));
        }
    }
    if !way.is_private && backend.requires_secure_transport() {
        return Err(untold(SqlError::secure_transport_required()));
    }
    Ok(Identity {
        user: claim.user.to_owned(),
        host: claim.peer.shown(),
        account: claim
            .account
            .map(|account| (account.user.clone(), account.host.clone())),
    })
}

/// The stored form, of caching_sha2_password, that a password fits. It takes as long if there is no
/// account.
pub(super) fn right_form<'a>(account: Option<&'a Account>, given: &[u8]) -> Option<&'a str> {
    let stored = account.into_iter().flat_map(Account::stored);
    let mut stored = stored.filter(|stored| !stored.is_empty()).peekable();
    let matches = |stored: &str| password::matches_caching_sha2(stored, given);
    if stored.peek().is_none() {
        std::hint::black_box(matches(NOBODY));
    }
    stored.find(|stored| matches(stored))
}

/// Whether a password that was sent in full is an account's, by whatever method it has.
#[must_use]
pub fn is_right(account: Option<&Account>, given: &[u8]) -> bool {
    let without = account.is_some_and(|account| account.stored().eq([""]));
    if given.is_empty() {
        return without;
    }
    match account {
        Some(account) if account.plugin == auth::NATIVE => {
            let native = password::native(given);
            let mut stored = account.stored();
            stored.any(|stored| password::equal(stored.as_bytes(), native.as_bytes()))
        }
        _ => right_form(account, given).is_some(),
    }
}
