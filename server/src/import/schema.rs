//! What the source has: databases, tables with their columns and keys, views, and all else.

use super::{
    servers::{Flavor, Session},
    text::{full_name, name, string, without_quoted},
};
use cohort_mysql::client::Row;
use std::collections::BTreeMap;

/// ER_NO_SUCH_TABLE.
const NO_SUCH_TABLE: u16 = 1146;

/// The character sets whose texts travel as bytes.
const ENCODINGS: [&str; 36] = [
    "armscii8", "big5", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866", "cp932",
    "dec8", "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "geostd8", "greek", "hebrew", "hp8",
    "keybcs2", "koi8r", "koi8u", "latin2", "latin5", "latin7", "macce", "macroman", "sjis", "swe7",
    "tis620", "ucs2", "ujis", "utf16", "utf16le", "utf32",
];

/// How the values of a column are read and written.
///
/// The source sends texts. A form says which expression is read, so that the text is the exact
/// value, and how that text is written as a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Integers and DECIMAL: the digits.
    Number,
    /// FLOAT: as DOUBLE, for a FLOAT is shown with six digits only.
    Float,
    /// DOUBLE: in apostrophes, for -0 is another number than 0 then.
    Double,
    /// Dates and times: in apostrophes.
    Time,
    /// Character strings of Unicode, and of character sets whose every byte is a letter of Unicode.
    Text,
    /// Those of another character set, which this names: as their bytes. Some have letters that Unicode
    /// does not have, or several that are one there.
    Encoded(&'static str),
    /// Byte strings: as X'…'.
    Bytes,
    /// BIT, ENUM and SET: the number behind, which is exact where the text is not.
    Code,
    /// MySQL's JSON, as its text.
    Json,
}

impl Form {
    /// Of a type and a character set, by their names in information_schema; `None`: a type that is not
    /// known.
    fn of(data_type: &str, character_set: &str) -> Option<Form> {
        Some(match data_type {
            "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "decimal" | "year" => {
                Form::Number
            }
            "float" => Form::Float,
            "double" => Form::Double,
            "date" | "time" | "datetime" | "timestamp" => Form::Time,
            "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" => {
                match character_set {
                    "utf8mb4" | "utf8mb3" | "utf8" | "ascii" | "latin1" => Form::Text,
                    other => Form::Encoded(ENCODINGS.iter().find(|name| **name == other)?),
                }
            }
            "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => Form::Bytes,
            "bit" | "enum" | "set" => Form::Code,
            "json" => Form::Json,
            _ => return None,
        })
    }

    /// How values are written as such: bytes become what the column's character set says.
    pub fn written(self) -> Form {
        match self {
            Form::Encoded(_) => Form::Bytes,
            other => other,
        }
    }

    /// Whether `WHERE` finds ranges of the values' literals in the order of `ORDER BY`. (ENUM is
    /// ordered by number and compared by text, a FLOAT equals no literal.)
    fn is_ordered(self) -> bool {
        match self {
            Form::Number | Form::Time | Form::Text | Form::Encoded(_) | Form::Bytes => true,
            Form::Float | Form::Double | Form::Code | Form::Json => false,
        }
    }
}

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// How its values are read and written.
    pub form: Form,
    /// Its type with its character set, as all servers write it.
    pub kind: String,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// Whether it is computed: it is compared and not written.
    pub generated: bool,
}

impl Column {
    /// The expression that is read.
    pub fn expression(&self) -> String {
        let name = name(&self.name);
        match self.form {
            Form::Number | Form::Double | Form::Time | Form::Text | Form::Bytes => name,
            Form::Encoded(_) => format!("CAST({name} AS BINARY)"),
            Form::Json => format!("CAST({name} AS CHAR)"),
            Form::Float => format!("CAST({name} AS DOUBLE)"),
            Form::Code => format!("CAST({name} AS UNSIGNED)"),
        }
    }
}

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    /// The database.
    pub database: String,
    /// Its name.
    pub name: String,
    /// `SHOW CREATE TABLE`.
    pub create: String,
    /// The engine that keeps it.
    pub engine: String,
    /// All columns, in their order.
    pub columns: Vec<Column>,
    /// The columns of the primary key, or of another unique one without NULL, by their place in
    /// `columns`; empty: it has none that ranges can be made of.
    pub key: Vec<usize>,
    /// How large the source believes it is, in bytes.
    pub bytes: u64,
    /// How many rows the source believes it has.
    pub rows: u64,
    /// Columns of types that are not known here.
    pub unknown: Vec<String>,
}

impl Table {
    /// Whether it has texts that travel as bytes.
    pub fn is_encoded(&self) -> bool {
        let mut columns = self.columns.iter();
        columns.any(|column| matches!(column.form, Form::Encoded(_)))
    }

    /// For people and statements.
    pub fn full_name(&self) -> String {
        full_name(&self.database, &self.name)
    }
}

/// A view.
#[derive(Clone, Debug)]
pub struct View {
    /// The database.
    pub database: String,
    /// Its name.
    pub name: String,
    /// `SHOW CREATE VIEW`, with the names of its own database left out.
    pub create: String,
    /// The collation of the strings in it.
    pub collation: String,
}

impl View {
    /// For people and statements.
    pub fn full_name(&self) -> String {
        full_name(&self.database, &self.name)
    }
}

/// What is of a kind that Cohort may not have.
#[derive(Clone, Debug)]
pub struct Program {
    /// TRIGGER, PROCEDURE, FUNCTION, EVENT.
    pub kind: String,
    /// The database.
    pub database: String,
    /// Its name.
    pub name: String,
}

impl Program {
    /// Its definition.
    pub fn create(&self, source: &mut Session) -> Result<Option<String>, String> {
        let full = full_name(&self.database, &self.name);
        let rows = source.query(&format!("SHOW CREATE {} {full}", self.kind))?;
        let text = rows
            .into_iter()
            .next()
            .unwrap_or_default()
            .into_iter()
            .flatten();
        Ok(text.into_iter().find(|text| text.starts_with("CREATE ")))
    }
}

/// A database.
#[derive(Clone, Debug)]
pub struct Database {
    /// Its name.
    pub name: String,
    /// CREATE DATABASE.
    pub create: String,
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// The databases that are to come over.
    pub databases: Vec<Database>,
    /// Their tables.
    pub tables: Vec<Table>,
    /// Their views.
    pub views: Vec<View>,
    /// Triggers, routines and events.
    pub programs: Vec<Program>,
    /// Tables that are no ordinary ones, with what they are.
    pub others: Vec<(String, String)>,
}

/// The databases that belong to a server.
pub fn is_own(database: &str, flavor: Flavor) -> bool {
    matches!(
        database,
        "mysql" | "sys" | "performance_schema" | "information_schema"
    ) || flavor == Flavor::Cohort && database == "cohort"
}

fn field(row: &mut [Option<String>], at: usize) -> String {
    row.get_mut(at).and_then(Option::take).unwrap_or_default()
}

impl Schema {
    /// The databases of a source that are not its own.
    pub fn databases(source: &mut Session, flavor: Flavor) -> Result<Vec<String>, String> {
        let rows =
            source.query("SELECT schema_name FROM information_schema.schemata ORDER BY 1")?;
        let names = rows.into_iter().map(|mut row| field(&mut row, 0));
        Ok(names.filter(|name| !is_own(name, flavor)).collect())
    }

    /// Reads what these databases have.
    pub fn read(source: &mut Session, databases: &[String]) -> Result<Schema, String> {
        let mut schema = Schema::default();
        for database in databases {
            schema.databases.push(read_database(source, database)?);
            read_tables(source, database, &mut schema)?;
            read_programs(source, database, &mut schema)?;
        }
        Ok(schema)
    }

    /// Reads the definitions again; the name of a table that has another one now.
    pub fn changed(&self, source: &mut Session) -> Result<Option<String>, String> {
        let names: Vec<_> = self.databases.iter().map(|d| string(&d.name)).collect();
        let sql = format!(
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema IN ({}) \
             AND table_type IN ('BASE TABLE', 'VIEW')",
            names.join(", ")
        );
        let count = source.value(&sql)?.unwrap_or_default();
        if count != (self.tables.len() + self.views.len()).to_string() {
            return Ok(Some("the number of tables".into()));
        }
        Ok(self.changed_tables(source)?.into_iter().next())
    }

    /// The names of the tables that have other definitions now.
    pub fn changed_tables(&self, source: &mut Session) -> Result<Vec<String>, String> {
        let mut changed = Vec::new();
        for table in &self.tables {
            let full = table.full_name();
            let now = match source.attempt(&format!("SHOW CREATE TABLE {full}"))? {
                Ok(rows) => definition(rows),
                Err(error) if error.code == NO_SUCH_TABLE => None,
                Err(error) => return Err(source.refused(&error)),
            };
            let is_same = |now: String| without_counter(&now) == without_counter(&table.create);
            if !now.is_some_and(is_same) {
                changed.push(full);
            }
        }
        Ok(changed)
    }
}

/// A definition without the next AUTO_INCREMENT value, which moves all the time.
fn without_counter(create: &str) -> String {
    const WORD: &str = " AUTO_INCREMENT=";
    let Some(at) = without_quoted(create).rfind(WORD) else {
        return create.to_owned();
    };
    let rest = create[at + WORD.len()..].trim_start_matches(|c: char| c.is_ascii_digit());
    format!("{}{rest}", &create[..at])
}

fn read_database(source: &mut Session, database: &str) -> Result<Database, String> {
    let sql = format!(
        "SELECT default_character_set_name, default_collation_name \
         FROM information_schema.schemata WHERE schema_name = {}",
        string(database)
    );
    let mut rows = source.query(&sql)?;
    let row = rows
        .first_mut()
        .ok_or_else(|| format!("the source has no database {database}"))?;
    let create = format!(
        "CREATE DATABASE {} DEFAULT CHARACTER SET {} COLLATE {}",
        name(database),
        field(row, 0),
        field(row, 1)
    );
    Ok(Database {
        name: database.to_owned(),
        create,
    })
}

/// What SHOW CREATE TABLE says.
fn definition(rows: Vec<Row>) -> Option<String> {
    rows.into_iter().next()?.get_mut(1)?.take()
}

fn create_table(source: &mut Session, database: &str, table: &str) -> Result<String, String> {
    let rows = source.query(&format!("SHOW CREATE TABLE {}", full_name(database, table)))?;
    definition(rows).ok_or_else(|| format!("no definition of {}", full_name(database, table)))
}

fn read_tables(source: &mut Session, database: &str, schema: &mut Schema) -> Result<(), String> {
    let mut columns = read_columns(source, database)?;
    let keys = read_keys(source, database)?;
    let sql = format!(
        "SELECT table_name, table_type, engine, data_length, table_rows \
         FROM information_schema.tables WHERE table_schema = {} ORDER BY table_name",
        string(database)
    );
    // Views are shown without the name of this database only if it is the current one.
    source.execute(&format!("USE {}", name(database)))?;
    for mut row in source.query(&sql)? {
        let table = field(&mut row, 0);
        match field(&mut row, 1).as_str() {
            "BASE TABLE" => {
                let (columns, unknown) = columns.remove(&table).unwrap_or_default();
                let key = keys.get(&table).and_then(|keys| usable_key(keys, &columns));
                schema.tables.push(Table {
                    database: database.to_owned(),
                    create: create_table(source, database, &table)?,
                    engine: field(&mut row, 2),
                    columns,
                    key: key.unwrap_or_default(),
                    bytes: field(&mut row, 3).parse().unwrap_or(0),
                    rows: field(&mut row, 4).parse().unwrap_or(0),
                    unknown,
                    name: table,
                });
            }
            "VIEW" => {
                let rows = source.query(&format!("SHOW CREATE VIEW {}", name(&table)))?;
                let mut row = rows.into_iter().next().unwrap_or_default();
                schema.views.push(View {
                    database: database.to_owned(),
                    create: field(&mut row, 1),
                    collation: field(&mut row, 3),
                    name: table,
                });
            }
            other => schema
                .others
                .push((other.to_owned(), full_name(database, &table))),
        }
    }
    Ok(())
}

/// A type without what servers show in several ways: how wide integers are shown, notes, and the older
/// name of a character set.
fn kind(column_type: &str, character_set: &str) -> String {
    let bare = column_type.split(" /*").next().unwrap_or_default();
    let is_integer = |name: &str| name.ends_with("int") || name == "year";
    let kind = match bare.split_once('(') {
        Some((name, rest)) if is_integer(name) => {
            let behind = rest.split_once(')').map_or("", |(_, behind)| behind);
            format!("{name}{behind}")
        }
        _ => bare.to_owned(),
    };
    match character_set {
        "" => kind,
        "utf8" => format!("{kind} of utf8mb3"),
        other => format!("{kind} of {other}"),
    }
}

type Columns = (Vec<Column>, Vec<String>);

fn read_columns(source: &mut Session, database: &str) -> Result<BTreeMap<String, Columns>, String> {
    let sql = format!(
        "SELECT table_name, column_name, data_type, is_nullable, generation_expression, \
         character_set_name, column_type \
         FROM information_schema.columns WHERE table_schema = {} \
         ORDER BY table_name, ordinal_position",
        string(database)
    );
    let mut found: BTreeMap<String, Columns> = BTreeMap::new();
    for mut row in source.query(&sql)? {
        let (columns, unknown) = found.entry(field(&mut row, 0)).or_default();
        let name = field(&mut row, 1);
        let data_type = field(&mut row, 2).to_ascii_lowercase();
        let character_set = field(&mut row, 5);
        let Some(form) = Form::of(&data_type, &character_set) else {
            unknown.push(format!("{name} {data_type} {character_set}"));
            continue;
        };
        columns.push(Column {
            name,
            form,
            kind: kind(&field(&mut row, 6), &character_set),
            nullable: field(&mut row, 3) == "YES",
            generated: !field(&mut row, 4).is_empty(),
        });
    }
    Ok(found)
}

/// The columns of an index, in its order; `None` for one that is only in part in it, may be NULL,
/// or is an expression.
type Keys = BTreeMap<String, Vec<Option<String>>>;

fn read_keys(source: &mut Session, database: &str) -> Result<BTreeMap<String, Keys>, String> {
    let sql = format!(
        "SELECT table_name, index_name, column_name, sub_part, nullable \
         FROM information_schema.statistics WHERE table_schema = {} AND non_unique = 0 \
         ORDER BY table_name, index_name, seq_in_index",
        string(database)
    );
    let mut found: BTreeMap<String, Keys> = BTreeMap::new();
    for mut row in source.query(&sql)? {
        let keys = found.entry(field(&mut row, 0)).or_default();
        let columns = keys.entry(field(&mut row, 1)).or_default();
        let column = row[2].take();
        let is_part = row[3].is_some() || field(&mut row, 4) == "YES";
        columns.push(column.filter(|_| !is_part));
    }
    Ok(found)
}

/// The primary key, else another one, as places of columns.
fn usable_key(keys: &Keys, columns: &[Column]) -> Option<Vec<usize>> {
    let place = |name: &Option<String>| {
        let name = name.as_ref()?;
        let at = columns.iter().position(|column| column.name == *name)?;
        (columns[at].form.is_ordered() && !columns[at].nullable).then_some(at)
    };
    let usable = |key: &Vec<Option<String>>| key.iter().map(place).collect::<Option<Vec<_>>>();
    let primary = keys.get("PRIMARY").and_then(usable);
    primary.or_else(|| keys.values().find_map(usable))
}

fn read_programs(source: &mut Session, database: &str, schema: &mut Schema) -> Result<(), String> {
    let value = string(database);
    let sql = format!(
        "SELECT 'TRIGGER', trigger_name FROM information_schema.triggers WHERE trigger_schema = {value} \
         UNION ALL SELECT routine_type, routine_name FROM information_schema.routines \
         WHERE routine_schema = {value} \
         UNION ALL SELECT 'EVENT', event_name FROM information_schema.events WHERE event_schema = {value}"
    );
    for mut row in source.query(&sql)? {
        schema.programs.push(Program {
            kind: field(&mut row, 0),
            database: database.to_owned(),
            name: field(&mut row, 1),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_is_no_part_of_a_definition() {
        let table =
            |counter| format!("CREATE TABLE `t` (…) ENGINE=InnoDB{counter} DEFAULT CHARSET=x");
        let plain = table(String::new());
        assert_eq!(without_counter(&table(" AUTO_INCREMENT=12".into())), plain);
        assert_eq!(without_counter(&plain), plain);
        let told = table(" COMMENT='no AUTO_INCREMENT=12'".into());
        assert_eq!(without_counter(&told), told);
    }

    #[test]
    fn types_as_all_servers_write_them() {
        assert_eq!(kind("int(10) unsigned", ""), "int unsigned");
        assert_eq!(kind("tinyint(1)", ""), "tinyint");
        assert_eq!(kind("decimal(10,2)", ""), "decimal(10,2)");
        assert_eq!(kind("datetime /* mariadb-5.3 */", ""), "datetime");
        assert_eq!(kind("varchar(9)", "utf8"), "varchar(9) of utf8mb3");
    }

    #[test]
    fn keys_that_ranges_can_be_made_of() {
        let column = |name: &str, form, nullable| Column {
            name: name.into(),
            form,
            kind: String::new(),
            nullable,
            generated: false,
        };
        let columns = [
            column("a", Form::Number, false),
            column("e", Form::Code, false),
            column("n", Form::Text, true),
            column("t", Form::Text, false),
        ];
        let key = |names: &[&str]| names.iter().map(|name| Some((*name).to_owned())).collect();
        let keys = |all: &[(&str, &[&str])]| {
            all.iter()
                .map(|(name, of)| ((*name).to_owned(), key(of)))
                .collect::<Keys>()
        };
        let both = keys(&[("PRIMARY", &["t", "a"]), ("a", &["a"])]);
        assert_eq!(usable_key(&both, &columns), Some(vec![3, 0]));
        // The order of an ENUM is not that of its texts; a column that may be NULL is not unique.
        let other = keys(&[("PRIMARY", &["e"]), ("n", &["n"]), ("u", &["a"])]);
        assert_eq!(usable_key(&other, &columns), Some(vec![0]));
        assert_eq!(usable_key(&keys(&[("PRIMARY", &["e"])]), &columns), None);
    }
}
