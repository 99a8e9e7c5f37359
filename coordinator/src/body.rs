//! Bodies of requests and of answers: how large one may be, and how large all may be together.
//!
//! Who has sent a part of a large body may take long for the rest, so all that has arrived of
//! large bodies is counted until their requests are answered. A body that is not large is not
//! counted: whatever others send, it finds room. Answers have a room of their own, and are counted
//! until their clients have taken them, for which they have their time, too. Over HTTP/2 a client can
//! leave many answers where they are: together they are not small.

use super::listen::Visitor;
use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Incoming};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

/// A larger body is refused.
const BYTES_MAX: usize = 64 << 20;
/// Large bodies together are not larger.
const ALL_BYTES_MAX: usize = 256 << 20;
/// What is not above this is not large.
pub(super) const SMALL_BYTES: usize = 64 << 10;
/// A body must have come within so long.
const TIMEOUT: Duration = Duration::from_secs(60);

/// An answer that is not small must be taken within so long, and a second more for each of these bytes of
/// all that its client has to take besides: over HTTP/2 they come in turn.
const TAKING_TIME: Duration = Duration::from_secs(30);
const TAKEN_IN_A_SECOND: usize = 64 << 10;

/// What large bodies take, in bytes.
#[derive(Clone, Default)]
pub(super) struct Room(Arc<AtomicUsize>);

impl Room {
    /// Whether one more body of so many bytes at least may find room.
    pub fn may_take(&self, bytes: usize) -> bool {
        bytes <= SMALL_BYTES || self.0.load(Ordering::Relaxed) + bytes <= ALL_BYTES_MAX
    }
}

/// A part of it; dropped, it is given back.
pub(super) struct Held {
    room: Room,
    bytes: usize,
}

impl Held {
    /// Takes so much more; false: there is no room.
    fn grow(&mut self, more: usize) -> bool {
        let taken = self.room.0.fetch_add(more, Ordering::Relaxed);
        self.bytes += more;
        taken + more <= ALL_BYTES_MAX
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.room.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// An answer, for as long as there is something left of it.
struct Answer {
    bytes: Vec<u8>,
    visitor: Arc<Visitor>,
    /// Unless it is small.
    _held: Option<Arc<Held>>,
}

impl Drop for Answer {
    fn drop(&mut self) {
        let bytes = self.bytes.len();
        self.visitor.untaken.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl AsRef<[u8]> for Answer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// An answer to this client, who is sent away if he does not take it; `None`: there is no room for
/// it.
pub(super) fn answer(room: &Room, bytes: Vec<u8>, visitor: &Arc<Visitor>) -> Option<Bytes> {
    let is_small = visitor.is_given(bytes.len()) <= SMALL_BYTES;
    let mut answer = Answer {
        bytes,
        visitor: Arc::clone(visitor),
        _held: None,
    };
    if !is_small {
        answer._held = Some(hold(room, answer.bytes.len(), visitor)?);
    }
    Some(Bytes::from_owner(answer))
}

/// So long may it take to take so many bytes.
fn taking_time(bytes: usize) -> Duration {
    TAKING_TIME + Duration::from_secs((bytes / TAKEN_IN_A_SECOND) as u64)
}

/// Takes room for an answer that its client has to take in time; `None`: there is none.
fn hold(room: &Room, bytes: usize, visitor: &Arc<Visitor>) -> Option<Arc<Held>> {
    let mut held = Held {
        room: room.clone(),
        bytes: 0,
    };
    if !held.grow(bytes) {
        return None;
    }
    let held = Arc::new(held);
    let (left, visitor) = (Arc::downgrade(&held), Arc::downgrade(visitor));
    let begun = Instant::now();
    tokio::spawn(async move {
        let mut time = taking_time(bytes);
        loop {
            tokio::time::sleep(time).await;
            let (Some(_), Some(visitor)) = (left.upgrade(), visitor.upgrade()) else {
                return;
            };
            // It may have come between others, which came after it.
            let all = taking_time(visitor.most_untaken());
            time = all.saturating_sub(begun.elapsed());
            if time.is_zero() {
                return visitor.send_away();
            }
        }
    });
    Some(held)
}

/// Why there is none.
pub(super) const NO_ROOM: &str =
    "other answers take all the room there is; try again, or ask for less";

/// Why a body was not read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// It is too large.
    TooLarge(String),
    /// Others are.
    Crowded(&'static str),
    /// It did not come.
    Late(&'static str),
    /// It ended too soon, or is no body.
    Broken(String),
}

/// Reads a body. What is returned beside it lives as long as what is made of it.
pub(super) async fn read(room: &Room, body: Incoming) -> Result<(Vec<u8>, Held), Unread> {
    // As far as it is declared; what is not is counted.
    if body.size_hint().lower() > BYTES_MAX as u64 {
        return Err(too_large());
    }
    let late = Unread::Late("the request's body did not come in time");
    let read = tokio::time::timeout(TIMEOUT, collect(room, body)).await;
    read.unwrap_or(Err(late))
}

fn too_large() -> Unread {
    Unread::TooLarge(format!("the request's body: {BYTES_MAX} bytes are allowed"))
}

async fn collect<B>(room: &Room, mut body: B) -> Result<(Vec<u8>, Held), Unread>
where
    B: Body<Data = hyper::body::Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let mut bytes = Vec::new();
    let mut held = Held {
        room: room.clone(),
        bytes: 0,
    };
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|error| Unread::Broken(format!("the request's body: {error}")))?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        let length = bytes.len() + data.len();
        if length > BYTES_MAX {
            return Err(too_large());
        }
        let more = length.saturating_sub(SMALL_BYTES) - held.bytes;
        if !held.grow(more) {
            let why = "other requests' bodies take all the room there is; try again";
            return Err(Unread::Crowded(why));
        }
        bytes.extend_from_slice(&data);
    }
    Ok((bytes, held))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::Full;

    fn read(room: &Room, bytes: usize) -> Result<(Vec<u8>, Held), Unread> {
        let body = Full::new(Bytes::from(vec![b'x'; bytes]));
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("a runtime").block_on(collect(room, body))
    }

    #[test]
    fn large_bodies_share_a_room_and_small_ones_need_none() {
        let room = Room::default();
        let mut all = Vec::new();
        while let Ok(read) = read(&room, BYTES_MAX) {
            all.push(read);
        }
        assert_eq!(all.len(), ALL_BYTES_MAX / BYTES_MAX);
        assert!(matches!(read(&room, BYTES_MAX), Err(Unread::Crowded(_))));
        assert!(matches!(
            read(&room, BYTES_MAX + 1),
            Err(Unread::TooLarge(_))
        ));
        assert!(read(&room, SMALL_BYTES).is_ok());
        all.pop();
        assert!(read(&room, BYTES_MAX).is_ok());
        drop(all);
        assert_eq!(room.0.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn answers_are_counted_until_they_are_taken() {
        let room = Room::default();
        let visitor = Visitor::new(([127, 0, 0, 1], 1).into(), Instant::now());
        let visitor = Arc::new(visitor);
        let large = || answer(&room, vec![b'x'; ALL_BYTES_MAX / 2], &visitor);
        let (one, other) = (large().expect("room"), large().expect("room"));
        assert!(answer(&room, vec![b'x'; SMALL_BYTES + 1], &visitor).is_none());
        // A client that has taken all it was given always has room for one that is small.
        let other_visitor = Visitor::new(([127, 0, 0, 1], 1).into(), Instant::now());
        let other_visitor = Arc::new(other_visitor);
        let small = || answer(&room, vec![b'x'; SMALL_BYTES], &other_visitor);
        let untaken = small().expect("room");
        assert!(small().is_none());
        drop(untaken);
        assert!(small().is_some());
        // As long as a part of it waits to be written, all of it is there.
        let part = one.slice(..1);
        drop(one);
        assert!(large().is_none());
        drop(part);
        assert!(large().is_some());
        drop(other);
        assert_eq!(room.0.load(Ordering::Relaxed), 0);
        assert_eq!(visitor.untaken.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn answers_that_come_in_turn_have_the_time_of_all() {
        const LARGE: usize = 4 << 20;
        let room = Room::default();
        let visitor = Visitor::new(([127, 0, 0, 1], 1).into(), Instant::now());
        let visitor = Arc::new(visitor);
        let large = || answer(&room, vec![b'x'; LARGE], &visitor).expect("room");
        let mut all: Vec<_> = (0..20).map(|_| large()).collect();
        assert_eq!(visitor.most_untaken(), 20 * LARGE);
        // The last ones have the time of those that were taken, too.
        all.truncate(1);
        assert_eq!(visitor.most_untaken(), 20 * LARGE);
        assert_eq!(taking_time(20 * LARGE), Duration::from_secs(30 + 1_280));
        drop(all);
        let _one = large();
        assert_eq!(visitor.most_untaken(), LARGE);
    }

    #[tokio::test]
    async fn many_small_answers_to_one_client_are_counted_together() {
        const SMALL: usize = SMALL_BYTES / 4;
        let room = Room::default();
        let visitor = Visitor::new(([127, 0, 0, 1], 1).into(), Instant::now());
        let visitor = Arc::new(visitor);
        let all: Vec<_> = (0..10)
            .map(|_| answer(&room, vec![b'x'; SMALL], &visitor).expect("room"))
            .collect();
        assert_eq!(room.0.load(Ordering::Relaxed), 6 * SMALL);
        drop(all);
        assert_eq!(room.0.load(Ordering::Relaxed), 0);
        assert_eq!(visitor.untaken.load(Ordering::Relaxed), 0);
    }
}
