//! Which hosts may be called. A branch's address comes from whoever submits a transaction, and
//! must not become a way into what only this server can reach.
//!
//! Names are judged by the addresses they resolve to, at the moment of connecting, so that a name
//! which changes its mind is of no use. Redirects are not followed.

use cohort_sql::Network;
use hyper::Uri;
use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use std::{
    future::Future,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    vec,
};
use tower_service::Service;

/// Whether an address is this machine's: then the way to it begins there. Nothing is sent.
fn is_own(address: IpAddr) -> bool {
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let source = || {
        let socket = UdpSocket::bind((any, 0))?;
        // The port for what is thrown away; any would do.
        socket.connect((address, 9))?;
        socket.local_addr()
    };
    source().is_ok_and(|source: SocketAddr| source.ip() == address)
}

/// Whom branches may be.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    /// Hosts by name, with their ports or without.
    names: Vec<String>,
    networks: Vec<Network>,
    /// Without a list: whether this machine itself and its link may be called.
    near: bool,
}

impl Guard {
    /// Names, `name:port`, addresses and networks (`10.0.0.0/8`) with commas between them. An
    /// empty list allows all; unless `near`, all but this machine, by whichever of its addresses,
    /// and its link: services listen there that trust whoever can reach them, such as a cloud's
    /// metadata.
    ///
    /// # Errors
    ///
    /// The part that is none of these.
    pub fn parse(list: &str, near: bool) -> Result<Guard, String> {
        let mut guard = Guard {
            near,
            ..Guard::default()
        };
        for part in list
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            if let Ok(network) = part.parse() {
                guard.networks.push(network);
            } else if part.contains('/') {
                return Err(format!("{part}: a host, host:port or network is expected"));
            } else {
                guard.names.push(part.to_ascii_lowercase());
            }
        }
        Ok(guard)
    }

    fn has_list(&self) -> bool {
        !(self.names.is_empty() && self.networks.is_empty())
    }

    /// Whether an address may be called; why not.
    ///
    /// # Errors
    ///
    /// It may not. A name may still resolve to addresses that may not.
    pub fn check(&self, uri: &Uri) -> Result<(), String> {
        const REFUSED: &str = "its host is not among those that coordinator-branch-hosts allows";
        let host = uri.host().ok_or("it has no host")?;
        if self.names_place(uri, host) {
            return Ok(());
        }
        let address = host.trim_start_matches('[').trim_end_matches(']').parse();
        let allowed = match address {
            Ok(address) => self.allows(address),
            // Resolving it will show.
            Err(_) => !self.has_list() || !self.networks.is_empty(),
        };
        allowed.then_some(()).ok_or_else(|| REFUSED.to_owned())
    }

    /// Whether this host was named, with its port or without.
    fn names_place(&self, uri: &Uri, host: &str) -> bool {
        if self.names.is_empty() {
            return false;
        }
        let host = host.to_ascii_lowercase();
        let port = uri.port_u16().unwrap_or_else(|| super::usual_port(uri));
        let with_port = format!("{host}:{port}");
        self.names.contains(&host) || self.names.contains(&with_port)
    }

    fn allows(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        if self.has_list() {
            return self
                .networks
                .iter()
                .any(|network| network.contains(address));
        }
        let is_near = match address {
            IpAddr::V4(address) => address.is_link_local(),
            IpAddr::V6(address) => address.is_unicast_link_local(),
        };
        let is_near = is_near || address.is_loopback() || address.is_unspecified();
        self.near || !(is_near || address.is_multicast() || is_own(address))
    }

    /// Whether this host was named, with whatever port.
    fn names(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let named = |name: &String| name.split(':').next() == Some(&host);
        self.names.iter().any(named)
    }
}

/// Where addresses come from.
#[derive(Clone)]
enum Lookup {
    System(GaiResolver),
    /// This one, whatever the name.
    One(SocketAddr),
    #[cfg(test)]
    Listed(Vec<IpAddr>),
}

/// Resolves names to those of their addresses that may be called.
#[derive(Clone)]
pub struct Resolver {
    lookup: Lookup,
    guard: Arc<Guard>,
}

type Addresses = vec::IntoIter<SocketAddr>;

impl Resolver {
    /// Obeys `guard`.
    #[must_use]
    pub fn new(guard: Arc<Guard>) -> Resolver {
        let lookup = Lookup::System(GaiResolver::new());
        Resolver { lookup, guard }
    }

    /// Knows this address only, which is its name's, and obeys `guard`.
    #[must_use]
    pub fn to(address: SocketAddr, guard: Arc<Guard>) -> Resolver {
        let lookup = Lookup::One(address);
        Resolver { lookup, guard }
    }

    /// Each name has these addresses.
    #[cfg(test)]
    pub fn listed(addresses: Vec<IpAddr>, guard: Arc<Guard>) -> Resolver {
        let lookup = Lookup::Listed(addresses);
        Resolver { lookup, guard }
    }
}

impl Lookup {
    async fn find(self, name: Name) -> io::Result<Vec<SocketAddr>> {
        Ok(match self {
            Lookup::System(mut system) => system.call(name).await?.collect(),
            Lookup::One(address) => vec![address],
            #[cfg(test)]
            Lookup::Listed(listed) => listed.into_iter().map(|ip| (ip, 0).into()).collect(),
        })
    }
}

impl Service<Name> for Resolver {
    type Response = Addresses;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Addresses>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The system's is ever ready.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let guard = Arc::clone(&self.guard);
        let host = name.as_str().to_owned();
        let found = self.lookup.clone().find(name);
        Box::pin(async move {
            let mut addresses = found.await?;
            addresses.retain(|address| guard.names(&host) || guard.allows(address.ip()));
            if addresses.is_empty() {
                return Err(io::Error::new(
                    io::ErrorKind::PermissionDenied,
                    format!("{host}: coordinator-branch-hosts allows none of its addresses"),
                ));
            }
            Ok(addresses.into_iter())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(guard: &Guard, url: &str) -> bool {
        guard.check(&url.parse().unwrap()).is_ok()
    }

    #[test]
    fn without_a_list_the_link_decides() {
        let near = Guard::parse("", true).unwrap();
        let far = Guard::parse(" ,", false).unwrap();
        for (url, from_far) in [
            ("http://10.1.2.3/x", true),
            ("http://name:1/x", true),
            ("http://127.0.0.1:1/x", false),
            ("http://[::1]:1/x", false),
            ("http://[::ffff:127.0.0.1]:1/x", false),
            ("http://169.254.169.254/latest", false),
            ("http://0.0.0.0:1/x", false),
            ("http://[fe80::1]/x", false),
        ] {
            assert!(allowed(&near, url), "{url}");
            assert_eq!(allowed(&far, url), from_far, "{url}");
        }
    }

    #[test]
    fn from_far_no_address_of_this_machine_is_allowed() {
        assert!(is_own("127.0.0.1".parse().unwrap()));
        assert!(!is_own("192.0.2.1".parse().unwrap()));
        // The address that this machine has towards others, if there are any.
        let outside = UdpSocket::bind("0.0.0.0:0").unwrap();
        let address = match outside.connect("192.0.2.1:9") {
            Ok(()) => outside.local_addr().unwrap().ip(),
            Err(_) => Ipv4Addr::LOCALHOST.into(),
        };
        let url = format!("http://{address}:1/x");
        assert!(!allowed(&Guard::parse("", false).unwrap(), &url), "{url}");
        assert!(allowed(&Guard::parse("", true).unwrap(), &url), "{url}");
        let list = address.to_string();
        assert!(allowed(&Guard::parse(&list, false).unwrap(), &url), "{url}");
    }

    #[test]
    fn a_list_is_all_there_is() {
        let guard = Guard::parse("a, b:80, 10.0.0.0/8, 192.168.1.1, fd00::/8", true).unwrap();
        for (url, wanted) in [
            ("http://a:1/x", true),
            ("http://A/x", true),
            ("http://b:80/", true),
            ("http://b/", true),
            ("http://10.255.0.1:1/", true),
            ("http://11.0.0.1/", false),
            ("http://192.168.1.1/", true),
            ("http://192.168.1.2/", false),
            ("http://[fd00::5]/", true),
            ("http://[fe00::5]/", false),
            // Its addresses decide.
            ("http://c/", true),
        ] {
            assert_eq!(allowed(&guard, url), wanted, "{url}");
        }
        assert!(guard.names("a") && guard.names("B") && !guard.names("c"));
        let names = Guard::parse("a,b:80", true).unwrap();
        assert!(allowed(&names, "http://a/") && !allowed(&names, "http://b:81/"));
        assert!(!allowed(&names, "http://c/") && !allowed(&names, "http://a.c/"));
        assert!(!allowed(&names, "http://a@c/"));
        let all = Guard::parse("0.0.0.0/0", true).unwrap();
        assert!(allowed(&all, "http://1.2.3.4/") && !allowed(&all, "http://[::1]/"));
    }

    #[test]
    fn names_are_what_they_resolve_to() {
        let resolve = |list: &str, near| {
            let guard = Guard::parse(list, near).unwrap();
            let mut resolver = Resolver::new(Arc::new(guard));
            let runtime = tokio::runtime::Builder::new_current_thread().build();
            let name = "localhost".parse().unwrap();
            let found = runtime
                .unwrap()
                .block_on(async { resolver.call(name).await });
            found.is_ok_and(|mut addresses| addresses.all(|at| at.ip().is_loopback()))
        };
        assert!(resolve("", true));
        assert!(!resolve("", false));
        assert!(resolve("localhost:80", false));
        assert!(resolve("127.0.0.0/8, ::1", false));
        assert!(!resolve("10.0.0.0/8", true));
    }

    #[test]
    fn what_is_no_list_is_refused() {
        assert!(Guard::parse("10.0.0.0/33", true).is_err());
        assert!(Guard::parse("http://a/", true).is_err());
    }
}
