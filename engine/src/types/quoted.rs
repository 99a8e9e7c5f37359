/// A name as SQL has it in backticks.
///
/// ```
/// assert_eq!(cohort_engine::types::quoted("a`b"), "`a``b`");
/// ```
#[must_use]
pub fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}
