//! How much is read of a connection: at once, and before an answer begins.
//!
//! A service may send as many interim answers (status 1xx) as it likes before the one that counts,
//! and whoever reads them reads as long as there are some: nothing else would be done meanwhile, and
//! no time limit noticed.

use hyper::rt::{Read, ReadBuf, ReadBufCursor, Write};
use std::{
    io::{self, IoSlice},
    mem::MaybeUninit,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
};

/// So much is read before somebody else has his turn.
const TURN_BYTES: usize = 64 << 10;
/// So much before the head of an answer has come.
pub const HEAD_BYTES_MAX: usize = 128 << 10;
/// So much with each read.
const READ_BYTES: usize = 8 << 10;

/// What may still be read.
#[derive(Default)]
pub struct Meter {
    turn: AtomicUsize,
    head: AtomicUsize,
}

impl Meter {
    /// Somebody polls the connection.
    pub fn begin_turn(&self) {
        self.turn.store(TURN_BYTES, Ordering::Relaxed);
    }
    /// The head of an answer is waited for.
    pub fn expect_head(&self) {
        self.head.store(HEAD_BYTES_MAX, Ordering::Relaxed);
    }
    /// It has come.
    pub fn has_head(&self) {
        self.head.store(usize::MAX, Ordering::Relaxed);
    }
    fn count(&self, bytes: usize) {
        for left in [&self.turn, &self.head] {
            let now = left.load(Ordering::Relaxed);
            left.store(now.saturating_sub(bytes), Ordering::Relaxed);
        }
    }
}

/// See the module.
pub struct Metered<S> {
    stream: S,
    meter: Arc<Meter>,
}

impl<S> Metered<S> {
    /// A stream, and what counts its bytes.
    pub fn new(stream: S) -> (Metered<S>, Arc<Meter>) {
        let meter = Arc::new(Meter::default());
        let counted = Arc::clone(&meter);
        let metered = Metered {
            stream,
            meter: counted,
        };
        (metered, meter)
    }
}

impl<S: Read + Unpin> Read for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut into: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let meter = Arc::clone(&self.meter);
        if meter.turn.load(Ordering::Relaxed) == 0 {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if meter.head.load(Ordering::Relaxed) == 0 {
            let why = format!("no answer in {HEAD_BYTES_MAX} bytes");
            return Poll::Ready(Err(io::Error::other(why)));
        }
        let mut bytes = [const { MaybeUninit::uninit() }; READ_BYTES];
        let room = bytes.get_mut(..into.remaining().min(READ_BYTES));
        let mut read = ReadBuf::uninit(room.unwrap_or_default());
        ready!(Pin::new(&mut self.stream).poll_read(context, read.unfilled()))?;
        meter.count(read.filled().len());
        into.put_slice(read.filled());
        Poll::Ready(Ok(()))
    }
}

impl<S: Write + Unpin> Write for Metered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }
}
