//! What a coordinator does after a restart that finds very many unfinished transactions.
//!
//! Two-phase messages are prepared whose clients then keep silent: nobody answers what became of
//! them. So all of them are due when the server is killed and started again, and from then on
//! their client answers. How long until it is first asked, how fast all is carried out, and how
//! much memory the server takes meanwhile?

use super::{
    http::Http,
    load,
    service::{PREPARE, post},
};
use crate::lab::{
    own::Own,
    report::{aligned, number},
    server::memory,
};
use crate::progress::Progress;
use clap::Args;
use std::{
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// `cohort lab backlog`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Unfinished transactions
    #[arg(long, default_value_t = 1_000_000)]
    transactions: u64,
    /// Clients that prepare them
    #[arg(long, default_value_t = 256)]
    clients: usize,
    /// Seconds after the restart in which is counted what is done
    #[arg(long, default_value_t = 30.0)]
    seconds: f64,
    /// Where the server keeps its data; it stays. Without it, a temporary directory
    #[arg(long, value_name = "PATH")]
    datadir: Option<PathBuf>,
}

/// How often the server's memory is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// The client of all messages: it answers that each is to be sent, and takes it.
#[derive(Default)]
struct Client {
    asked: AtomicU64,
    sent: AtomicU64,
    first: OnceLock<Instant>,
}

impl Client {
    fn accept(self: Arc<Self>, listener: &TcpListener) {
        for stream in listener.incoming().flatten() {
            let client = Arc::clone(&self);
            let serve = move || client.serve(Http::over(stream)?);
            let name = "service".to_owned();
            if let Err(error) = thread::Builder::new().name(name).spawn(serve) {
                eprintln!("the messages' client: {error}");
            }
        }
    }

    fn serve(&self, mut coordinator: Http) -> io::Result<()> {
        while let Some(request) = coordinator.receive()? {
            let count = match request.target().starts_with("/query") {
                true => &self.asked,
                false => &self.sent,
            };
            self.first.get_or_init(Instant::now);
            count.fetch_add(1, Ordering::Relaxed);
            coordinator.respond(200, "{\"dtm_result\":\"SUCCESS\"}")?;
        }
        Ok(())
    }
}

/// Measures and prints.
pub fn run(options: &Options) -> Result<(), String> {
    let own = std::env::temp_dir().join(format!("cohort-backlog-{}", std::process::id()));
    let directory = options.datadir.as_deref().unwrap_or(&own);
    let done = measure(options, directory);
    if options.datadir.is_none() {
        // Nothing is left of it if it was never made.
        let _ = std::fs::remove_dir_all(&own);
    }
    done
}

fn measure(options: &Options, directory: &Path) -> Result<(), String> {
    let failed = |error: io::Error| error.to_string();
    // It listens, so that calls reach it, but answers nobody yet.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let start = || Own::start_coordinating(options.clients, Some(directory));
    let (server, coordinator) = start()?;
    let begun = Instant::now();
    prepare(options, coordinator, address)?;
    let prepared = begun.elapsed();
    // Killed, with no time to tidy up.
    drop(server);

    hang_up(&listener).map_err(failed)?;
    let client = Arc::new(Client::default());
    let accepting = Arc::clone(&client);
    let name = "service".to_owned();
    thread::Builder::new()
        .name(name)
        .spawn(move || accepting.accept(&listener))
        .map_err(failed)?;
    let restarted = Instant::now();
    let (server, _) = start()?;
    let ready = restarted.elapsed();
    let time = Duration::from_secs_f64(options.seconds);
    let most = watch(&server, time);
    let seconds = |time: Duration| number(time.as_secs_f64());
    let each_second =
        |count: &AtomicU64| number(count.load(Ordering::Relaxed) as f64 / options.seconds);
    let first = client
        .first
        .get()
        .map(|at| at.saturating_duration_since(restarted));
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let table = [
        ["after a restart", ""].map(String::from).to_vec(),
        row(
            "unfinished transactions",
            number(options.transactions as f64),
        ),
        row("s to prepare them", seconds(prepared)),
        row("s from the start to the first login", seconds(ready)),
        row(
            "s from the start to the first call",
            first.map_or("-".into(), seconds),
        ),
        row("questions answered per second", each_second(&client.asked)),
        row("messages sent per second", each_second(&client.sent)),
        row(
            "MiB of memory at most",
            most.map_or("-".into(), |n| number(n as f64 / 1048576.0)),
        ),
    ];
    print!("{}", aligned(&table));
    Ok(())
}

/// Ends the connections of the killed server, whose calls nobody has taken.
fn hang_up(listener: &TcpListener) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    while listener.accept().is_ok() {}
    listener.set_nonblocking(false)
}

/// Makes the messages known, all of them due at once.
fn prepare(options: &Options, coordinator: SocketAddr, client: SocketAddr) -> Result<(), String> {
    let total = options.transactions;
    let progress = Progress::new(format!("preparing {total} messages"), total);
    let next = AtomicU64::new(0);
    let prepare = || {
        let mut connection = None;
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= total {
                return Ok(());
            }
            let message = message(number, client);
            post(&mut connection, coordinator, PREPARE, &message)?;
            progress.done().fetch_add(1, Ordering::Relaxed);
        }
    };
    load::all((0..options.clients).map(|_| &prepare))
}

fn message(number: u64, client: SocketAddr) -> String {
    format!(
        "{{\"gid\":\"backlog-{number}\",\"trans_type\":\"msg\",\"protocol\":\"http\",\
         \"query_prepared\":\"http://{client}/query\",\"timeout_to_fail\":1,\
         \"request_timeout\":3600,\"steps\":[{{\"action\":\"http://{client}/send\"}}],\
         \"payloads\":[\"{{}}\"]}}"
    )
}

/// The most memory the server has in this time.
fn watch(server: &Own, time: Duration) -> Option<u64> {
    let _progress = Progress::timed("after the restart".into(), time);
    let until = Instant::now() + time;
    let mut most = None;
    while Instant::now() < until {
        most = most.max(memory(server.pid()));
        thread::sleep(LOOK);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_json() {
        let text = message(7, SocketAddr::from((Ipv4Addr::LOCALHOST, 80)));
        let message: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(message["gid"], "backlog-7");
        assert_eq!(message["steps"][0]["action"], "http://127.0.0.1:80/send");
    }
}
