//! Clients of the coordinator alone, and the service that their sagas call, which answers at once.
//!
//! All of them are on one thread: what they take of the processors, the coordinator lacks.

use super::{
    http::Http,
    hub::Hub,
    load::{Phase, Worker},
    service::{SUBMIT, Service},
};
use crate::lab::generator::histogram;
use hdrhistogram::Histogram;
use std::{
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    time::{Duration, Instant},
};

/// The service's listener, among the numbers of connections.
const LISTENER: u64 = u64::MAX;
/// Nobody waits longer for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Who is at the other end of a connection.
enum Role {
    /// The coordinator, as asked by a client since then.
    Client(Instant),
    /// The coordinator, as it calls the service.
    Service,
}

/// See the module.
pub struct Alone<'a> {
    service: &'a Service,
    coordinator: SocketAddr,
    listener: TcpListener,
    hub: Hub<Role>,
    /// Of a step; empty: nothing is called.
    url: String,
    /// Clients that wait for an answer.
    waiting: usize,
}

impl<'a> Alone<'a> {
    /// Clients of that coordinator, without connections. `service` names sagas; unless `http`,
    /// their steps have no URLs.
    pub fn new(service: &'a Service, coordinator: SocketAddr, http: bool) -> io::Result<Alone<'a>> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let hub = Hub::new()?;
        hub.watch(&listener, LISTENER)?;
        let url = match http {
            true => format!("http://{}/nothing", listener.local_addr()?),
            false => String::new(),
        };
        Ok(Alone {
            service,
            coordinator,
            listener,
            hub,
            url,
            waiting: 0,
        })
    }

    /// So many of them, as a thread of the load.
    pub fn worker(mut self, clients: usize) -> Worker<'a> {
        Box::new(move |phase| {
            let worked = self.work(clients, phase);
            worked.map_err(|error| error.to_string())
        })
    }

    fn work(&mut self, clients: usize, phase: &Phase) -> io::Result<Histogram<u64>> {
        for _ in 0..clients {
            let mut http = Http::connect(self.coordinator)?;
            submit(self.service, &self.url, &mut http)?;
            self.hub.add(http, Role::Client(Instant::now()))?;
            self.waiting += 1;
        }
        let (mut latency_us, mut ready) = (histogram(), Vec::new());
        while self.waiting > 0 {
            self.hub.wait(Some(PATIENCE), &mut ready)?;
            if ready.is_empty() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            for &number in &ready {
                match usize::try_from(number) {
                    _ if number == LISTENER => self.hub.accept(&self.listener, Role::Service)?,
                    Ok(number) => self.receive(number, phase, &mut latency_us)?,
                    Err(_) => {}
                }
            }
        }
        Ok(latency_us)
    }

    /// There is something to be read.
    fn receive(
        &mut self,
        number: usize,
        phase: &Phase,
        latency_us: &mut Histogram<u64>,
    ) -> io::Result<()> {
        let Some((http, role)) = self.hub.get(number) else {
            return Ok(());
        };
        let Role::Client(begun) = role else {
            match http.receive()? {
                Some(_) => http.respond(200, "{\"dtm_result\":\"SUCCESS\"}")?,
                None => self.hub.close(number),
            }
            return Ok(());
        };
        let answer = http.receive()?.ok_or(io::ErrorKind::UnexpectedEof)?;
        if answer.status() != 200 {
            let why = String::from_utf8_lossy(&answer.body).into_owned();
            return Err(io::Error::other(format!("{}: {why}", answer.status())));
        }
        phase.note(*begun, latency_us);
        if phase.is_ending() {
            self.waiting -= 1;
            return Ok(());
        }
        *begun = Instant::now();
        submit(self.service, &self.url, http)
    }
}

/// Asks for a saga of two steps.
fn submit(service: &Service, url: &str, http: &mut Http) -> io::Result<()> {
    http.send(SUBMIT, &service.saga(&[(url, url), (url, url)]))
}
