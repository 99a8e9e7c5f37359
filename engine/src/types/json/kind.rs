//! The types of values, and how deeply they may be nested.

/// How deeply documents may be nested.
pub const DEPTH_MAX: usize = 100;

pub(super) const SMALL_OBJECT: u8 = 0;
pub(super) const LARGE_OBJECT: u8 = 1;
pub(super) const SMALL_ARRAY: u8 = 2;
pub(super) const LARGE_ARRAY: u8 = 3;
pub(super) const LITERAL: u8 = 4;
pub(super) const INT16: u8 = 5;
pub(super) const UINT16: u8 = 6;
pub(super) const INT32: u8 = 7;
pub(super) const UINT32: u8 = 8;
pub(super) const INT64: u8 = 9;
pub(super) const UINT64: u8 = 10;
pub(super) const DOUBLE: u8 = 11;
pub(super) const TEXT: u8 = 12;
pub(super) const OPAQUE: u8 = 15;
