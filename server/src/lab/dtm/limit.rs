//! The null coordinator: what no coordinator can be below, so that figures show how far the real
//! one could go.
//!
//! It makes the same exchanges over HTTP as the real one: a saga comes in, its steps are called one
//! after another, and its submitter is answered. A record is durable in a log before the first
//! call, and another one before the answer. The log is Cohort's own (`engine::log`), which writes
//! and syncs together what arrives together. The first record is the submission, the second one
//! the saga's name: the least from which a coordinator could go on after a crash.
//!
//! Nothing else is done. One thread waits for all connections and for the log; a message is read
//! with one read and written with one write. There are no rows and no SQL, no time limits and no
//! retries; what is no saga of the lab's ends the process.

use super::{http::Http, hub::Hub};
use crate::lab::{own::free_port, temporary::Temporary};
use clap::Args;
use cohort_engine::{
    env::Env,
    log::{Batch, InOrder, Known, Log, Options as LogOptions, Replayed},
};
use cohort_process::companion::accompany;
use rustix::{
    event::{EventfdFlags, eventfd},
    fd::OwnedFd,
};
use std::{
    collections::HashMap,
    fs::File,
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// `cohort lab limit`, which `cohort lab dtm` starts.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Where to listen
    #[arg(long)]
    port: u16,
    /// Where its log is
    #[arg(long)]
    datadir: PathBuf,
}

/// Serves until the process ends.
pub fn run(options: &Options) -> Result<(), String> {
    let served = accompany()
        .map_err(io::Error::from)
        .and_then(|()| Limit::open(options))
        .and_then(Limit::serve);
    served.map_err(|error| format!("the null coordinator: {error}"))
}

/// How long it may take to start.
const START: Duration = Duration::from_secs(30);

/// A running null coordinator; it ends, and its log goes, when this is dropped.
pub struct Running {
    child: Child,
    /// Where it takes sagas.
    pub address: SocketAddr,
    directory: Temporary,
}

impl Running {
    /// Starts it on a free port.
    pub fn start() -> Result<Running, String> {
        let failed = |error: io::Error| format!("the null coordinator: {error}");
        let port = free_port().map_err(failed)?;
        let directory = Temporary::make("limit").map_err(failed)?;
        let program = std::env::current_exe().map_err(failed)?;
        let errors = File::create(directory.path().join("errors")).map_err(failed)?;
        let child = Command::new(program)
            .args(["lab", "limit", &format!("--port={port}"), "--datadir"])
            .arg(directory.path().join("log"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(errors)
            .spawn()
            .map_err(failed)?;
        let mut running = Running {
            child,
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            directory,
        };
        running.wait()?;
        Ok(running)
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    fn wait(&mut self) -> Result<(), String> {
        let until = Instant::now() + START;
        while let Err(error) = TcpStream::connect(self.address) {
            if self.child.try_wait().ok().flatten().is_some() || Instant::now() > until {
                let said = std::fs::read_to_string(self.directory.path().join("errors"));
                let said = said.unwrap_or_default();
                return Err(format!("the null coordinator ({error}) says:\n{said}"));
            }
            thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The listener, among the numbers of connections.
const LISTENER: u64 = u64::MAX;
/// And the log.
const DURABLE: u64 = u64::MAX - 1;

/// A step of a saga: whom to call, with which path and query.
type Step = (SocketAddr, String);

/// A saga on its way.
struct Saga {
    gid: String,
    /// The next one last.
    steps: Vec<Step>,
    /// All is done, and the record of that on its way to the disk.
    has_ended: bool,
}

/// Who is at the other end of a connection.
enum Role {
    /// A client, with its saga.
    Client(Option<Saga>),
    /// A service, with the number of the client for whose saga it is called.
    Service(SocketAddr, usize),
}

/// Clients whose records are durable, and the way to tell of them.
struct Durable {
    clients: Mutex<Vec<usize>>,
    event: OwnedFd,
}

impl Durable {
    /// By the log's thread.
    fn tell(&self, client: usize) -> io::Result<()> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.push(client);
        // Who takes the first takes all.
        if clients.len() == 1 {
            rustix::io::write(&self.event, &1_u64.to_ne_bytes())?;
        }
        Ok(())
    }

    fn take(&self) -> io::Result<Vec<usize>> {
        rustix::io::read(&self.event, &mut [0_u8; 8])?;
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(std::mem::take(&mut clients))
    }
}

/// See the module.
struct Limit {
    hub: Hub<Role>,
    listener: TcpListener,
    log: Log,
    durable: Arc<Durable>,
    /// Numbers of connections to services that nobody uses.
    idle: HashMap<SocketAddr, Vec<usize>>,
}

impl Limit {
    fn open(options: &Options) -> io::Result<Limit> {
        let hub = Hub::new()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port))?;
        let durable = Arc::new(Durable {
            clients: Mutex::default(),
            event: eventfd(0, EventfdFlags::CLOEXEC)?,
        });
        hub.watch(&listener, LISTENER)?;
        hub.watch(&durable.event, DURABLE)?;
        Ok(Limit {
            hub,
            listener,
            log: open_log(&options.datadir)?,
            durable,
            idle: HashMap::new(),
        })
    }

    fn serve(mut self) -> io::Result<()> {
        let mut ready = Vec::new();
        loop {
            self.hub.wait(None, &mut ready)?;
            for &number in &ready {
                match number {
                    LISTENER => self.hub.accept(&self.listener, Role::Client(None))?,
                    DURABLE => {
                        for client in self.durable.take()? {
                            self.proceed(client)?;
                        }
                    }
                    number => self.receive(usize::try_from(number).unwrap_or(usize::MAX))?,
                }
            }
        }
    }

    /// There is something to be read. Messages are so short that they come whole.
    fn receive(&mut self, number: usize) -> io::Result<()> {
        let Some((http, role)) = self.hub.get(number) else {
            return Ok(());
        };
        let Ok(Some(message)) = http.receive() else {
            self.hub.close(number);
            let idle = self.idle.values_mut();
            idle.for_each(|of| of.retain(|idle| *idle != number));
            return Ok(());
        };
        match role {
            Role::Client(saga) => {
                let invalid = || io::Error::other("this is no saga of the lab's");
                let text = std::str::from_utf8(&message.body).map_err(|_| invalid())?;
                let begun = saga.insert(parse(text).ok_or_else(invalid)?);
                let gid = begun.gid.clone();
                self.record(number, &gid, &message.body)
            }
            Role::Service(address, client) => {
                let (address, client) = (*address, *client);
                self.idle.entry(address).or_default().push(number);
                match message.status() {
                    200 => self.proceed(client),
                    status => Err(io::Error::other(format!("a step answers {status}"))),
                }
            }
        }
    }

    /// Makes a record durable; then its client's saga goes on.
    fn record(&self, client: usize, gid: &str, value: &[u8]) -> io::Result<()> {
        let mut batch = Batch::new("limit", 1);
        batch.internal(gid.as_bytes(), Some(value));
        let (ticket, ()) = self.log.commit(batch, |_| ()).map_err(io::Error::other)?;
        let durable = Arc::clone(&self.durable);
        self.log.when_known(ticket, move |result, _| {
            let told = result
                .map_err(io::Error::other)
                .and_then(|()| durable.tell(client));
            if let Err(error) = told {
                eprintln!("the null coordinator: {error}");
            }
        });
        Ok(())
    }

    /// Calls the next step, records the end, or answers.
    fn proceed(&mut self, client: usize) -> io::Result<()> {
        let Some((http, role)) = self.hub.get(client) else {
            return Ok(());
        };
        let Role::Client(Some(saga)) = role else {
            return Ok(());
        };
        if saga.has_ended {
            *role = Role::Client(None);
            return http.respond(200, "{\"dtm_result\":\"SUCCESS\"}");
        }
        let gid = saga.gid.clone();
        match saga.steps.pop() {
            Some((address, target)) => self.call(client, address, &target),
            None => {
                saga.has_ended = true;
                self.record(client, &gid, b"succeed")
            }
        }
    }

    fn call(&mut self, client: usize, address: SocketAddr, target: &str) -> io::Result<()> {
        let idle = self.idle.get_mut(&address).and_then(Vec::pop);
        let role = Role::Service(address, client);
        let Some(number) = idle else {
            let mut http = Http::connect(address)?;
            http.send(target, "{}")?;
            return self.hub.add(http, role).map(drop);
        };
        let connection = self.hub.get(number).ok_or(io::ErrorKind::NotConnected)?;
        connection.1 = role;
        connection.0.send(target, "{}")
    }
}

fn open_log(directory: &Path) -> io::Result<Log> {
    std::fs::create_dir_all(directory)?;
    Log::open(
        &Env::real(),
        directory,
        LogOptions::new("9.7.0-null", [7; 16]),
        Known::default(),
        &mut InOrder(|_: &Replayed<'_>| ()),
        &mut |_| (),
    )
    .map_err(|error| io::Error::other(error.0))
}

/// Name and steps of a saga as the lab's service writes it; steps without a URL are none.
fn parse(saga: &str) -> Option<Saga> {
    let value = |rest: &str| Some(rest.split_once('"')?.0.to_owned());
    let (_, gid) = saga.split_once("\"gid\":\"")?;
    let gid = value(gid)?;
    let mut steps = Vec::new();
    for (place, rest) in saga.split("\"action\":\"").skip(1).enumerate() {
        let url = value(rest)?;
        if url.is_empty() {
            continue;
        }
        let (address, path) = url.strip_prefix("http://")?.split_once('/')?;
        let and = if path.contains('?') { '&' } else { '?' };
        let id = place + 1;
        let target = format!("/{path}{and}branch_id=0{id}&gid={gid}&op=action&trans_type=saga");
        steps.push((address.parse().ok()?, target));
    }
    steps.reverse();
    Some(Saga {
        gid,
        steps,
        has_ended: false,
    })
}

#[cfg(test)]
mod tests {
    use super::{
        super::service::{SUBMIT, post, saga},
        *,
    };

    #[test]
    fn sagas_are_read_as_the_lab_writes_them() {
        let url = "http://127.0.0.1:1/step?user=1";
        let found = parse(&saga(
            "g",
            &[(url, url), ("", ""), ("http://127.0.0.1:1/x", "")],
        ));
        let found = found.expect("a saga");
        let targets: Vec<_> = found
            .steps
            .iter()
            .map(|(_, target)| target.as_str())
            .collect();
        assert_eq!(
            targets,
            [
                "/x?branch_id=03&gid=g&op=action&trans_type=saga",
                "/step?user=1&branch_id=01&gid=g&op=action&trans_type=saga"
            ]
        );
        assert!(parse("{}").is_none());
    }

    #[test]
    fn steps_are_called_in_order_and_then_the_client_is_answered() {
        let called = Arc::new(Mutex::new(Vec::new()));
        let service = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = service.local_addr().expect("an address");
        let notes = Arc::clone(&called);
        thread::spawn(move || {
            let mut http = Http::over(service.accept()?.0)?;
            while let Some(request) = http.receive()? {
                let path = request.target().split('?').next().unwrap_or_default();
                notes.lock().expect("no panic").push(path.to_owned());
                http.respond(200, "")?;
            }
            io::Result::Ok(())
        });
        let directory = Temporary::make("limit-test").expect("a directory");
        let options = Options {
            port: free_port().expect("a port"),
            datadir: directory.path().join("log"),
        };
        let limit = Limit::open(&options).expect("a null coordinator");
        thread::spawn(move || limit.serve());
        let steps = ["a", "b"].map(|path| format!("http://{address}/{path}"));
        let steps = steps.each_ref().map(|url| (url.as_str(), ""));
        let mut connection = None;
        let port = SocketAddr::from((Ipv4Addr::LOCALHOST, options.port));
        for number in 0..2 {
            let body = saga(&format!("g-{number}"), &steps);
            post(&mut connection, port, SUBMIT, &body).expect("success");
        }
        let called = called.lock().expect("no panic").join(" ");
        assert_eq!(called, "/a /b /a /b");
    }
}
