//! Events of other servers' logs, one after another: whatever they are, they are read or refused, and
//! what they become is no larger than they are.

use cohort_engine::log::incoming::{Incoming, What, unpack};

/// Reads events.
pub fn events(bytes: &[u8]) {
    read(bytes, 0);
}

fn read(mut bytes: &[u8], depth: usize) {
    while let Ok((event, rest)) = Incoming::split_first(bytes) {
        bytes = rest;
        for checksums in [false, true] {
            let Ok(incoming) = Incoming::parse(event, checksums) else {
                continue;
            };
            match incoming.what {
                // A payload may be much larger than its event; nobody unpacks one in another.
                What::Payload(body) if depth == 0 && body.len() < 4096 => {
                    if let Ok(events) = unpack(body) {
                        read(events.get(..1 << 16).unwrap_or(&events), depth + 1);
                    }
                }
                What::TableMap(map) => {
                    assert!(map.columns.len() <= event.len());
                    let signs = map.unsigned.map_or(0, |signs| signs.len());
                    assert!(signs <= map.columns.len());
                    let collations = map.collations.map_or(0, |known| known.len());
                    assert!(collations <= map.columns.len());
                }
                _ => {}
            }
        }
    }
}
