//! Logins: who comes in, and the cookies by which it is known then.

use super::{Console, desk::Desk, page};
use crate::{connections::tcp_peer, database::Database};
use cohort_coordinator::{PageReply, PageRequest};
use cohort_mysql::{
    Backend, Handler, Peer,
    connection::{Claim, NOT_AS_REQUIRED, Shared, Way, is_right, judge},
};
use cohort_sql::{Session, SqlError, session::Identity, users::Requirement};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// So many logins an account has at once; then the one that was silent for longest is logged out.
const LOGINS_OF_USER: usize = 8;
/// So many are logged in at once; then who was silent for longest is logged out.
const LOGINS_MAX: usize = 256;
/// A login ends when nobody has asked for anything for so long.
const IDLE: Duration = Duration::from_secs(3600);
/// Connection numbers of the console's sessions: above the coordinator's.
const FIRST_ID: u64 = 4_100_000_000;
/// Bytes of a secret.
const SECRET: usize = 32;

/// Who is logged in.
pub struct Door {
    /// Cookies know no ports: each server of a machine has a name of its own for its own.
    cookie: String,
    logins: Mutex<HashMap<String, Login>>,
    last_id: AtomicU64,
}

struct Login {
    desk: Arc<Desk>,
    seen: Instant,
}

impl Login {
    fn goes_on(&self) -> bool {
        self.seen.elapsed() < IDLE && !self.desk.is_over()
    }
}

impl Door {
    /// Nobody yet, at this port.
    pub fn new(port: u16) -> Door {
        Door {
            cookie: format!("cohort_console_{port}"),
            logins: Mutex::default(),
            last_id: AtomicU64::new(FIRST_ID),
        }
    }

    /// Who sends a request.
    pub fn find(&self, request: &PageRequest) -> Option<Arc<Desk>> {
        self.look(request, true)
    }

    /// The same; a page that is only made again does not keep its reader logged in.
    pub fn find_quietly(&self, request: &PageRequest) -> Option<Arc<Desk>> {
        self.look(request, false)
    }

    fn look(&self, request: &PageRequest, is_seen: bool) -> Option<Arc<Desk>> {
        let mut logins = self.logins.lock();
        logins.retain(|_, login| login.goes_on());
        let secret = request.cookies.get(&self.cookie)?;
        let login = logins.get_mut(secret)?;
        if is_seen {
            login.seen = Instant::now();
        }
        Some(Arc::clone(&login.desk))
    }

    /// Whether a request is of somebody who is logged in.
    pub fn knows(&self, request: &PageRequest) -> bool {
        let logins = self.logins.lock();
        let login = request
            .cookies
            .get(&self.cookie)
            .and_then(|secret| logins.get(secret));
        login.is_some_and(Login::goes_on)
    }

    /// Sessions that KILL has ended, and logins that have been silent for too long, go.
    pub fn sweep(&self) {
        self.logins.lock().retain(|_, login| login.goes_on());
    }

    /// Whoever sends this is logged in no more.
    pub fn log_out(&self, request: &PageRequest) {
        if let Some(secret) = request.cookies.get(&self.cookie) {
            self.logins.lock().remove(secret);
        }
    }

    fn keep(&self, desk: Desk, secret: String) {
        let mut logins = self.logins.lock();
        let is_own = |login: &Login| login.desk.user == desk.user;
        let own = logins.values().filter(|login| is_own(login)).count();
        let all = logins.len() >= LOGINS_MAX;
        if all || own >= LOGINS_OF_USER {
            let leaving = logins.iter().filter(|(_, login)| all || is_own(login));
            let silent = leaving.min_by_key(|(_, login)| login.seen);
            if let Some(silent) = silent.map(|(secret, _)| secret.clone()) {
                logins.remove(&silent);
            }
        }
        let login = Login {
            desk: Arc::new(desk),
            seen: Instant::now(),
        };
        logins.insert(secret, login);
    }
}

/// A secret that nobody can guess.
fn secret(shared: &Shared<Database>) -> Result<String, SqlError> {
    let mut bytes = [0; SECRET];
    let random = shared.backend.instance.env().random(&mut bytes);
    random.map_err(SqlError::internal)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// POST /login: a name and a password.
pub fn log_in(console: &Arc<Console>, request: PageRequest) -> PageReply {
    let user = request.form.get("user").cloned().unwrap_or_default();
    let peer = tcp_peer(request.address);
    let wait = console.shared.backend.delay_before(&user, &peer);
    let console = Arc::clone(console);
    PageReply::Later(
        wait,
        Box::new(move || check(&console, &request, (&user, &peer), wait)),
    )
}

/// Looks at the password, after so long a wait.
fn check(
    console: &Arc<Console>,
    request: &PageRequest,
    (user, peer): (&str, &Peer),
    waited: Duration,
) -> PageReply {
    let backend = &console.shared.backend;
    let password = request.form.get("password").map_or("", String::as_str);
    let account = backend.account(user, peer);
    let claim = Claim {
        user,
        peer,
        account: account.as_ref(),
        is_right: is_right(account.as_ref(), password.as_bytes()),
        has_password: !password.is_empty(),
        can_change_password: false,
    };
    let way = Way {
        is_encrypted: request.is_encrypted,
        is_private: request.is_encrypted,
        encryption: None,
    };
    let judged = judge(backend, &claim, &way);
    let wait = backend.note_proof(user, peer, (judged.is_ok(), waited));
    let entered = match judged {
        Ok(who) => enter(console, request, who).map_err(|error| (error, "")),
        Err(refused) => Err(refused),
    };
    let reply = match entered {
        Ok(reply) => {
            backend.note_arrival(user, peer, None);
            reply
        }
        Err((error, reason)) => {
            backend.note_arrival(user, peer, Some((&error, reason)));
            // The password is right: who has it may know what else is wanted.
            let required = account.filter(|_| reason == NOT_AS_REQUIRED);
            let told = required.and_then(|account| beyond(&account.requirement));
            page::login(request, Some(told.unwrap_or(&error.message)))
        }
    };
    PageReply::Later(wait, Box::new(move || reply))
}

/// What an account requires that its way to the console has not.
fn beyond(requirement: &Requirement) -> Option<&'static str> {
    match requirement {
        Requirement::None => None,
        Requirement::Ssl => Some(
            "The account requires an encrypted connection (REQUIRE SSL), and this console has no \
             certificate: the server needs --console-ssl-cert and --console-ssl-key.",
        ),
        Requirement::X509 | Requirement::Specified(_) => Some(
            "The account requires a certificate of the client (REQUIRE X509, ISSUER, SUBJECT or CIPHER), \
             at which the console does not look: it can be used at the SQL port only.",
        ),
    }
}

/// Begins the session of who may come in.
fn enter(
    console: &Arc<Console>,
    request: &PageRequest,
    who: Identity,
) -> Result<PageReply, SqlError> {
    let shared = &console.shared;
    let door = &console.door;
    let id = door.last_id.fetch_add(1, Ordering::Relaxed);
    let name = who.user.clone();
    let means = if request.is_encrypted {
        "SSL/TLS"
    } else {
        "TCP/IP"
    };
    let line = format!("{name}@{} on  using {means}", who.host);
    let mut session = shared.backend.open_for_console(id, who)?;
    Handler::connected(&session, means, &line)?;
    if Session::has_init_connect(&session) {
        session.run_init_connect().map_err(|(told, _)| told)?;
    }
    let (cookie, csrf) = (secret(shared)?, secret(shared)?);
    door.keep(Desk::new(session, name, csrf)?, cookie.clone());
    let secure = if request.is_encrypted { "; Secure" } else { "" };
    let cookie = format!(
        "{}={cookie}; Path=/; HttpOnly; SameSite=Strict{secure}",
        door.cookie
    );
    Ok(page::go_to_with("/now", cookie))
}
