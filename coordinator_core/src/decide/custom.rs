//! A pattern's own settings, which are in `custom_data`.

use super::Global;
use serde::de::DeserializeOwned;
use std::{
    any::Any,
    sync::{Arc, OnceLock},
};

/// What is made of a transaction's fields, once it was asked for: they may be megabytes, and there
/// may be thousands of events and calls.
#[derive(Clone, Debug, Default)]
pub struct Derived(OnceLock<Arc<dyn Any + Send + Sync>>);

impl Derived {
    /// `make` makes the same of the fields each time, and all who ask want the same type.
    pub fn get<T: Any + Send + Sync>(&self, make: impl Fn() -> T) -> Arc<T> {
        let made = self.0.get_or_init(|| Arc::new(make()));
        let made = Arc::clone(made).downcast();
        made.unwrap_or_else(|_| Arc::new(make()))
    }
}

impl PartialEq for Derived {
    /// It is nothing that the transaction's fields do not say.
    fn eq(&self, _: &Derived) -> bool {
        true
    }
}

impl Eq for Derived {}

/// A pattern's own settings: JSON, where nothing and null are the usual ones.
pub(super) fn custom<T: Default + DeserializeOwned>(global: &Global) -> Result<T, String> {
    const BYTES_MAX: usize = 1 << 20;
    let text = global.custom_data.as_str();
    if text.is_empty() {
        return Ok(T::default());
    }
    if text.len() > BYTES_MAX {
        return Err(format!("{BYTES_MAX} bytes are allowed"));
    }
    let custom: Option<T> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Ok(custom.unwrap_or_default())
}
