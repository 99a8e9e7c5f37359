//! The Base's file as it is open now, and what is to be done after a failure.

use super::{opened::Opened, snapshot::BaseSnapshot};
use crate::store::file::Resume;
use arc_swap::ArcSwap;
use parking_lot::{Mutex, RwLock};
use std::sync::{Arc, Weak};

/// What follows from failed changes.
pub(super) enum Health {
    Sound,
    /// A change failed: the file must be opened anew, and goes on here.
    Failed(Box<Resume>),
    /// It was opened anew, but snapshots of the one before may live; since when, in nanoseconds.
    Mended(Weak<Opened>, u64),
}

/// The file as it is open now.
pub(super) struct Current {
    pub opened: ArcSwap<Opened>,
    /// What snapshots are while a change has ended in parts and not as a whole.
    pub before: RwLock<Option<Arc<BaseSnapshot>>>,
    pub health: Mutex<Health>,
}

impl Current {
    pub fn new(opened: Opened) -> Current {
        Current {
            opened: ArcSwap::from_pointee(opened),
            before: RwLock::default(),
            health: Mutex::new(Health::Sound),
        }
    }
    /// A change of `opened` has failed.
    pub fn failed(&self, opened: &Arc<Opened>) {
        opened.file.close();
        let mut health = self.health.lock();
        if matches!(*health, Health::Sound) && Arc::ptr_eq(&self.opened.load(), opened) {
            *health = Health::Failed(Box::new(opened.file.resume()));
        }
    }
}
