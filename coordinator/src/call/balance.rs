//! Calls over gRPC by turns to all addresses of a name: targets `dns:///name:port`.
//!
//! A usual gRPC target has one connection to one of its name's addresses, which is what a service
//! behind one address wants. Behind this kind of target there are several servers: each address has a
//! connection of its own, and calls go round. Who cannot be connected to, or refuses a call unseen,
//! is passed over. A name
//! is looked up again after some seconds, and when an address could not be connected to; the guard
//! judges each address each time.

use super::{
    Http2, Unanswered, connector,
    guard::{Guard, Resolver},
};
use http_body_util::Full;
use hyper::{
    Request, Response, Uri,
    body::{Bytes, Incoming},
    http::uri::Authority,
};
use hyper_util::client::legacy::connect::dns::Name;
use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tokio_rustls::rustls::ClientConfig;
use tower_service::Service;

/// A name is looked up again after so long.
const FRESH: Duration = Duration::from_secs(10);
/// Names that nobody called for so long are forgotten.
const IDLE: Duration = Duration::from_secs(60);

/// The addresses behind a name.
struct Places {
    addresses: Vec<SocketAddr>,
    looked_up: Instant,
    used: Instant,
    /// Whose turn it is.
    next: usize,
    clients: HashMap<SocketAddr, Http2>,
}

/// See the module.
pub(super) struct Balancer {
    resolver: Resolver,
    guard: Arc<Guard>,
    tls: ClientConfig,
    names: Mutex<HashMap<Authority, Places>>,
}

impl Balancer {
    pub fn new(resolver: Resolver, guard: Arc<Guard>, tls: ClientConfig) -> Balancer {
        Balancer {
            resolver,
            guard,
            tls,
            names: Mutex::default(),
        }
    }

    fn names(&self) -> MutexGuard<'_, HashMap<Authority, Places>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets names that nobody called for long.
    pub fn tidy(&self) {
        self.names()
            .retain(|_, places| places.used.elapsed() < IDLE);
    }

    /// Sends a request to whose turn it is, or who comes after that one and can be connected to.
    pub async fn send(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, Unanswered> {
        let uri = request.uri();
        let authority = uri.authority().cloned();
        let authority = authority.ok_or_else(|| format!("url {uri}: it has no host"))?;
        self.look_up(uri, &authority).await?;
        let mut why = Unanswered::Failed(String::new());
        for client in self.in_turn(&authority) {
            match client.request(request.clone()).await {
                Ok(response) => return Ok(response),
                Err(error) => {
                    why = Unanswered::from(&error);
                    if error.is_connect() {
                        self.doubt(&authority);
                    } else if !matches!(why, Unanswered::Refused) {
                        return Err(why);
                    }
                }
            }
        }
        Err(why)
    }

    /// Looks a name up, unless that was done lately.
    async fn look_up(&self, uri: &Uri, authority: &Authority) -> Result<(), String> {
        if let Some(places) = self.names().get_mut(authority) {
            places.used = Instant::now();
            if places.looked_up.elapsed() < FRESH {
                return Ok(());
            }
        }
        let addresses = self.addresses(uri).await;
        let mut names = self.names();
        match (addresses, names.get_mut(authority)) {
            (Ok(addresses), Some(places)) => {
                places
                    .clients
                    .retain(|address, _| addresses.contains(address));
                (places.addresses, places.looked_up) = (addresses, Instant::now());
            }
            (Ok(addresses), None) => {
                let now = Instant::now();
                let places = Places {
                    addresses,
                    looked_up: now,
                    used: now,
                    next: 0,
                    clients: HashMap::new(),
                };
                names.insert(authority.clone(), places);
            }
            (Err(why), _) => {
                names.remove(authority);
                return Err(why);
            }
        }
        Ok(())
    }

    async fn addresses(&self, uri: &Uri) -> Result<Vec<SocketAddr>, String> {
        let host = uri.host().unwrap_or_default();
        let port = uri.port_u16().unwrap_or_default();
        let literal = host.trim_start_matches('[').trim_end_matches(']').parse();
        if let Ok(address) = literal {
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        let name: Name = host.parse().map_err(|error| format!("{host}: {error}"))?;
        let found = self.resolver.clone().call(name).await;
        let found = found.map_err(|error| format!("{host}: {error}"))?;
        let mut addresses: Vec<SocketAddr> = found
            .map(|address| SocketAddr::new(address.ip(), port))
            .collect();
        addresses.sort_unstable();
        addresses.dedup();
        Ok(addresses)
    }

    /// Those to be asked, whose turn it is first.
    fn in_turn(&self, authority: &Authority) -> Vec<Http2> {
        let mut names = self.names();
        let Some(places) = names.get_mut(authority) else {
            return Vec::new();
        };
        let count = places.addresses.len().max(1);
        let first = places.next % count;
        places.next = first + 1;
        let (before, after) = places.addresses.split_at(first.min(places.addresses.len()));
        let clients = &mut places.clients;
        let mut client = |address: &SocketAddr| {
            let made = clients.entry(*address).or_insert_with(|| {
                let resolver = Resolver::to(*address, Arc::clone(&self.guard));
                super::http2(connector(resolver), self.tls.clone())
            });
            made.clone()
        };
        after.iter().chain(before).map(&mut client).collect()
    }

    /// Its addresses may not be right any more.
    fn doubt(&self, authority: &Authority) {
        if let Some(places) = self.names().get_mut(authority)
            && let Some(long_ago) = Instant::now().checked_sub(FRESH)
        {
            places.looked_up = long_ago;
        }
    }
}
