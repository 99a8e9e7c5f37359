//! EXPLAIN FORMAT=JSON: the same steps as documents, in version 2 of MySQL's form.

use super::{step::Step, tree::Measured};
use serde_json::{Map, Value as Json, json};

/// The document of a statement: its text, of which kind it is, and its steps.
#[must_use]
pub fn document(query: &str, kind: &str, step: &Step, measured: Option<Measured<'_>>) -> String {
    let whole = json!({
        "query": query,
        "query_plan": plan(step, measured),
        "query_type": kind,
        "json_schema_version": "2.0",
    });
    format!("{whole:#}")
}

fn plan(step: &Step, measured: Option<Measured<'_>>) -> Json {
    let mut all = Map::new();
    let of = |steps: &[Step]| steps.iter().map(|step| plan(step, measured)).collect();
    if !step.inputs.is_empty() {
        all.insert("inputs".to_owned(), Json::Array(of(&step.inputs)));
    }
    if let Some(heading) = &step.heading {
        all.insert("heading".to_owned(), heading.as_str().into());
    }
    all.extend(step.facts.clone());
    all.insert("operation".to_owned(), step.operation.as_str().into());
    all.insert("access_type".to_owned(), step.kind.into());
    if let Some(rows) = step.rows {
        all.insert("estimated_rows".to_owned(), rows.into());
    }
    if let (Some(measured), Some(point)) = (measured, step.point) {
        let figures = measured(point).unwrap_or_default();
        let loops = figures.loops.max(1) as f64;
        let mut put = |name: &str, value: Json| all.insert(name.to_owned(), value);
        put("actual_rows", (figures.rows as f64 / loops).into());
        put("actual_loops", figures.loops.into());
        put("actual_first_row_ms", (figures.first / loops * 1e3).into());
        put("actual_last_row_ms", (figures.last / loops * 1e3).into());
    }
    if !step.beside.is_empty() {
        let name = "inputs_from_select_list".to_owned();
        all.insert(name, Json::Array(of(&step.beside)));
    }
    Json::Object(all)
}
