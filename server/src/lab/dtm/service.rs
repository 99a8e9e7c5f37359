//! The business service: transfers between accounts, over HTTP, with a thread for each connection.
//!
//! `POST /transfer?…` draws two users and carries a transfer out: as a saga of two steps, or, for
//! comparison, by calling the two steps itself. `/step?…` is such a step.
//! The steps are called over HTTP in both cases.

use super::{
    bank::{Counts, Step},
    http::{Http, Message},
};
use crate::lab::{control::Control, random::Random, target::Endpoint};
use std::{
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

/// Who coordinates transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The service calls the steps itself.
    Nobody,
    /// The coordinator.
    Coordinator,
    /// The null coordinator; see `limit`.
    Limit,
}

impl By {
    const ALL: [By; 3] = [By::Nobody, By::Coordinator, By::Limit];

    fn name(self) -> &'static str {
        match self {
            By::Nobody => "nobody",
            By::Coordinator => "coordinator",
            By::Limit => "limit",
        }
    }
}

/// Where the coordinators take global transactions.
#[derive(Clone, Copy, Debug)]
pub struct Coordinators {
    /// The one that is measured.
    pub real: SocketAddr,
    /// The null coordinator, if it runs.
    pub limit: Option<SocketAddr>,
}

impl Coordinators {
    /// Where that one is; `None`: there is none.
    pub fn address(&self, by: By) -> Option<SocketAddr> {
        match by {
            By::Nobody => None,
            By::Coordinator => Some(self.real),
            By::Limit => self.limit,
        }
    }
}

/// How transfers are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner {
    /// Under which coordinator.
    pub by: By,
    /// How often a step makes its two statements.
    pub times: u32,
    /// Whether steps are behind a barrier.
    pub barrier: bool,
}

impl Manner {
    /// What to POST for a transfer.
    pub fn target(self) -> String {
        let Manner { by, times, barrier } = self;
        let (by, barrier) = (by.name(), u8::from(barrier));
        format!("/transfer?by={by}&times={times}&barrier={barrier}")
    }

    fn parse(query: &str) -> Manner {
        let value = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs
                .find(|(found, _)| *found == name)
                .map(|(_, value)| value)
        };
        let by = By::ALL
            .into_iter()
            .find(|by| value("by") == Some(by.name()));
        Manner {
            by: by.unwrap_or(By::Nobody),
            times: value("times").and_then(|n| n.parse().ok()).unwrap_or(0),
            barrier: value("barrier") == Some("1"),
        }
    }
}

/// A running service; it serves until the process ends.
pub struct Service {
    /// Where it listens.
    pub address: SocketAddr,
    /// What it did.
    pub counts: Counts,
    coordinators: Coordinators,
    database: Endpoint,
    users: u32,
    /// Numbers its global transactions and its connections.
    next: AtomicU64,
    /// Tells this run's transactions from others'.
    run: u64,
}

impl Service {
    /// Starts it.
    pub fn start(
        coordinators: Coordinators,
        database: Endpoint,
        users: u32,
        run: u64,
    ) -> io::Result<Arc<Service>> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let service = Arc::new(Service {
            address: listener.local_addr()?,
            counts: Counts::default(),
            coordinators,
            database,
            users,
            next: AtomicU64::new(1),
            run,
        });
        let accepting = Arc::clone(&service);
        thread::Builder::new()
            .name("service".into())
            .spawn(move || accepting.accept(&listener))?;
        Ok(service)
    }

    fn accept(self: Arc<Self>, listener: &TcpListener) {
        for stream in listener.incoming() {
            let service = Arc::clone(&self);
            let served = stream.and_then(|stream| {
                let client = Http::over(stream)?;
                let serve = move || Connection::new(&service).serve(client);
                thread::Builder::new().name("service".into()).spawn(serve)
            });
            if let Err(error) = served {
                eprintln!("the business service: accepting a connection: {error}");
            }
        }
    }

    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// A saga's JSON, as DTM's clients send it; a step is an action's URL and its compensation's.
    pub fn saga(&self, steps: &[(&str, &str)]) -> String {
        saga(&format!("lab-{:x}-{}", self.run, self.number()), steps)
    }
}

/// See [`Service::saga`].
pub(super) fn saga(gid: &str, steps: &[(&str, &str)]) -> String {
    let steps: Vec<_> = steps
        .iter()
        .map(|(action, compensate)| {
            format!("{{\"action\":\"{action}\",\"compensate\":\"{compensate}\"}}")
        })
        .collect();
    let payloads = vec!["\"{}\""; steps.len()].join(",");
    let steps = steps.join(",");
    format!(
        "{{\"gid\":\"{gid}\",\"trans_type\":\"saga\",\"steps\":[{steps}],\
         \"payloads\":[{payloads}],\"protocol\":\"http\",\"wait_result\":true}}"
    )
}

/// One client's connection, and what it needs itself.
struct Connection<'a> {
    service: &'a Service,
    random: Random,
    /// To the business database.
    database: Option<Control>,
    coordinator: Option<Http>,
    /// To this service, for a transfer without coordinator.
    steps: Option<Http>,
}

impl<'a> Connection<'a> {
    fn new(service: &'a Service) -> Connection<'a> {
        Connection {
            service,
            random: Random::new(service.run ^ service.number()),
            database: None,
            coordinator: None,
            steps: None,
        }
    }

    fn serve(mut self, mut client: Http) {
        // What ends a connection out of order, a killed coordinator for example, is its own
        // matter; what the client lost by it, the client says.
        while let Ok(Some(request)) = client.receive() {
            let (status, body) = match self.handle(&request) {
                Ok(()) => (200, "{\"dtm_result\":\"SUCCESS\"}".to_owned()),
                Err(why) => (500, why),
            };
            if client.respond(status, &body).is_err() {
                return;
            }
        }
    }

    fn handle(&mut self, request: &Message) -> Result<(), String> {
        let target = request.target();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        match path {
            "/step" => self.step(&Step::parse(query)?),
            "/transfer" => self.transfer(Manner::parse(query)),
            _ => Err(format!("{path}: no such path")),
        }
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        if step.times == 0 {
            return Ok(());
        }
        let text = |error| format!("the business database: {error}");
        let database = match &mut self.database {
            Some(database) => database,
            none => none.insert(self.service.database.connect().map_err(text)?),
        };
        let performed = step.perform(database, &self.service.counts);
        performed.map_err(|error| {
            self.database = None;
            text(error)
        })
    }

    /// From user u to user N-u.
    fn transfer(&mut self, manner: Manner) -> Result<(), String> {
        let user = 1 + self.random.below(self.service.users - 1);
        let other = self.service.users - user;
        let query = |user, delta| Step::query(user, delta, manner.times, manner.barrier);
        let steps = [query(user, -1), query(other, 1)];
        if let Some(coordinator) = self.service.coordinators.address(manner.by) {
            let urls = steps.map(|step| format!("http://{}/step?{step}", self.service.address));
            let body = self
                .service
                .saga(&urls.each_ref().map(|url| (&**url, &**url)));
            return post(&mut self.coordinator, coordinator, SUBMIT, &body);
        }
        let gid = format!("none-{:x}-{}", self.service.run, self.service.number());
        for (n, step) in (1..).zip(&steps) {
            let target = format!("/step?{step}&gid={gid}&branch_id=0{n}&op=action");
            post(&mut self.steps, self.service.address, &target, "{}")?;
        }
        Ok(())
    }
}

/// Where a coordinator takes global transactions.
pub const SUBMIT: &str = "/api/dtmsvr/submit";

/// Where it makes them known, not to be carried out yet.
pub const PREPARE: &str = "/api/dtmsvr/prepare";

/// Posts over a connection that is made when it is needed; anything but 200 is an error.
pub fn post(
    connection: &mut Option<Http>,
    address: SocketAddr,
    target: &str,
    body: &str,
) -> Result<(), String> {
    let failed = |error: io::Error| format!("{address}{target}: {error}");
    // It stays out if it breaks.
    let mut http = match connection.take() {
        Some(http) => http,
        None => Http::connect(address).map_err(failed)?,
    };
    let answer = http.post(target, body).map_err(failed)?;
    *connection = Some(http);
    match answer.status() {
        200 => Ok(()),
        status => Err(format!(
            "{address}{target}: {status} {}",
            String::from_utf8_lossy(&answer.body)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manners_travel_in_urls() {
        for by in By::ALL {
            let manner = Manner {
                by,
                times: 5,
                barrier: false,
            };
            let target = manner.target();
            let (_, query) = target.split_once('?').unwrap();
            assert_eq!(Manner::parse(query), manner);
        }
    }

    #[test]
    fn sagas_are_json() {
        let text = saga("g-1", &[("http://a/?x=1&y=2", ""), ("b", "c")]);
        let saga: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(saga["steps"][0]["action"], "http://a/?x=1&y=2");
        assert_eq!(saga["steps"][1]["compensate"], "c");
        assert_eq!(saga["payloads"], serde_json::json!(["{}", "{}"]));
        assert_eq!(saga["wait_result"], true);
    }
}
