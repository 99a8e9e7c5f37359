//! What rows are made of: values, column types, collations, table definitions, and the two byte
//! encodings of a row (the binlog row image, which is also how rows are stored, and ordered keys).

mod age;
pub mod collation;
pub mod decimal;
pub mod fulltext;
pub mod gtid;
pub mod id;
pub mod json;
pub mod key;
pub mod member;
mod quoted;
pub mod row;
pub mod schema;
pub mod temporal;
pub mod value;
pub mod view;
pub mod xid;

pub use collation::{Charset, Collation};
pub use gtid::{Gtid, GtidSet, GtidSetFlaw, ServerUuid};
pub use id::{FIRST_TEMPORARY, IdMap, is_temporary};
pub use json::Json;
pub use member::Members;
pub use quoted::quoted;
pub use schema::{
    Check, Column, ColumnType, ForeignKey, FullText, Generated, Index, IndexPart,
    ReferentialAction, Table, TableId, TreeId,
};
pub use temporal::{Date, DateTime, Time};
pub use value::{Decimal, Member, Value};
pub use view::{CheckOption, View, ViewAlgorithm, ViewQuery};
pub use xid::Xid;
