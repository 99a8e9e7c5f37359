//! A pattern's own settings, which are in `custom_data`.

use super::Global;
use serde::de::DeserializeOwned;
use std::{
    any::Any,
    sync::{Arc, OnceLock},
};

/// What a pattern makes of `custom_data`, once it was asked for: there may be a megabyte of it, and
/// thousands of events.
#[derive(Clone, Debug, Default)]
pub(super) struct Custom(OnceLock<Arc<dyn Any + Send + Sync>>);

impl Custom {
    /// `make` makes the same of it each time.
    pub fn get<T: Any + Send + Sync>(&self, make: impl Fn() -> T) -> Arc<T> {
        let made = self.0.get_or_init(|| Arc::new(make()));
        let made = Arc::clone(made).downcast();
        made.unwrap_or_else(|_| Arc::new(make()))
    }
}

impl PartialEq for Custom {
    /// It is nothing that the transaction's fields do not say.
    fn eq(&self, _: &Custom) -> bool {
        true
    }
}

impl Eq for Custom {}

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
