//! What a run is about: one global transaction, and what its client means to do.

use super::choose::Chooser;
use cohort_coordinator_core::{
    decide::{Branches, Transaction},
    model::{Branch, Global, Micros, Options, Pattern, SECOND, Seconds, Status},
    plan,
};
use serde_json::{Map, json};

/// The transaction's name.
pub const GID: &str = "g";
/// When the model's clock starts.
pub const START: Micros = 1_000_000 * SECOND;

/// What a client does, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Do {
    Prepare,
    /// Registers a branch, and then tries it.
    Register(usize),
    Try(usize),
    /// Commits its own transaction.
    Commit,
    Submit,
    Abort,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Plan {
    pub pattern: Pattern,
    pub branches: usize,
    pub machines: usize,
    pub custom_data: &'static str,
    pub options: Options,
    pub script: Vec<Do>,
    /// What a workflow comes to.
    pub succeeds: bool,
    /// So many calls of a branch that come to nothing make a dead letter; 0: none does.
    pub dead_letter_after: u64,
    /// The coordinator that an operator asks in the calm.
    pub operated: usize,
}

impl Plan {
    /// One of this pattern with so many branches.
    pub fn new(pattern: Pattern, branches: usize, machines: usize) -> Plan {
        let registered = (0..branches).flat_map(|index| [Do::Register(index), Do::Try(index)]);
        let script = match pattern.rules().branches {
            Branches::Submitted { topics: false } => vec![Do::Submit],
            Branches::Submitted { topics: true } => vec![Do::Prepare, Do::Commit, Do::Submit],
            Branches::Registered | Branches::RegisteredWithUrl => {
                let first = [Do::Prepare].into_iter();
                first.chain(registered).chain([Do::Submit]).collect()
            }
            Branches::Told => {
                let told = (0..branches).map(Do::Register);
                let first = [Do::Prepare].into_iter();
                first.chain(told).chain([Do::Submit]).collect()
            }
        };
        Plan {
            pattern,
            branches,
            machines,
            custom_data: "",
            options: Options::default(),
            script,
            succeeds: true,
            dead_letter_after: 0,
            operated: 0,
        }
    }

    /// Any.
    pub fn any(chooser: &mut Chooser) -> Plan {
        let pattern = Pattern::ALL[chooser.below(Pattern::ALL.len())];
        let mut plan = Plan::new(pattern, 1 + chooser.below(4), 1 + chooser.below(2));
        plan.succeeds = chooser.below(3) > 0;
        plan.dead_letter_after = [0, 0, 1, 2][chooser.below(4)];
        plan.operated = chooser.below(plan.machines);
        if pattern == Pattern::Saga {
            plan.custom_data = match (plan.branches, chooser.below(4)) {
                (_, 0 | 1) => "",
                (4, 2) => r#"{"concurrent":true,"orders":{"2":[0,1],"3":[2]}}"#,
                (3, 2) => r#"{"concurrent":true,"orders":{"2":[0]}}"#,
                _ => r#"{"concurrent":true}"#,
            };
            plan.options.retry_limit = [0, 0, 1, 2][chooser.below(4)];
            plan.options.timeout_to_fail = Seconds([0, 0, 8, 40][chooser.below(4)] * SECOND);
        }
        plan.options.retry_interval = Seconds([0, 1, 3][chooser.below(3)] * SECOND);
        plan.options.wait_result = chooser.below(2) == 0;
        plan.options.concurrent = pattern == Pattern::Message && chooser.below(2) == 0;
        match (pattern, chooser.below(4)) {
            (Pattern::Message, 0) => plan.script = vec![Do::Submit],
            (Pattern::Message, 1) => plan.script = vec![Do::Prepare, Do::Abort],
            (Pattern::Tcc | Pattern::Xa, 0) => {
                plan.script.pop();
                plan.script.push(Do::Abort);
            }
            _ => {}
        }
        plan
    }

    /// Whether the client's own transaction decides.
    pub fn has_commit(&self) -> bool {
        self.script.contains(&Do::Commit)
    }

    /// The transaction as its client describes it.
    pub fn transaction(&self, status: Status, now: Micros) -> Transaction {
        let rules = self.pattern.rules();
        let is_submitted = matches!(rules.branches, Branches::Submitted { .. });
        let step = |_| {
            let urls = rules
                .ops
                .iter()
                .map(|op| ((*op).to_owned(), json!("http://service")));
            urls.collect::<Map<_, _>>()
        };
        let steps: Vec<_> = match is_submitted {
            true => (0..self.branches).map(step).collect(),
            false => Vec::new(),
        };
        let payloads = vec![b"{}".to_vec(); steps.len()];
        let planned = plan::branches(self.pattern, &steps, &payloads);
        let global = Global {
            query_prepared: "http://client".to_owned(),
            custom_data: self.custom_data.to_owned(),
            payloads: match planned {
                Some(_) => plan::written(&payloads),
                None => String::new(),
            },
            options: self.options.clone(),
            ..Global::new(GID, self.pattern, status, now)
        };
        Transaction::new(global, planned.unwrap_or_default())
    }

    /// The branches that a client registers as one.
    pub fn registered(&self, index: usize) -> Vec<Branch> {
        let id = plan::branch_id(index);
        let branch = |op: &&str| Branch::new(&id, op, "http://service", Vec::new());
        match self.pattern.rules().branches {
            Branches::Told => vec![branch(&"action")],
            _ => self.pattern.rules().ops.iter().map(branch).collect(),
        }
    }
}
