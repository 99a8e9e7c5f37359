//! Prepared statements, of the protocol and of PREPARE.

use super::{Compiled, Session, Statement, masked::shown_text, without_end};
use crate::{
    command::PrepareSource,
    error::SqlError,
    lexer::Lexer,
    output::{ColumnMeta, Output},
    status::Counter,
};
use cohort_engine::types::Value;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A prepared statement, as the protocol describes it to the client.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Its number in this session.
    pub id: u32,
    /// How many `?` it has.
    pub parameters: u16,
    /// The columns of its result; empty if it has none.
    pub columns: Arc<[ColumnMeta]>,
}

/// The prepared statements of a session.
#[derive(Default)]
pub(super) struct Statements {
    by_id: FxHashMap<u32, Arc<Statement>>,
    by_name: FxHashMap<String, Arc<Statement>>,
    last_id: u32,
}

impl Statements {
    /// How many there are.
    pub fn len(&self) -> u64 {
        (self.by_id.len() + self.by_name.len()) as u64
    }
}

impl Session {
    /// COM_STMT_PREPARE.
    pub fn prepare(&mut self, sql: &[u8]) -> Result<Prepared, SqlError> {
        self.begin_statement("Prepare", None);
        self.log_text("Prepare", sql);
        self.clear_warnings();
        let result = match self.state.must_change_password {
            true => Err(SqlError::must_change_password()),
            false => self.prepare_statement(sql),
        };
        self.state.counters().count(Counter::ComStmtPrepare);
        let result = self.end_statement(result);
        let text = match &result {
            Ok(_) => Arc::from(""),
            Err(_) => shown_text(sql, self.state.settings().lexer),
        };
        let statement = self.audit_refusal("prepare", &text, result)?;
        let prepared = Prepared {
            id: self.statements.last_id.wrapping_add(1),
            parameters: statement.parameters,
            columns: self.columns_of(&statement),
        };
        self.statements.last_id = prepared.id;
        self.statements
            .by_id
            .insert(prepared.id, Arc::new(statement));
        Ok(prepared)
    }

    /// Compiles a statement and counts it among the prepared ones.
    fn prepare_statement(&mut self, sql: &[u8]) -> Result<Statement, SqlError> {
        let (sql, more) = self.split(without_end(sql));
        if let Some(more) = more {
            return Err(SqlError::syntax_at(more, 0));
        }
        let database = Arc::clone(&self.state.database);
        let mode = self.state.settings().lexer;
        if Lexer::new(sql, mode).next_token().is_word(sql, "LOAD")
            && self.compile_text(sql, &database, |parsed, _| Ok(parsed.load.is_some()))?
        {
            return Err(SqlError::unsupported_prepared());
        }
        let statement = self.compile(sql)?;
        if let Compiled::Command(command) = &statement.what
            && !command.facts().preparable
        {
            return Err(SqlError::unsupported_prepared());
        }
        self.state.instance.statement_prepared()?;
        Ok(statement)
    }

    /// COM_STMT_EXECUTE, its parameters decoded by the caller.
    pub fn execute(
        &mut self,
        id: u32,
        parameters: &[Value],
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        let Some(statement) = self.statements.by_id.get(&id).cloned() else {
            return Err(SqlError::unknown_statement(id, "mysqld_stmt_execute"));
        };
        if parameters.len() != usize::from(statement.parameters) {
            return Err(SqlError::wrong_arguments("mysqld_stmt_execute"));
        }
        self.more = false;
        self.begin_statement("Execute", Some(&statement.text));
        self.log_execution(&statement, parameters);
        self.state.counters().count(Counter::ComStmtExecute);
        let text = Arc::clone(&statement.text);
        let result = self.with_hints(text.as_bytes(), |session| {
            session.run(&statement, parameters, out)
        });
        self.end_statement(result)
    }

    /// COM_STMT_CLOSE; an unknown id is ignored.
    pub fn close(&mut self, id: u32) {
        if self.statements.by_id.remove(&id).is_some() {
            self.log_command("Close stmt", "");
            self.state.counters().count(Counter::ComStmtClose);
            self.state.instance.statements_closed(1);
        }
    }

    /// Forgets all prepared statements.
    pub(super) fn close_all(&mut self) {
        let statements = std::mem::take(&mut self.statements);
        self.state.instance.statements_closed(statements.len());
    }

    /// PREPARE.
    pub(super) fn prepare_named(
        &mut self,
        name: &str,
        source: &PrepareSource,
    ) -> Result<(), SqlError> {
        self.remove_named(name);
        let text = match source {
            PrepareSource::Text(text) => text.clone().into_bytes(),
            PrepareSource::Variable(variable) => match self.state.user_variable(variable) {
                Value::Bytes(text) => text,
                Value::Null => b"NULL".to_vec(),
                Value::Int(n) => n.to_string().into_bytes(),
                Value::UInt(n) => n.to_string().into_bytes(),
                _ => return Err(SqlError::syntax("", 1)),
            },
        };
        self.log_text("Prepare", &text);
        let statement = self.prepare_statement(&text)?;
        self.statements
            .by_name
            .insert(name.to_lowercase(), Arc::new(statement));
        Ok(())
    }

    /// EXECUTE … USING.
    pub(super) fn execute_named(
        &mut self,
        name: &str,
        parameters: &[String],
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        let Some(statement) = self.statements.by_name.get(&name.to_lowercase()).cloned() else {
            return Err(SqlError::unknown_statement(name, "EXECUTE"));
        };
        if parameters.len() != usize::from(statement.parameters) {
            return Err(SqlError::wrong_arguments("EXECUTE"));
        }
        let values: Vec<Value> = parameters
            .iter()
            .map(|name| self.state.user_variable(name))
            .collect();
        self.log_execution(&statement, &values);
        let text = Arc::clone(&statement.text);
        self.with_hints(text.as_bytes(), |session| {
            session.run(&statement, &values, out)
        })
    }

    /// The logs get what is executed, with its values.
    fn log_execution(&mut self, statement: &Statement, values: &[Value]) {
        match statement.what {
            Compiled::Query(_) => self.measure_values(&statement.text, values),
            // A value could be a password.
            Compiled::Command(_) | Compiled::Schema(_) | Compiled::Creation(_) => {
                self.measure_values(&statement.text, &[]);
            }
        }
        let text = self.measured_text().unwrap_or(&statement.text);
        self.log_command("Execute", text);
    }

    /// DEALLOCATE PREPARE.
    pub(super) fn deallocate(&mut self, name: &str) -> Result<(), SqlError> {
        if self.remove_named(name) {
            return Ok(());
        }
        Err(SqlError::unknown_statement(name, "DEALLOCATE PREPARE"))
    }

    fn remove_named(&mut self, name: &str) -> bool {
        let removed = self
            .statements
            .by_name
            .remove(&name.to_lowercase())
            .is_some();
        if removed {
            self.state.instance.statements_closed(1);
        }
        removed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Done;
    use cohort_engine::{
        env::fake::Disk,
        txn::{Engine, EngineOptions},
        types::ColumnType,
    };
    use std::path::Path;

    fn session() -> Session {
        let (env, options) = (Disk::new(1).env(), EngineOptions::default());
        let engine = Engine::open(&env, Path::new("/data"), options, &mut |_| ());
        Session::alone(engine.expect("a new database")).expect("a session")
    }

    /// The types of the last result, and its last row.
    #[derive(Default)]
    struct Last {
        types: Vec<Option<ColumnType>>,
        row: Vec<Value>,
    }

    impl Output for Last {
        fn columns(&mut self, columns: &[ColumnMeta]) -> std::io::Result<()> {
            self.types = columns.iter().map(|column| column.ty).collect();
            Ok(())
        }
        fn row(&mut self, row: &[Value]) -> std::io::Result<()> {
            self.row = row.to_vec();
            Ok(())
        }
        fn end(&mut self, _: &Done) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn results_are_described_as_they_are_sent() {
        let mut session = session();
        let text = |text: &str| Value::Bytes(text.as_bytes().to_vec());
        let prepared = session
            .prepare(b"SELECT COALESCE(?, ?), ? + 1, GREATEST(?, 2)")
            .expect("a statement");
        // Nothing is known yet: a column that can have a value is not announced as NULL.
        assert!(prepared.columns.iter().all(|column| column.ty.is_some()));
        let mut last = Last::default();
        let mut execute = |values: [Value; 4]| {
            let done = session.execute(prepared.id, &values, &mut last);
            done.expect("a result");
            for (ty, value) in last.types.iter().zip(&last.row) {
                let described = match value {
                    Value::Bytes(_) => ty.is_some_and(ColumnType::is_string),
                    Value::Int(_) => *ty == Some(ColumnType::BigInt),
                    Value::Double(_) => *ty == Some(ColumnType::Double),
                    Value::Decimal(_) => matches!(ty, Some(ColumnType::Decimal { scale: 30, .. })),
                    Value::Null => ty.is_some(),
                    other => panic!("{other:?}"),
                };
                assert!(described, "{ty:?} {value:?}");
            }
            last.row.clone()
        };
        let decimal = |digits: &str| Value::Decimal(digits.parse().expect("a number"));
        let (int, null, double) = (Value::Int, Value::Null, Value::Double);
        assert_eq!(
            execute([text("x"), text("y"), int(1), int(1)]),
            [text("x"), int(2), int(2)]
        );
        assert_eq!(
            execute([int(7), null.clone(), int(1 << 60), double(2.5)]),
            [int(7), int((1 << 60) + 1), double(2.5)]
        );
        // NULL leaves the types as they are.
        assert_eq!(
            execute([null.clone(), int(8), null.clone(), null.clone()]),
            [int(8), null.clone(), null.clone()]
        );
        assert_eq!(
            execute([null.clone(), null.clone(), text("1.5"), int(3)]),
            [null, decimal("2.500000000000000000000000000000"), int(3)]
        );
        // A text is the number that it holds, whatever is computed with it, and no less exactly.
        assert_eq!(
            execute([text("x"), text("y"), text("9007199254740993"), text("0.1")]),
            [
                text("x"),
                decimal("9007199254740994.000000000000000000000000000000"),
                decimal("2.000000000000000000000000000000")
            ]
        );
    }

    #[test]
    fn what_a_list_loses_is_told_by_every_execution() {
        let mut session = session();
        let mut last = Last::default();
        for sql in [
            "CREATE DATABASE d",
            "CREATE TABLE d.t (i INT)",
            "INSERT INTO d.t VALUES (3)",
        ] {
            let done = session.query(sql.as_bytes(), false, &mut last);
            done.expect(sql);
        }
        let sql = "UPDATE d.t SET i = i WHERE \
                   i IN ('3abc', 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)";
        let prepared = session.prepare(sql.as_bytes()).expect("a statement");
        for _ in 0..3 {
            let refused = session.execute(prepared.id, &[], &mut last).err();
            assert_eq!(refused.map(|error| error.code), Some(1292));
        }
    }

    #[test]
    fn what_is_no_number_is_not_stored_and_equals_none() {
        let mut session = session();
        let mut last = Last::default();
        for sql in [
            "CREATE DATABASE d",
            "CREATE TABLE d.t (i INT, x DOUBLE, s TEXT)",
            "INSERT INTO d.t (i, x) VALUES (3, 1), (4, 2)",
        ] {
            let done = session.query(sql.as_bytes(), false, &mut last);
            done.expect(sql);
        }
        let insert = session.prepare(b"INSERT INTO d.t (x) VALUES (?)");
        let insert = insert.expect("a statement").id;
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let refused = session.execute(insert, &[Value::Double(value)], &mut last);
            assert_eq!(refused.err().map(|error| error.code), Some(1264));
        }
        let insert = session.prepare(b"INSERT INTO d.t (s) VALUES (?)");
        let insert = insert.expect("a statement").id;
        let refused = session.execute(insert, &[Value::Double(f64::NAN)], &mut last);
        assert_eq!(refused.err().map(|error| error.code), Some(1406));
        let select = session.prepare(b"SELECT i FROM d.t WHERE i = ? OR x = ?");
        let values = [Value::Double(f64::NAN), Value::Double(f64::NAN)];
        last.row.clear();
        let done = session.execute(select.expect("a statement").id, &values, &mut last);
        done.expect("no rows");
        assert!(last.row.is_empty());
        // It has its place in an order, so that a sort comes to an end.
        let sorted = session.prepare(b"SELECT i FROM d.t ORDER BY IF(i = 3, ?, x)");
        let sorted = sorted.expect("a statement").id;
        let done = session.execute(sorted, &[Value::Double(f64::NAN)], &mut last);
        done.expect("rows");
        assert_eq!(last.row, [Value::Int(3)]);
    }

    #[test]
    fn more_placeholders_than_the_protocol_can_number_are_refused() {
        let mut session = session();
        let mut prepare = |count: usize| {
            let values = vec!["?"; count].join(",");
            let sql = format!("SELECT 1 FROM DUAL WHERE 1 IN ({values})");
            session
                .prepare(sql.as_bytes())
                .map(|prepared| prepared.parameters)
        };
        assert_eq!(prepare(65_535).expect("as many as there may be"), 65_535);
        let refused = prepare(65_536).err().map(|error| error.code);
        assert_eq!(refused, Some(1390));
    }
}
