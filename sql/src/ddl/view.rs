//! Creating, changing and dropping views.

use super::{
    DdlContext, Failure, Outcome,
    selected::check_names,
    syntax::{CreateView, ViewIntent},
    table, tables,
};
use crate::{command::TableName, error::SqlError, output::Done, plan::ViewDraft, users::Users};
use cohort_engine::{
    txn::{Dictionary, Related, SchemaChange, TxnError},
    types::{CheckOption, Collation, View, ViewAlgorithm, quoted},
};
use std::sync::Arc;

/// Whether a view may be made, and which one it takes the place of. `None`: there is one already,
/// which is noted.
pub fn place(
    create: &CreateView,
    dictionary: &Dictionary,
    ctx: &mut DdlContext<'_>,
) -> Result<Option<Option<Arc<View>>>, SqlError> {
    let (database, name) = ctx.resolve(&create.name)?;
    tables::check_name(dictionary, database, name)?;
    let there = dictionary.view(database, name).cloned();
    let is_table = dictionary.table(database, name).is_some();
    match create.intent {
        ViewIntent::Alter | ViewIntent::Replace if is_table => {
            Err(SqlError::wrong_object(database, name, "VIEW"))
        }
        ViewIntent::Alter if there.is_none() => Err(SqlError::no_such_table(database, name)),
        ViewIntent::Alter | ViewIntent::Replace => Ok(Some(there)),
        ViewIntent::CreateIfMissing if is_table || there.is_some() => {
            let note = SqlError::table_exists(name);
            ctx.warnings.note(note);
            Ok(None)
        }
        ViewIntent::Create if is_table || there.is_some() => Err(SqlError::table_exists(name)),
        ViewIntent::Create | ViewIntent::CreateIfMissing => Ok(Some(None)),
    }
}

/// The definition of a view whose query is compiled.
pub fn define(
    create: &CreateView,
    draft: ViewDraft,
    client_charset: &str,
    collation_connection: Collation,
    replaced: Option<&View>,
    ctx: &mut DdlContext<'_>,
) -> Result<View, SqlError> {
    // ALTER VIEW leaves what it does not say.
    let before = replaced.filter(|_| create.intent == ViewIntent::Alter);
    let (database, name) = ctx.resolve(&create.name)?;
    let (database, name) = (database.to_string(), name.to_string());
    for warning in draft.warnings {
        ctx.warnings.warn(warning);
    }
    let mut temporary = draft.tables.iter().filter(|used| used.table.is_temporary());
    if let Some(used) = temporary.next() {
        return Err(SqlError::view_of_temporary(&used.table.name));
    }
    let columns = match create.columns.len() {
        0 => draft
            .columns
            .iter()
            .map(|column| column.name.clone())
            .collect(),
        given if given == draft.columns.len() => create.columns.clone(),
        _ => return Err(SqlError::column_names_differ()),
    };
    check_names(columns.iter().map(String::as_str))?;
    let mut algorithm = create
        .algorithm
        .or(before.map(|before| before.algorithm))
        .unwrap_or_default();
    if algorithm == ViewAlgorithm::Merge && !draft.mergeable {
        ctx.warnings.warn(SqlError::view_not_merged());
        algorithm = ViewAlgorithm::Undefined;
    }
    let updatable = draft.updatable && algorithm != ViewAlgorithm::TempTable;
    if create.check_option.is_some() && !(updatable && draft.has_table_column) {
        return Err(SqlError::check_option_of_fixed_view(&database, &name));
    }
    Ok(View {
        database,
        name,
        query: draft.query,
        columns,
        columns_given: !create.columns.is_empty(),
        algorithm,
        definer: definer(create, before, ctx),
        invoker: create
            .invoker
            .or(before.map(|before| before.invoker))
            .unwrap_or_default(),
        check_option: create.check_option,
        mergeable: draft.mergeable,
        updatable,
        shown_updatable: updatable && draft.has_table_column && !draft.reads_itself,
        character_set_client: client_charset.to_string(),
        collation_connection,
        created: table::created(ctx),
    })
}

/// The account with whose privileges a view is read; there is a note if it does not exist.
fn definer(
    create: &CreateView,
    before: Option<&View>,
    ctx: &mut DdlContext<'_>,
) -> (String, String) {
    match (&create.definer, before) {
        (None, Some(before)) => before.definer.clone(),
        (Some(given), _) if !given.current => {
            let users = Users::new(&ctx.engine.dictionary());
            if users.get(&given.user, &given.host).is_none() {
                let note = SqlError::no_such_definer(&given.user, &given.host);
                ctx.warnings.note(note);
            }
            (given.user.clone(), given.host.clone())
        }
        (Some(_) | None, _) => (ctx.account.0.to_string(), ctx.account.1.to_string()),
    }
}

/// Puts a view into the dictionary, in the place of another. `false`: the dictionary is not any more
/// what it was made for.
pub fn put(
    create: &CreateView,
    view: View,
    replaced: Option<Arc<View>>,
    dictionary: &Dictionary,
    ctx: &mut DdlContext<'_>,
) -> Result<bool, SqlError> {
    let text = logged(create, &view);
    let change = SchemaChange::Views {
        dropped: replaced.into_iter().collect(),
        put: vec![view],
    };
    match ctx.change(dictionary, change, Related::default(), &text) {
        Ok(()) => Ok(true),
        Err(TxnError::TableChanged) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The statement as the log has it: with the account that made the view.
fn logged(create: &CreateView, view: &View) -> String {
    let verb = match create.intent {
        ViewIntent::Create | ViewIntent::CreateIfMissing => "CREATE",
        ViewIntent::Replace => "CREATE OR REPLACE",
        ViewIntent::Alter => "ALTER",
    };
    let named = format!("{}.{}", quoted(&view.database), quoted(&view.name));
    format!("{verb} {}", definition(view, &named, &create.query))
}

/// `ALGORITHM=… VIEW name AS query`
fn definition(view: &View, named: &str, query: &str) -> String {
    let algorithm = match view.algorithm {
        ViewAlgorithm::Undefined => "UNDEFINED",
        ViewAlgorithm::Merge => "MERGE",
        ViewAlgorithm::TempTable => "TEMPTABLE",
    };
    let security = if view.invoker { "INVOKER" } else { "DEFINER" };
    let (user, host) = (quoted(&view.definer.0), quoted(&view.definer.1));
    let columns = match view.columns_given {
        true => {
            let names = view.columns.iter().map(|name| quoted(name));
            format!(" ({})", names.collect::<Vec<_>>().join(","))
        }
        false => String::new(),
    };
    let check = match view.check_option {
        None => "",
        Some(CheckOption::Cascaded) => " WITH CASCADED CHECK OPTION",
        Some(CheckOption::Local) => " WITH LOCAL CHECK OPTION",
    };
    format!(
        "ALGORITHM={algorithm} DEFINER={user}@{host} SQL SECURITY {security} VIEW \
         {named}{columns} AS {query}{check}"
    )
}

/// SHOW CREATE VIEW for a session with this default database.
#[must_use]
pub fn show(view: &View, database: &str) -> String {
    let named = match view.database == database {
        true => quoted(&view.name),
        false => format!("{}.{}", quoted(&view.database), quoted(&view.name)),
    };
    let query = view.query.seen_from(database);
    format!("CREATE {}", definition(view, &named, &query))
}

/// DROP VIEW: all of them, or none.
pub(super) fn drop(
    names: &[TableName],
    if_exists: bool,
    text: &str,
    ctx: &mut DdlContext<'_>,
) -> Outcome {
    let dictionary = ctx.engine.dictionary();
    let mut notes = Vec::new();
    let mut missing = Vec::new();
    let mut dropped: Vec<Arc<View>> = Vec::new();
    for name in names {
        let (database, name) = ctx.resolve(name)?;
        if let Some(view) = dictionary.view(database, name) {
            if dropped.contains(view) {
                return Err(SqlError::not_unique_table(name).into());
            }
            dropped.push(Arc::clone(view));
        } else if dictionary.table(database, name).is_some() {
            let error = SqlError::wrong_object(database, name, "VIEW");
            if !if_exists {
                return Err(error.into());
            }
            notes.push(error);
        } else {
            missing.push(format!("{database}.{name}"));
            notes.push(SqlError::unknown_table(format!("{database}.{name}")));
        }
    }
    if !if_exists && !missing.is_empty() {
        return Err(SqlError::unknown_table(missing.join(",")).into());
    }
    notes.into_iter().for_each(|note| ctx.warnings.note(note));
    if dropped.is_empty() {
        return Ok(Done::default());
    }
    let put = Vec::new();
    let change = SchemaChange::Views { dropped, put };
    ctx.change(&dictionary, change, Related::default(), text)?;
    Ok(Done::default())
}

/// RENAME TABLE of views; `None`: there is none among them.
pub(super) fn rename(
    renames: &[(TableName, TableName)],
    text: &str,
    ctx: &mut DdlContext<'_>,
) -> Result<Option<Done>, Failure> {
    let dictionary = ctx.engine.dictionary();
    let mut views = Vec::new();
    for (from, _) in renames {
        let (database, name) = ctx.resolve(from)?;
        views.extend(dictionary.view(database, name).cloned());
    }
    let (Some(view), [(_, to)]) = (views.first(), renames) else {
        return match views.is_empty() {
            true => Ok(None),
            false => Err(SqlError::not_supported("RENAME TABLE of a view among others").into()),
        };
    };
    let (database, name) = ctx.resolve(to)?;
    tables::check_name(&dictionary, database, name)?;
    if dictionary.has(database, name) {
        return Err(SqlError::table_exists(name).into());
    }
    if view.database != database {
        return Err(SqlError::schema_change_refused(&view.database, database).into());
    }
    let renamed = View {
        name: name.to_string(),
        ..View::clone(view)
    };
    let change = SchemaChange::Views {
        dropped: vec![Arc::clone(view)],
        put: vec![renamed],
    };
    ctx.change(&dictionary, change, Related::default(), text)?;
    Ok(Some(Done::default()))
}
