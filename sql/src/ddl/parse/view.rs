//! The parser of CREATE VIEW and ALTER VIEW.

use crate::{
    command::{Cursor, Parsed, UserName, user},
    ddl::syntax::{CreateView, Statement, ViewIntent},
    error::SqlError,
};
use cohort_engine::types::{CheckOption, ViewAlgorithm};

/// What may stand between CREATE or ALTER and VIEW.
#[derive(Default)]
struct Head {
    replace: bool,
    algorithm: Option<ViewAlgorithm>,
    definer: Option<UserName>,
    invoker: Option<bool>,
}

/// CREATE VIEW or ALTER VIEW, behind the verb. `None`: it is about something else, and nothing was
/// read.
pub(super) fn view(c: &mut Cursor, is_alter: bool) -> Parsed<Option<Statement>> {
    let before = c.place();
    let head = head(c, is_alter)?;
    if !c.eat("VIEW") {
        c.go_back(before);
        return Ok(None);
    }
    let if_not_exists = !is_alter && c.eat_all(&["IF", "NOT", "EXISTS"]);
    let intent = match (is_alter, head.replace, if_not_exists) {
        (true, ..) => ViewIntent::Alter,
        (false, true, true) => return Err(SqlError::wrong_usage("OR REPLACE", "IF NOT EXISTS")),
        (false, true, false) => ViewIntent::Replace,
        (false, false, true) => ViewIntent::CreateIfMissing,
        (false, false, false) => ViewIntent::Create,
    };
    let name = c.table()?;
    let mut columns = Vec::new();
    if c.eat_symbol("(") {
        columns = c.list(Cursor::name)?;
        c.expect_symbol(")")?;
    }
    c.expect("AS")?;
    if !super::begins_query(c) {
        return Err(c.error());
    }
    let first = c.peek();
    let check_option = query(c);
    let query = c.text_since(first);
    if check_option.is_some() {
        c.eat("WITH");
        c.eat_any(&["CASCADED", "LOCAL"]);
        c.eat_all(&["CHECK", "OPTION"]);
    }
    Ok(Some(Statement::CreateView(Box::new(CreateView {
        name,
        intent,
        columns,
        algorithm: head.algorithm,
        definer: head.definer,
        invoker: head.invoker,
        query,
        check_option,
    }))))
}

fn head(c: &mut Cursor, is_alter: bool) -> Parsed<Head> {
    let mut head = Head {
        replace: !is_alter && c.eat_all(&["OR", "REPLACE"]),
        ..Head::default()
    };
    if c.eat("ALGORITHM") {
        c.expect_symbol("=")?;
        let algorithm = match c.eat_any(&["UNDEFINED", "MERGE", "TEMPTABLE"]) {
            Some(0) => ViewAlgorithm::Undefined,
            Some(1) => ViewAlgorithm::Merge,
            Some(_) => ViewAlgorithm::TempTable,
            None => return Err(c.error()),
        };
        head.algorithm = Some(algorithm);
    }
    if c.eat("DEFINER") {
        c.expect_symbol("=")?;
        head.definer = Some(user(c)?);
    }
    if c.eat_all(&["SQL", "SECURITY"]) {
        head.invoker = match c.eat_any(&["DEFINER", "INVOKER"]) {
            Some(which) => Some(which == 1),
            None => return Err(c.error()),
        };
    }
    Ok(head)
}

/// Steps over the query, up to WITH … CHECK OPTION or the end.
fn query(c: &mut Cursor) -> Option<CheckOption> {
    while !c.at_end() {
        if c.is("WITH") {
            let forms: [(&[&str], CheckOption); 3] = [
                (&["WITH", "CHECK", "OPTION"], CheckOption::Cascaded),
                (
                    &["WITH", "CASCADED", "CHECK", "OPTION"],
                    CheckOption::Cascaded,
                ),
                (&["WITH", "LOCAL", "CHECK", "OPTION"], CheckOption::Local),
            ];
            let found = forms.iter().find(|(words, _)| c.are(words));
            if let Some((_, option)) = found {
                return Some(*option);
            }
        }
        c.next();
    }
    None
}
