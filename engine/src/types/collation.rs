//! Collations: how strings compare, and the sort keys that make bytes compare the same way.

use serde::{Deserialize, Serialize};

/// A character set and its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Collation {
    /// utf8mb4_0900_ai_ci (id 255), the default: accent- and case-insensitive, no padding.
    Utf8mb40900AiCi,
    /// utf8mb4_general_ci (id 45): case-insensitive, trailing spaces do not count.
    Utf8mb4GeneralCi,
    /// utf8mb4_bin (id 46): by code point, trailing spaces do not count.
    Utf8mb4Bin,
    /// utf8mb4_0900_bin (id 309): by code point, no padding.
    Utf8mb40900Bin,
    /// binary (id 63): bytes.
    Binary,
}
