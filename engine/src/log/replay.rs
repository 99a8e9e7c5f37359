//! Who is told of the transactions that a log has when it is opened.

use super::Replayed;
use crate::Seq;

/// Takes the whole transactions that a log has when it is opened.
pub trait Replay: Sync {
    /// What can be said about transactions before all earlier ones are applied.
    type Decoded: Send;
    /// Decodes transactions that follow one another. Called by several threads at once, and ahead
    /// of `apply`: for transactions, too, that are never applied, as something before them is
    /// torn.
    fn decode(&self, transactions: &[Replayed<'_>]) -> Self::Decoded;
    /// Applies transactions, after all earlier ones.
    fn apply(
        &mut self,
        transactions: &[Replayed<'_>],
        decoded: Self::Decoded,
    ) -> Result<(), ReplayError>;
}

/// A transaction that cannot be applied, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayError {
    /// Its number.
    pub seq: Seq,
    /// What is wrong.
    pub why: String,
}

/// Gives one transaction after another to a function.
pub struct InOrder<F>(pub F);

impl<F: FnMut(&Replayed<'_>) + Sync> Replay for InOrder<F> {
    type Decoded = ();
    fn decode(&self, _: &[Replayed<'_>]) {}
    fn apply(&mut self, transactions: &[Replayed<'_>], (): ()) -> Result<(), ReplayError> {
        transactions.iter().for_each(&mut self.0);
        Ok(())
    }
}
