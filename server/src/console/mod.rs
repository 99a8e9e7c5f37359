//! The console: web pages of the running server, for the accounts of the server.
//!
//! What makes it hard is that a browser is everybody's: each page in it may send requests here. So who
//! calls by another name, or from another page, is not answered (`cohort_coordinator`'s rules, for all
//! of its ports); a session is a cookie that no other page's request carries; and each change has to
//! know a word that only our pages have.
//!
//! 1. All that a page shows is asked in a SQL session of the account that has logged in ([`desk`]): what
//!    it may not see there, it does not see here. What is no table is shown if a statement says that it
//!    may be: the numbers of the last minutes to who may see the thread pool, global transactions to
//!    who may read their tables, and changes to who may write them.
//! 2. Who comes in is judged as at the SQL port, and waits as there after wrong passwords ([`door`]).
//! 3. A console's session takes no slot, so that it can tell why nobody gets one. It has a time limit.
//! 4. Pages are made here, whole. The script only fetches them again, and asks before a change; without
//!    it all works. Nothing is loaded from elsewhere.
//!
//! | file | what is inside |
//! |---|---|
//! | `door`, `desk` | logins; the SQL session behind one |
//! | `history` | numbers of the last ten minutes |
//! | `page`, `chart`, `graph` | what pages are made of |
//! | `now`, `times`, `sessions`, `statements`, `advice`, `log`, `transactions`, `transaction` | the pages |

mod advice;
mod chart;
mod desk;
mod door;
mod graph;
mod history;
mod log;
mod now;
mod page;
mod sessions;
mod statements;
mod times;
mod transaction;
mod transactions;

use crate::{config::Settings, connections, database::Database, pool};
use cohort_coordinator::{Hosts, Operator, PagePort, PageReply, PageRequest, Running, Tls};
use cohort_mysql::connection::Shared;
use cohort_process::{Notice, notice};
use door::Door;
use history::History;
use page::{Page, View};
use std::{io, net::TcpListener, sync::Arc, time::Duration};

/// Its port, unless another one is said: beside the coordinator's.
const PORT: u16 = 36_791;
/// How often a page that is shown is made again.
const EVERY: Duration = Duration::from_secs(1);

/// All that the pages are made of.
struct Console {
    shared: Arc<Shared<Database>>,
    door: Arc<Door>,
    history: Arc<History>,
    operator: Option<Operator>,
}

/// Starts it, unless it is not wanted. If nobody asked for it, a port that is taken is no reason not to
/// serve.
///
/// # Errors
/// Why it cannot start.
pub fn start(
    settings: &Settings,
    shared: &Arc<Shared<Database>>,
    coordinator: Option<&Running>,
) -> Result<Option<PagePort>, String> {
    if settings.console.is_some_and(|on| !on.0) {
        return Ok(None);
    }
    let address = settings.console_address.as_deref().unwrap_or("127.0.0.1");
    let port = settings.console_port.unwrap_or(PORT);
    let listener = match TcpListener::bind((address, port)) {
        Ok(listener) => listener,
        Err(error) => {
            let why = match error.kind() {
                io::ErrorKind::AddrInUse => format!(
                    "port {port} on {address} is in use, perhaps by another server: choose another \
                     with --console-port"
                ),
                _ => format!("console-port {port} on {address}: {error}"),
            };
            let is_wanted = settings.console.is_some()
                || settings.console_port.is_some()
                || settings.console_address.is_some();
            if is_wanted {
                return Err(why);
            }
            notice!(Notice::NoConsole, "no console: {why}");
            return Ok(None);
        }
    };
    let local = listener.local_addr().map_err(|e| e.to_string())?;
    let tls = match (&settings.console_ssl_cert, &settings.console_ssl_key) {
        (Some(certificate), Some(key)) => Some(Tls::load(certificate, key)?),
        (None, None) => None,
        _ => return Err("console-ssl-cert and console-ssl-key: give both".into()),
    };
    let is_loopback = connections::is_loopback(local.ip());
    if !is_loopback && tls.is_none() {
        return Err(format!(
            "refusing to open the console on {local} without TLS, as passwords would travel \
             unencrypted: give --console-ssl-cert and --console-ssl-key"
        ));
    }
    let names = settings.console_hosts.as_deref().unwrap_or("").split(',');
    let names = names.map(str::trim).filter(|name| !name.is_empty());
    let hosts = Hosts {
        is_loopback,
        names: names.map(str::to_owned).collect(),
    };
    let scheme = if tls.is_some() { "https" } else { "http" };
    let door = Arc::new(Door::new(local.port()));
    let sweeps = Arc::downgrade(&door);
    let history = History::start(&shared.backend.instance, move || {
        if let Some(door) = sweeps.upgrade() {
            door.sweep();
        }
    });
    let history = history.map_err(|error| format!("the console: {error}"))?;
    let known = Arc::clone(&door);
    let console = Arc::new(Console {
        shared: Arc::clone(shared),
        door,
        history,
        operator: coordinator.map(Running::operator),
    });
    let pages = move |request: PageRequest| answer(&console, request);
    let knows = move |request: &PageRequest| known.knows(request);
    let pages = (Arc::new(pages) as _, Arc::new(knows) as _);
    let running = PagePort::start((listener, tls), hosts, pool::STACK, pages)?;
    notice!(Notice::ConsoleReady, "console: {scheme}://{local}/");
    Ok(Some(running))
}

/// A page by its path.
type Made = fn(&View<'_>) -> Page;

/// The pages that are asked for by name, in the order of the menu.
const PAGES: [(&str, &str, Made); 8] = [
    ("/now", "Now", now::page),
    ("/times", "A transaction\u{2019}s time", times::page),
    ("/sessions", "Sessions and locks", sessions::page),
    ("/statements", "Statements", statements::page),
    ("/advice", "Adviser", advice::page),
    ("/log", "Log", log::page),
    ("/transactions", "Global transactions", transactions::page),
    ("/transaction", "", transaction::page),
];

fn answer(console: &Arc<Console>, request: PageRequest) -> PageReply {
    match (request.is_post, request.path.as_str()) {
        (false, "/console.js") => return page::file("text/javascript", include_str!("console.js")),
        (false, "/console.css") => return page::file("text/css", include_str!("console.css")),
        (false, "/favicon.ico") => return page::status(204),
        (false, "/login") => return page::login(&request, None),
        (true, "/login") => return door::log_in(console, request),
        _ => {}
    }
    let Some(desk) = console.door.find(&request) else {
        return match request.path.strip_prefix("/live/") {
            Some(_) => page::status(401),
            None => page::go_to("/login"),
        };
    };
    if request.is_post && !desk.knows(request.form.get("csrf")) {
        return page::refused(
            403,
            "This form is not of a page of yours. Load the page again.",
        );
    }
    match (request.is_post, request.path.as_str()) {
        (false, "/") => return page::go_to("/now"),
        (true, "/logout") => {
            console.door.log_out(&request);
            return page::go_to("/login");
        }
        (true, "/kill") => return sessions::kill(console, &desk, &request),
        (true, "/change") => return transaction::change(console, &desk, &request),
        (false, "/kill") => return sessions::confirm(console, &desk, &request),
        (true, _) => return page::refused(404, "There is no such page."),
        _ => {}
    }
    let path = request.path.as_str();
    let is_live = path.strip_prefix("/live");
    let wanted = is_live.unwrap_or(path);
    let Some((_, title, make)) = PAGES.into_iter().find(|(path, ..)| *path == wanted) else {
        return page::refused(404, "There is no such page.");
    };
    let console = Arc::clone(console);
    if is_live.is_none() {
        let view = View::new(&console, &desk, &request);
        return page::whole(&view, title, make(&view));
    }
    // The first one comes when the page, which is as new, is a second old.
    let mut is_first = true;
    let next = move || {
        if std::mem::take(&mut is_first) {
            return Some(String::new());
        }
        // Who has logged out meanwhile, or was killed, sees nothing more.
        let desk = console.door.find_quietly(&request)?;
        let view = View::new(&console, &desk, &request);
        Some(make(&view).again())
    };
    PageReply::Events(EVERY, Box::new(next))
}
