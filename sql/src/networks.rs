//! Networks in CIDR form, and lists of them.

use std::{net::IpAddr, str::FromStr};

/// Addresses whose first bits are these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

/// An address as a number at the top of 128 bits, and how many of them count.
fn top(address: IpAddr) -> (u128, u8) {
    match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()) << 96, 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    }
}

impl FromStr for Network {
    type Err = ();
    fn from_str(text: &str) -> Result<Network, ()> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| ())?;
        let (_, width) = top(address);
        let bits = bits.map_or(Ok(width), |bits| bits.parse::<u8>().map_err(|_| ()))?;
        (bits <= width)
            .then_some(Network { address, bits })
            .ok_or(())
    }
}

impl Network {
    /// Whether an address is in it.
    #[must_use]
    pub fn contains(self, address: IpAddr) -> bool {
        let ((mine, width), (other, other_width)) = (top(self.address), top(address));
        let differing = (mine ^ other).checked_shr(128 - u32::from(self.bits));
        width == other_width && differing.unwrap_or(0) == 0
    }
}

/// Where proxies are that say who their client is (proxy_protocol_networks).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxies {
    /// Everywhere.
    all: bool,
    /// At the Unix socket.
    local: bool,
    networks: Vec<Network>,
}

impl Proxies {
    /// Networks and addresses with commas or spaces between them, `localhost` for the Unix socket,
    /// or `*` alone for all; `None` if it is none of that.
    #[must_use]
    pub fn parse(list: &str) -> Option<Proxies> {
        let mut proxies = Proxies::default();
        if list.trim() == "*" {
            proxies.all = true;
            return Some(proxies);
        }
        let parts = list.split([',', ' ']).filter(|part| !part.is_empty());
        for part in parts {
            if part.eq_ignore_ascii_case("localhost") {
                proxies.local = true;
            } else {
                proxies.networks.push(part.parse().ok()?);
            }
        }
        Some(proxies)
    }

    /// Whether one is at this address; none for the Unix socket.
    #[must_use]
    pub fn contain(&self, address: Option<IpAddr>) -> bool {
        let listed = match address {
            Some(address) => {
                let networks = self.networks.iter();
                let address = address.to_canonical();
                networks.copied().any(|network| network.contains(address))
            }
            None => self.local,
        };
        self.all || listed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_say_who_is_a_proxy() {
        let is_in = |list: &str, address: &str| {
            let address = address.parse().ok();
            Proxies::parse(list).map(|proxies| proxies.contain(address))
        };
        for (list, address, wanted) in [
            ("", "127.0.0.1", Some(false)),
            ("", "socket", Some(false)),
            ("*", "10.0.0.1", Some(true)),
            (" * ", "socket", Some(true)),
            ("localhost", "socket", Some(true)),
            ("localhost", "127.0.0.1", Some(false)),
            ("127.0.0.1", "127.0.0.1", Some(true)),
            ("127.0.0.1", "::ffff:127.0.0.1", Some(true)),
            ("127.0.0.1", "127.0.0.2", Some(false)),
            ("::1,192.168.0.0/16", "192.168.7.9", Some(true)),
            ("::1 192.168.0.0/16", "192.169.0.1", Some(false)),
            ("fd00::/8, localhost", "fdff::1", Some(true)),
            ("0.0.0.0/0", "fdff::1", Some(false)),
            ("*,::1", "::1", None),
            ("127.0.0.1/33", "::1", None),
            ("::1/129", "::1", None),
            ("proxy.example", "::1", None),
            ("10.0.0.0/x", "::1", None),
        ] {
            assert_eq!(is_in(list, address), wanted, "{list} {address}");
        }
    }
}
