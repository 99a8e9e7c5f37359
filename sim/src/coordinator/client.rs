//! The client: what it asks for, and whether what it is told is true.

use super::{
    plan::{Do, GID, Plan},
    process::Process,
    world::{Unused, Use, Used, Who},
};
use cohort_coordinator_core::{
    Outside,
    clients::{self, About, Refused, Told},
    decide::{Event, Outcome, Wish},
    model::{Pattern, Status},
    tables::Registered,
};
use std::sync::{Arc, Mutex, PoisonError};

/// What a client is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It will be done.
    Accepted,
    /// It is done.
    Done,
    /// It never will be: 409.
    Failure,
    /// It is under way: 425.
    Ongoing,
    /// Nothing that it could rely on.
    Nothing,
}

/// A request under way.
pub struct Request {
    pub who: Who,
    pub what: Do,
    answer: Arc<Mutex<Option<Answer>>>,
}

impl Request {
    /// Sends a request to a coordinator.
    pub fn send(process: &Arc<Process>, plan: &Plan, what: Do) -> Request {
        let answer = Arc::new(Mutex::new(None));
        let request = Request {
            who: process.who,
            what,
            answer: Arc::clone(&answer),
        };
        let (plan, shared) = (plan.clone(), Arc::clone(process));
        process.spawn(async move {
            let told = ask(&shared, &plan, what).await;
            check(&shared, &plan, what, told);
            *answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
        });
        request
    }
    /// What it was told, if anything.
    pub fn answer(&self) -> Option<Answer> {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn ask(process: &Arc<Process>, plan: &Plan, what: Do) -> Answer {
    let about = About {
        gid: GID,
        pattern: Some(plan.pattern),
        waits: plan.options.wait_result,
    };
    let told = match what {
        Do::Prepare => return prepare(process, plan).await,
        Do::Register(index) => return register(process, plan, index).await,
        Do::Submit => {
            let now = process.moment().now;
            let described = plan.transaction(Status::Submitted, now);
            let outcome = (plan.pattern == Pattern::Workflow).then(|| Outcome {
                is_success: plan.succeeds,
                reason: "no".to_owned(),
                result: String::new(),
            });
            clients::submit(process, about, described, outcome).await
        }
        Do::Abort => clients::change(process, about, Wish::Abort("no".to_owned())).await,
        Do::Try(_) | Do::Commit => unreachable!("no coordinator is asked for that"),
    };
    answer(told)
}

fn answer(told: Result<Told, Refused<Unused>>) -> Answer {
    match told {
        Ok(Told::Accepted) => Answer::Accepted,
        Ok(Told::Done(_)) => Answer::Done,
        Err(Refused::Failure(_)) => Answer::Failure,
        Err(Refused::Ongoing) => Answer::Ongoing,
        Err(_) => Answer::Nothing,
    }
}

async fn prepare(process: &Arc<Process>, plan: &Plan) -> Answer {
    let moment = process.moment();
    let mut transaction = plan.transaction(Status::Prepared, moment.now);
    transaction.decide([Event::Look], moment);
    match process.insert(transaction, false).await {
        Ok(true) => Answer::Accepted,
        Ok(false) => match process.load(GID).await {
            Ok(Some(known)) if known.global.status == Status::Prepared => Answer::Accepted,
            _ => Answer::Failure,
        },
        Err(_) => Answer::Nothing,
    }
}

async fn register(process: &Arc<Process>, plan: &Plan, index: usize) -> Answer {
    let branches = plan.registered(index);
    let what = Use::Register(GID.to_owned(), plan.pattern, branches);
    match process.use_tables(what).await {
        Ok(Used::Registered(Registered::Yes)) => Answer::Accepted,
        Ok(Used::Registered(_)) => Answer::Failure,
        _ => Answer::Nothing,
    }
}

/// What a client is told must be so when it is told.
fn check(process: &Process, plan: &Plan, what: Do, told: Answer) {
    let mut world = process.world();
    let status = world.tables.status(GID);
    world.tell(|_| format!("the client is told of its {what:?}: {told:?}"));
    let is_undone = matches!(status, Some(Status::Aborting | Status::Failed));
    let may_fail = plan.pattern == Pattern::Saga;
    let workflow = match plan.succeeds {
        true => Status::Succeed,
        false => Status::Failed,
    };
    let holds = match (what, told) {
        (Do::Submit, Answer::Accepted | Answer::Done) if plan.pattern == Pattern::Workflow => {
            status == Some(workflow)
        }
        (Do::Submit, Answer::Accepted) => {
            may_fail && is_undone || matches!(status, Some(Status::Submitted | Status::Succeed))
        }
        (Do::Submit, Answer::Done) => status == Some(Status::Succeed),
        (Do::Submit, Answer::Failure)
            if plan.pattern == Pattern::Workflow && plan.options.wait_result =>
        {
            status != Some(workflow)
        }
        // Without waiting for the end, a submit of what has ended comes too late.
        (Do::Submit, Answer::Failure) => {
            is_undone || !plan.options.wait_result && status == Some(Status::Succeed)
        }
        (Do::Abort, Answer::Accepted) => is_undone,
        (Do::Abort, Answer::Done) => status == Some(Status::Failed),
        (Do::Prepare, Answer::Accepted) => status.is_some(),
        _ => true,
    };
    if !holds {
        world.fail(|| format!("the client is told {told:?} of its {what:?}, and it is {status:?}"));
    }
}
