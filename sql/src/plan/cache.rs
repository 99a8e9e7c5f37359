//! The cache of plans that all sessions share.

use super::Plan;
use cohort_engine::types::Value;
use parking_lot::RwLock;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::{hash::BuildHasher, sync::Arc};

const SHARDS: usize = 16;
/// Plans a shard keeps; when it is full it starts again from nothing.
const PER_SHARD: usize = 512;

type Shard = RwLock<FxHashMap<Box<[u8]>, Arc<Plan>>>;

/// Plans by the statement's normalised text and all else that its meaning depends on.
pub struct PlanCache {
    shards: [Shard; SHARDS],
}

impl Default for PlanCache {
    fn default() -> PlanCache {
        PlanCache {
            shards: std::array::from_fn(|_| Shard::default()),
        }
    }
}

impl PlanCache {
    fn shard(&self, key: &[u8]) -> &Shard {
        let hash = FxBuildHasher.hash_one(key) as usize;
        &self.shards[(hash >> 7) % SHARDS]
    }
    /// The plan of a statement, if it is of this version of the dictionary and for these values.
    #[must_use]
    pub fn get(&self, key: &[u8], dictionary: u64, params: &[Value]) -> Option<Arc<Plan>> {
        let shard = self.shard(key).read();
        let plan = shard.get(key)?;
        (plan.dictionary == dictionary && plan.is_for(params)).then(|| Arc::clone(plan))
    }
    /// Keeps a plan, in the place of an older one.
    pub fn put(&self, key: &[u8], plan: Arc<Plan>) {
        let mut shard = self.shard(key).write();
        if shard.len() >= PER_SHARD {
            shard.clear();
        }
        shard.insert(key.into(), plan);
    }
}
