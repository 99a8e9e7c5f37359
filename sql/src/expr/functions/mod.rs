//! The functions: one table of names, arities, types and evaluations.

/// A function.
#[derive(Debug)]
pub struct Function {
    /// Its name in lower case.
    pub name: &'static str,
    /// Whether it must be evaluated anew for each row.
    pub volatile: bool,
}

impl PartialEq for Function {
    fn eq(&self, other: &Function) -> bool {
        self.name == other.name
    }
}
