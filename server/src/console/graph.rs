//! The picture of who waits for whom: those who wait at the left of those they wait for.

use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};

/// A session in it.
#[derive(Default)]
pub struct Node {
    pub who: String,
    pub what: String,
}

/// One waits for another.
pub struct Edge {
    pub from: u64,
    pub to: u64,
    pub what: String,
}

const BOX: (f64, f64) = (190.0, 44.0);
const GAP: (f64, f64) = (70.0, 14.0);
/// No more are drawn; the table has them all.
const NODES_MAX: usize = 40;

/// How many wait for a session, directly or not.
pub fn behind(id: u64, edges: &[Edge]) -> usize {
    let mut known = BTreeSet::from([id]);
    let mut next = vec![id];
    while let Some(id) = next.pop() {
        let waiting = edges.iter().filter(|edge| edge.to == id);
        next.extend(
            waiting
                .map(|edge| edge.from)
                .filter(|from| known.insert(*from)),
        );
    }
    known.len() - 1
}

/// How far a session is from those that wait for nobody; a circle ends somewhere.
fn ranks(ids: &[u64], edges: &[Edge]) -> BTreeMap<u64, usize> {
    let mut ranks: BTreeMap<u64, usize> = ids.iter().map(|id| (*id, 0)).collect();
    for _ in ids {
        let mut has_changed = false;
        for edge in edges {
            let wanted = ranks.get(&edge.to).map_or(0, |rank| rank + 1);
            if let Some(rank) = ranks.get_mut(&edge.from)
                && *rank < wanted
                && wanted < ids.len()
            {
                *rank = wanted;
                has_changed = true;
            }
        }
        if !has_changed {
            break;
        }
    }
    ranks
}

pub fn picture(nodes: &BTreeMap<u64, Node>, edges: &[Edge]) -> Markup {
    let ids: Vec<u64> = nodes.keys().copied().take(NODES_MAX).collect();
    let ranks = ranks(&ids, edges);
    let deepest = ranks.values().copied().max().unwrap_or(0);
    let mut used: BTreeMap<usize, usize> = BTreeMap::new();
    let place = |id: &u64| {
        let rank = ranks.get(id).copied().unwrap_or(0);
        let row = used.entry(rank).or_default();
        let y = 4.0 + *row as f64 * (BOX.1 + GAP.1);
        *row += 1;
        let x = 4.0 + (deepest - rank) as f64 * (BOX.0 + GAP.0);
        (*id, (x, y))
    };
    let places: BTreeMap<u64, (f64, f64)> = ids.iter().map(place).collect();
    let rows = used.values().copied().max().unwrap_or(1) as f64;
    let width = 8.0 + (deepest + 1) as f64 * BOX.0 + deepest as f64 * GAP.0;
    let height = 8.0 + rows * (BOX.1 + GAP.1);
    let words: Vec<String> = edges
        .iter()
        .map(|edge| format!("{} waits for {}", edge.from, edge.to))
        .collect();
    let short = |text: &str| -> String { text.chars().take(26).collect() };
    html! {
        div.wide tabindex="0" role="region" aria-label="Picture of waits" {
            svg.graph width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) } role="img"
                aria-label=(words.join(", ")) {
                defs { marker #arrow viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto" {
                    path.arrow d="M0,0 L8,4 L0,8 z" {} } }
                @for edge in edges {
                    @if let (Some(from), Some(to)) = (places.get(&edge.from), places.get(&edge.to)) {
                        line.edge x1=(from.0 + BOX.0) y1=(from.1 + BOX.1 / 2.0) x2=(to.0 - 2.0)
                            y2=(to.1 + BOX.1 / 2.0) marker-end="url(#arrow)" { title { (edge.what) } }
                    }
                }
                @for (id, (x, y)) in &places {
                    @let waits = edges.iter().any(|edge| edge.from == *id);
                    @let node = nodes.get(id);
                    g {
                        rect.node.root[!waits] x=(x) y=(y) width=(BOX.0) height=(BOX.1) rx="6" {}
                        text.name x=(x + 8.0) y=(y + 18.0) { (id) " " (node.map_or("", |node| node.who.as_str())) }
                        text.what x=(x + 8.0) y=(y + 35.0) { (short(node.map_or("", |node| node.what.as_str()))) }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: u64, to: u64) -> Edge {
        Edge {
            from,
            to,
            what: String::new(),
        }
    }

    #[test]
    fn who_waits_for_nobody_is_at_the_right() {
        let edges = [edge(2, 1), edge(3, 2), edge(4, 1)];
        let ranks = ranks(&[1, 2, 3, 4], &edges);
        assert_eq!(ranks.values().copied().collect::<Vec<_>>(), [0, 1, 2, 1]);
        assert_eq!(
            (behind(1, &edges), behind(2, &edges), behind(3, &edges)),
            (3, 1, 0)
        );
    }

    #[test]
    fn a_circle_has_an_end() {
        let edges = [edge(1, 2), edge(2, 1)];
        assert_eq!(ranks(&[1, 2], &edges).len(), 2);
        assert_eq!(behind(1, &edges), 1);
        let nodes = BTreeMap::from([(1, Node::default()), (2, Node::default())]);
        assert!(
            picture(&nodes, &edges)
                .into_string()
                .contains("1 waits for 2")
        );
    }
}
