//! What is measured: which statements, by how many clients, and what Cohort is to reach.

use super::tables::Extra;
use crate::lab::workload::{
    DELETE, INSERT, POINT_SELECT, READ_ONLY, READ_WRITE,
    Statement::{Begin, Commit, FindMember, HotUpdate, InsertRelated, ScanDocuments, TypedSelect},
    UPDATE_INDEX, UPDATE_NON_INDEX, WRITE_ONLY, Workload,
};

/// One line of the table.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Its name, as on the command line.
    pub name: &'static str,
    pub workload: &'static Workload,
    pub clients: usize,
    /// Whether statements are sent as text; else they are prepared.
    pub is_text: bool,
    /// What Cohort is to reach, as a multiple of the better of the other servers.
    pub least: f64,
    /// The tables that it needs besides sbtest1.
    pub extra: Option<Extra>,
    /// Whether the null server's answers are as long as a server's.
    pub has_limit: bool,
    /// Whether it changes rows.
    pub writes: bool,
}

impl Case {
    const fn reads(name: &'static str, workload: &'static Workload, clients: usize) -> Case {
        Case {
            name,
            workload,
            clients,
            is_text: false,
            least: 1.0,
            extra: None,
            has_limit: true,
            writes: false,
        }
    }

    const fn writes(name: &'static str, workload: &'static Workload, clients: usize) -> Case {
        Case {
            writes: true,
            ..Case::reads(name, workload, clients)
        }
    }

    const fn least(self, least: f64) -> Case {
        Case { least, ..self }
    }

    const fn as_text(self) -> Case {
        Case {
            is_text: true,
            ..self
        }
    }

    const fn with(self, extra: Extra) -> Case {
        Case {
            extra: Some(extra),
            ..self
        }
    }

    const fn without_limit(self) -> Case {
        Case {
            has_limit: false,
            ..self
        }
    }

    /// The case of a name.
    pub fn named(name: &str) -> Result<&'static Case, String> {
        let found = CASES.iter().find(|case| case.name == name);
        found.ok_or_else(|| {
            let names: Vec<_> = CASES.iter().map(|case| case.name).collect();
            format!("no such workload: there are {}", names.join(", "))
        })
    }
}

static TYPED: Workload = Workload {
    name: "point_select_types",
    statements: &[TypedSelect],
};
static HOT: Workload = Workload {
    name: "hot_row",
    statements: &[HotUpdate],
};
static HOT_TRX: Workload = Workload {
    name: "hot_row_trx",
    statements: &[Begin, HotUpdate, Commit],
};
static RELATED: Workload = Workload {
    name: "insert_related",
    statements: &[InsertRelated],
};
static DOCUMENTS: Workload = Workload {
    name: "json_scan",
    statements: &[ScanDocuments],
};
static MEMBERS: Workload = Workload {
    name: "json_member",
    statements: &[FindMember],
};

/// All of them. What takes rows away is the last one.
pub static CASES: [Case; 21] = [
    Case::reads("point_select_64", &POINT_SELECT, 64).least(1.5),
    Case::reads("point_select_text_64", &POINT_SELECT, 64)
        .least(2.0)
        .as_text(),
    Case::reads("point_select_types_64", &TYPED, 64).least(1.4),
    Case::reads("point_select_3", &POINT_SELECT, 3).least(1.4),
    Case::reads("point_select_text_3", &POINT_SELECT, 3)
        .least(1.4)
        .as_text(),
    Case::reads("read_only_64", &READ_ONLY, 64)
        .least(1.5)
        .without_limit(),
    Case::writes("read_write_64", &READ_WRITE, 64)
        .least(2.5)
        .without_limit(),
    Case::writes("write_only_64", &WRITE_ONLY, 64).least(3.0),
    Case::writes("insert_1", &INSERT, 1).least(1.7),
    Case::writes("insert_16", &INSERT, 16).least(4.0),
    Case::writes("insert_64", &INSERT, 64).least(4.0),
    Case::writes("insert_256", &INSERT, 256).least(4.0),
    Case::writes("update_non_index_64", &UPDATE_NON_INDEX, 64).least(3.5),
    Case::writes("update_index_64", &UPDATE_INDEX, 64).least(3.5),
    Case::writes("hot_row_64", &HOT, 64).least(8.0),
    Case::writes("hot_row_trx_64", &HOT_TRX, 64).least(5.0),
    Case::writes("insert_related_16", &RELATED, 16)
        .least(2.0)
        .with(Extra::Family),
    Case::reads("json_scan_2", &DOCUMENTS, 2)
        .least(2.0)
        .as_text()
        .with(Extra::Documents)
        .without_limit(),
    Case::reads("json_member_2", &MEMBERS, 2)
        .least(2.0)
        .as_text()
        .with(Extra::Members)
        .without_limit(),
    Case::reads("json_member_16", &MEMBERS, 16)
        .least(2.0)
        .as_text()
        .with(Extra::Members)
        .without_limit(),
    Case::writes("delete_64", &DELETE, 64).least(3.5),
];
