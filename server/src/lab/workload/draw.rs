//! The values that statements are executed with.

use crate::lab::random::Random;

/// The digits of `c` and of `pad` stand in groups of eleven.
const GROUP: usize = 11;
const C_GROUPS: usize = 10;
const PAD_GROUPS: usize = 5;
/// The length of `c`.
pub const C_LENGTH: usize = C_GROUPS * (GROUP + 1) - 1;
/// The length of `pad`.
pub const PAD_LENGTH: usize = PAD_GROUPS * (GROUP + 1) - 1;

/// Values for one event.
#[derive(Debug)]
pub struct Draw<'a> {
    /// Where they come from.
    pub random: &'a mut Random,
    /// Rows of the table.
    pub rows: u32,
    /// The row that this event's DELETE took, and its INSERT brings back.
    pub deleted: u32,
}

impl Draw<'_> {
    /// The key of a row.
    pub fn id(&mut self) -> u32 {
        1 + self.random.below(self.rows)
    }
    /// A value of the column `c`.
    pub fn c(&mut self) -> [u8; C_LENGTH] {
        let mut out = [b'-'; C_LENGTH];
        self.random.digits(&mut out, GROUP);
        out
    }
    /// A value of the column `pad`.
    pub fn pad(&mut self) -> [u8; PAD_LENGTH] {
        let mut out = [b'-'; PAD_LENGTH];
        self.random.digits(&mut out, GROUP);
        out
    }
}
