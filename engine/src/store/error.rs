//! What can go wrong in the store.

/// The disk or the Base file failed, by what it means for others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// Bytes came from the disk that are not those that were written there. What else is in the
    /// file can be read.
    Damaged {
        /// What was read, like `table d.t`, if it is known.
        table: Option<String>,
        /// The file, the byte in it, and what is wrong there.
        place: String,
    },
    /// The disk is full, or the quota used up. Once there is room again, writing goes on.
    Full(String),
    /// A call of the operating system failed; the text says which, and of which file.
    Io(String),
}

impl std::fmt::Display for StoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StoreError::Damaged { place, .. } => f.write_str(place),
            StoreError::Full(text) | StoreError::Io(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for StoreError {}
