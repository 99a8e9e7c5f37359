//! Views as information_schema shows them.

use super::{Rows, text, yes_no};
use crate::{
    error::SqlError,
    expr::Statement,
    plan::{self, SelectedColumn},
    privileges::{Privilege, Privileges},
    rights::Object,
    selected::column_of_view,
    state::State,
};
use cohort_engine::{
    txn::Dictionary,
    types::{CheckOption, Collation, Table, TableId, View},
};
use std::sync::Arc;

/// All views that the session may see, by database and name.
pub(crate) fn visible<'d>(session: &State, dictionary: &'d Dictionary) -> Vec<&'d Arc<View>> {
    let databases = dictionary.databases();
    databases
        .flat_map(|database| dictionary.views(&database.name))
        .chain(super::sys::views())
        .filter(|view| session.rights.sees_table(&view.database, &view.name))
        .collect()
}

/// A view as a table of its columns; 1356 if something is gone that it was made of.
pub(crate) fn view_table(session: &State, view: &View) -> Result<Table, SqlError> {
    let read =
        session.with_compile_context(&view.database, |context| plan::read_view(view, context))?;
    Ok(as_table(view, &read.columns, &session.facts()))
}

/// A view as a table of its columns, for those who list both.
fn as_table(view: &View, selected: &[SelectedColumn], session: &Statement<'_>) -> Table {
    let columns = selected.iter().zip(&view.columns).map(|(column, name)| {
        let mut column = column_of_view(column, session);
        column.name.clone_from(name);
        column
    });
    let columns = columns.collect();
    Table {
        id: TableId::MAX,
        database: view.database.clone(),
        name: view.name.clone(),
        columns,
        rows: TableId::MAX,
        primary: None,
        indexes: Vec::new(),
        since: 0,
        built: Vec::new(),
        collation: Collation::Utf8mb40900AiCi,
        comment: "VIEW".into(),
        auto_increment_min: 0,
        options: String::new(),
        created: view.created,
        foreign_keys: Vec::new(),
        checks: Vec::new(),
        fulltext: Vec::new(),
        map: Default::default(),
    }
}

/// The same as `view_table`; one of which something is gone has no columns, and the error as its comment.
pub(super) fn table_or_error(session: &State, view: &View) -> Table {
    view_table(session, view).unwrap_or_else(|error| Table {
        comment: error.message,
        ..as_table(view, &[], &session.facts())
    })
}

pub(super) fn rows(session: &State) -> Rows {
    let dictionary = session.instance.engine.dictionary();
    let views = visible(session, &dictionary).into_iter();
    views.map(|view| row(session, view)).collect()
}

/// The text of a view's query is for its definer, and for whoever may have it shown.
fn shows_text(session: &State, view: &View) -> bool {
    let has = session.rights.on(Object::Table(&view.database, &view.name));
    let needed = Privileges::of(&[Privilege::Select, Privilege::ShowView]);
    view.definer == session.account || has.has_all(needed)
}

fn row(session: &State, view: &View) -> Vec<super::Value> {
    let check = match view.check_option {
        None => "NONE",
        Some(CheckOption::Local) => "LOCAL",
        Some(CheckOption::Cascaded) => "CASCADED",
    };
    let (user, host) = &view.definer;
    vec![
        text("def"),
        text(&view.database),
        text(&view.name),
        text(match shows_text(session, view) {
            true => view.query.text.as_str(),
            false => "",
        }),
        text(check),
        yes_no(view.shown_updatable),
        text(format!("{user}@{host}")),
        text(if view.invoker { "INVOKER" } else { "DEFINER" }),
        text(&view.character_set_client),
        text(view.collation_connection.name()),
    ]
}

/// Which tables and views each view names.
pub(super) fn usage(session: &State) -> Rows {
    let dictionary = session.instance.engine.dictionary();
    let mut rows = Rows::new();
    for view in visible(session, &dictionary) {
        if !shows_text(session, view) {
            continue;
        }
        let read =
            session.with_compile_context(&view.database, |context| plan::read_view(view, context));
        let uses = read.map(|read| read.uses).unwrap_or_default();
        let of = |(database, table): &(String, String)| {
            let names = [&view.database, &view.name].map(text);
            let [view_database, view_name] = names;
            vec![
                text("def"),
                view_database,
                view_name,
                text("def"),
                text(database),
                text(table),
            ]
        };
        rows.extend(uses.iter().map(of));
    }
    rows
}
