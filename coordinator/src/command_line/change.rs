//! Changes. What a filter finds is listed first and sent back: so what was confirmed is what is
//! changed, and what changes by itself meanwhile is refused.

use super::{Change, How, Link, grouped, items, plain, text};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fmt::Write,
    io::{IsTerminal, stdin},
};

/// Changes one transaction.
pub(super) fn of_one(link: &Link, name: &str, mut fields: Value, how: &How) -> Result<(), String> {
    fields["reason"] = json!(how.why);
    fields["dry_run"] = how.dry_run.into();
    let told = if how.dry_run { found } else { changed };
    link.print(&link.ask(name, fields)?, told);
    Ok(())
}

/// Changes one transaction, or all that a filter finds.
pub(super) fn of_some(link: &Link, name: &str, change: &Change) -> Result<(), String> {
    let mut fields = change.which.json();
    if let Some(gid) = &change.gid {
        fields["gid"] = json!(gid);
        return of_one(link, name, fields, &change.how);
    }
    fields["dry_run"] = true.into();
    let preview = link.ask(name, fields)?;
    let meant = items(&preview, "transactions");
    if change.how.dry_run || meant.is_empty() {
        link.print(&preview, found);
        return Ok(());
    }
    if meant.len() > 1 && !change.yes {
        confirm(name, &preview)?;
    }
    let fields = json!({ "transactions": meant, "reason": change.how.why });
    link.print(&link.ask(name, fields)?, changed);
    Ok(())
}

/// Asks whether that is what is wanted; an error if it is not, or if there is nobody to ask.
fn confirm(name: &str, preview: &Value) -> Result<(), String> {
    let summary = summary(preview);
    if !stdin().is_terminal() {
        return Err(format!(
            "{name} would change {summary}: --yes does that, --dry-run lists them"
        ));
    }
    eprint!("{name} {summary}? [y/N] ");
    let mut answer = String::new();
    stdin()
        .read_line(&mut answer)
        .map_err(|error| error.to_string())?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err("nothing was changed".into()),
    }
}

/// How many of which kind.
fn summary(preview: &Value) -> String {
    let meant = items(preview, "transactions");
    if meant.is_empty() {
        return "none".to_owned();
    }
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    for one in meant {
        let kind = format!("{} {}", text(one, "trans_type"), text(one, "status"));
        *kinds.entry(kind).or_default() += 1;
    }
    let kinds = kinds
        .iter()
        .map(|(kind, count)| format!("{} {kind}", grouped(*count)));
    let kinds = kinds.collect::<Vec<_>>().join(", ");
    let mut out = format!("{} transactions ({kinds})", grouped(meant.len() as u64));
    let refused = items(preview, "refused").len() as u64;
    if refused > 0 {
        let _ = write!(out, ", and not {} others that refuse", grouped(refused));
    }
    let looked_at = meant.len() as u64 + refused;
    let found = preview["found"].as_u64().unwrap_or(0);
    if found > looked_at || preview["has_more"] == true {
        let more = if preview["has_more"] == true {
            "more than "
        } else {
            ""
        };
        let (looked_at, found) = (grouped(looked_at), grouped(found));
        let _ = write!(
            out,
            ": the first {looked_at} of {more}{found} found (--limit)"
        );
    }
    out
}

/// What would be changed.
fn found(preview: &Value) -> String {
    let mut out = String::new();
    for one in items(preview, "transactions") {
        let (gid, kind, status) = (
            text(one, "gid"),
            text(one, "trans_type"),
            text(one, "status"),
        );
        let _ = writeln!(out, "would    {}  {kind} {status}", plain(gid));
    }
    refused(&mut out, preview);
    let _ = writeln!(out, "nothing was changed; it would be {}", summary(preview));
    out
}

fn refused(out: &mut String, answer: &Value) {
    for refused in items(answer, "refused") {
        let (gid, why) = (text(refused, "gid"), text(refused, "why"));
        let _ = writeln!(out, "refused  {}  {}", plain(gid), plain(why));
    }
}

fn changed(answer: &Value) -> String {
    let mut out = String::new();
    for gid in items(answer, "done") {
        let _ = writeln!(out, "done     {}", plain(gid.as_str().unwrap_or("")));
    }
    refused(&mut out, answer);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_confirmed_is_told_in_numbers() {
        let one =
            |gid: &str, status: &str| json!({ "gid": gid, "trans_type": "saga", "status": status });
        let preview = json!({
            "transactions": [one("a", "submitted"), one("b", "aborting"), one("c", "aborting")],
            "refused": [{ "gid": "d", "why": "it has ended: failed" }],
            "found": 12_345, "has_more": false,
        });
        let told = found(&preview);
        let wanted = "\
would    a  saga submitted
would    b  saga aborting
would    c  saga aborting
refused  d  it has ended: failed
nothing was changed; it would be 3 transactions (2 saga aborting, 1 saga submitted), \
and not 1 others that refuse: the first 4 of 12,345 found (--limit)
";
        assert_eq!(told, wanted);
        let changed = changed(&json!({ "done": ["a"], "refused": [{ "gid": "b", "why": "no" }] }));
        assert_eq!(changed, "done     a\nrefused  b  no\n");
    }
}
