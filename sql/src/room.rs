//! Room on the stack for statements that nest deeply.
//!
//! Parsing, planning and evaluation follow a statement's tree by recursion, and a session's thread
//! has a stack of one megabyte: enough for what people write. What nests deeper than that, as a
//! program may, runs on a stack of its own that is made for it.

/// So many levels fit on any thread's own stack.
const OWN: usize = 24;
/// What a level takes at most. Only touched pages take memory.
const LEVEL_BYTES: usize = if cfg!(debug_assertions) {
    64 << 10
} else {
    20 << 10
};

/// How much room there is on this thread's stack for what a statement does, in bytes.
pub fn left() -> usize {
    stacker::remaining_stack().unwrap_or(OWN * LEVEL_BYTES)
}

/// Runs `work`, which recurses so many levels.
pub fn with_room<R>(levels: usize, work: impl FnOnce() -> R) -> R {
    if levels <= OWN {
        return work();
    }
    stacker::grow(levels * LEVEL_BYTES, work)
}
