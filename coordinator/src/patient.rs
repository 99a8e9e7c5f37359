//! Connections whose other end takes what is written to it.
//!
//! What is written and not taken is kept. Whoever takes nothing for a while is as good as gone: the
//! connection ends, and with it what is kept.

use std::{
    future::Future,
    io::{self, ErrorKind, IoSlice},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Sleep, sleep},
};

/// So long may the other end take nothing of what is there for it.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// See the module.
pub(super) struct Patient<S> {
    stream: S,
    patience: Duration,
    /// Nothing is taken; until then that is borne.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> Patient<S> {
    pub fn new(stream: S, patience: Duration) -> Patient<S> {
        Patient {
            stream,
            patience,
            stalled: None,
        }
    }

    fn watched<T>(
        &mut self,
        context: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.stalled = None;
            return polled;
        }
        let patience = self.patience;
        let stalled = self
            .stalled
            .get_or_insert_with(|| Box::pin(sleep(patience)));
        let late = || Err(ErrorKind::TimedOut.into());
        stalled.as_mut().poll(context).map(|()| late())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watched(context, polled)
    }
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.watched(context, polled)
    }
    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.watched(context, polled)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(context);
        self.watched(context, polled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use tokio::net::UnixStream;

    /// Writes so many bytes; why not.
    async fn write(stream: &mut Patient<UnixStream>, bytes: usize) -> Result<(), ErrorKind> {
        let mut left = vec![0; bytes];
        while !left.is_empty() {
            let written = poll_fn(|context| Pin::new(&mut *stream).poll_write(context, &left));
            let written = written.await.map_err(|error| error.kind())?;
            left.truncate(left.len() - written);
        }
        Ok(())
    }

    #[tokio::test]
    async fn whoever_takes_nothing_is_gone() {
        const LARGE: usize = 4 << 20;
        let (near, _far) = UnixStream::pair().expect("a pair");
        let mut near = Patient::new(near, Duration::from_millis(50));
        assert_eq!(write(&mut near, LARGE).await, Err(ErrorKind::TimedOut));
    }

    #[tokio::test]
    async fn whoever_takes_something_is_not() {
        const LARGE: usize = 4 << 20;
        let (near, far) = UnixStream::pair().expect("a pair");
        let mut near = Patient::new(near, Duration::from_secs(20));
        let taking = async {
            let (mut taken, mut buffer) = (0, [0; 4096]);
            while taken < LARGE {
                far.readable().await.expect("something to read");
                taken += far.try_read(&mut buffer).unwrap_or(0);
            }
        };
        let (written, ()) = tokio::join!(write(&mut near, LARGE), taking);
        assert_eq!(written, Ok(()));
        assert!(near.stalled.is_none());
    }
}
