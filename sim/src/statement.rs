//! What sessions do in transactions, and what it must come to.

use crate::{
    access::{self, Failure},
    model::{Model, Own, TableModel, Written},
    shape::{self, Field, Ident, Row, Shape},
    world::{Live, Session, World},
};
use cohort_engine::{
    Seq,
    env::fake::Noise,
    txn::{Engine, Isolation, LockMode, OnConflict, Read, TxnError},
    types::{Table, Xid},
};
use std::sync::Arc;

const FOR_UPDATE: Read = Read::Locking(LockMode::Exclusive, OnConflict::Wait);

/// A statement of one transaction.
struct Statement<'w> {
    engine: &'w Engine,
    model: &'w Model,
    noise: &'w mut Noise,
    serial: &'w mut i64,
    live: &'w mut Live,
    /// The last commit that its reply tells of.
    shown: Seq,
}

fn wrong<T>(what: String) -> Result<T, Failure> {
    Err(Failure::Wrong(what))
}

fn note(own: &mut Own, table: &Table, ident: Ident, row: Option<Row>, inserted: bool) {
    let key = (table.id, ident);
    let before = own.get(&key).is_some_and(|written| written.inserted);
    let inserted = row.is_some() && (inserted || before);
    own.insert(key, Written { row, inserted });
}

/// The key of a row, if its columns say it.
fn key_of(table: &TableModel, used: &Table, ident: &Ident) -> Option<Vec<u8>> {
    // The key needs only the first columns.
    let like = table.shape.row(ident, &mut Noise::new(0));
    shape::row_key(used, &like)
}

impl Statement<'_> {
    /// Whether what is newest in the engine is what is newest in the model.
    fn is_certain(&self) -> bool {
        self.model.doubtful.is_empty()
    }
    fn run(&mut self, table: &Arc<TableModel>) -> Result<(), Failure> {
        let writes = self.noise.below(10) < 7;
        let used = access::use_table(&mut self.live.txn, &table.definition, writes)?;
        if !writes {
            return self.read(table, &used);
        }
        match self.noise.below(7) {
            0..4 => self.insert(table, &used),
            4..6 => self.update(table, &used),
            _ => self.delete(table, &used),
        }
    }
    /// Reads one row or all, from the snapshot, or all, locked.
    fn read(&mut self, table: &TableModel, used: &Table) -> Result<(), Failure> {
        if self.noise.one_in(3) {
            return self.read_locked(used);
        }
        let ident = self.noise.one_in(3).then(|| self.pick(table));
        if self.live.snapshot.is_none() {
            let visible = self.engine.log().visible();
            let Some(state) = self.model.at(visible) else {
                return wrong(format!("commit {visible} is visible and was not placed"));
            };
            self.live.snapshot = Some(state.clone());
        }
        let Some(snapshot) = &self.live.snapshot else {
            return Ok(());
        };
        self.shown = snapshot.seq;
        let ident = ident.and_then(|ident| Some((key_of(table, used, &ident)?, ident)));
        if let Some((key, ident)) = ident {
            let found = access::row(&mut self.live.txn, used, &key, Read::Plain)?;
            let expected = snapshot.row(&self.live.own, used.id, &ident);
            if found.as_ref() != expected {
                let seq = snapshot.seq;
                return wrong(format!("read at {seq}: {found:?}, expected {expected:?}"));
            }
            return Ok(());
        }
        let keyed = access::keyed_rows(&mut self.live.txn, used, Read::Plain)?;
        let mut rows: Vec<Row> = keyed.values().cloned().collect();
        rows.sort();
        let expected = snapshot.rows(&self.live.own, used.id);
        if rows != expected {
            let seq = snapshot.seq;
            return wrong(format!("read at {seq}: {rows:?}, expected {expected:?}"));
        }
        // Under READ COMMITTED it is all one statement.
        access::check_indexes(&mut self.live.txn, used, &keyed)
    }
    fn read_locked(&mut self, used: &Table) -> Result<(), Failure> {
        let mode = [LockMode::Shared, LockMode::Exclusive];
        let mode = mode[self.noise.below(2) as usize];
        let read = Read::Locking(mode, OnConflict::Wait);
        let rows = access::keyed_rows(&mut self.live.txn, used, read)?;
        if !self.is_certain() {
            return Ok(());
        }
        let latest = self.model.latest();
        let mut rows: Vec<Row> = rows.into_values().collect();
        rows.sort();
        let expected = latest.rows(&self.live.own, used.id);
        if rows != expected {
            return wrong(format!("locked {rows:?}, expected {expected:?}"));
        }
        let versions = latest.tables.get(&used.id);
        let versions = versions.into_iter().flat_map(|table| table.rows.values());
        self.shown = versions.map(|version| version.seq).max().unwrap_or(0);
        Ok(())
    }
    fn insert(&mut self, table: &TableModel, used: &Arc<Table>) -> Result<(), Failure> {
        let shape = table.shape;
        let counted = shape.counts() && self.noise.one_in(2);
        let ident = if counted {
            let id = self.engine.auto_increment(used, 1).cast_signed();
            if id <= table.counted {
                let last = table.counted;
                return wrong(format!("AUTO_INCREMENT gives {id}, {last} was used"));
            }
            vec![Field::Int(id)]
        } else if used.primary.is_none() {
            *self.serial += 1;
            vec![Field::Int(*self.serial)]
        } else {
            shape.any_ident(self.noise)
        };
        let row = shape::filled(used, shape.row(&ident, self.noise));
        let image = shape::image(used, &row);
        let result = match self.noise.one_in(3) {
            true => self.insert_late(used, &image),
            false => self.live.txn.insert(used, &image, LockMode::Shared),
        };
        self.compare_duplicate(used, &row, None, result)?;
        if let (true, false, Some(Field::Int(id))) = (shape.counts(), counted, ident.first()) {
            self.engine
                .auto_increment_at_least(used, id.cast_unsigned());
        }
        note(&mut self.live.own, used, ident, Some(row), true);
        Ok(())
    }
    /// Inserts a row as a statement of very many does: entries of indexes come when it ends.
    fn insert_late(&mut self, used: &Arc<Table>, image: &[u8]) -> Result<(), TxnError> {
        let txn = &mut self.live.txn;
        let mark = txn.savepoint();
        txn.delay_entries(0);
        let inserted = txn.insert(used, image, LockMode::Shared);
        let done = inserted.and_then(|()| txn.settle_entries());
        let has_ended = matches!(done, Err(TxnError::Deadlock | TxnError::LockTableFull));
        if done.is_err() && !has_ended {
            txn.rollback_to(&mark);
        }
        done
    }
    /// Whether a duplicate was found where there is one.
    fn compare_duplicate(
        &mut self,
        used: &Table,
        row: &Row,
        replaced: Option<&Ident>,
        result: Result<(), TxnError>,
    ) -> Result<(), Failure> {
        let latest = self.model.latest();
        let taken = latest.is_taken(&self.live.own, used.id, row, replaced);
        match result {
            Ok(()) if taken && self.is_certain() => wrong(format!("a duplicate got in: {row:?}")),
            Err(TxnError::DuplicateKey { index }) if !taken && self.is_certain() => {
                wrong(format!("{row:?} is no duplicate in {index}"))
            }
            Err(error @ TxnError::DuplicateKey { .. }) => {
                // The reply tells of the row that stands there.
                if let Some(table) = latest.tables.get(&used.id) {
                    let ident = table.shape.ident(row);
                    let stands = table.rows.iter().filter(|(other, version)| {
                        **other == ident || table.shape.share_unique(row, &version.row)
                    });
                    let seqs = stands.map(|(_, version)| version.seq);
                    self.shown = seqs.min().unwrap_or(0);
                }
                Err(error.into())
            }
            result => Ok(result?),
        }
    }
    /// A row to change: mostly one that is there.
    fn pick(&mut self, table: &TableModel) -> Ident {
        let rows = self
            .model
            .latest()
            .rows(&self.live.own, table.definition.id);
        if rows.is_empty() || self.noise.one_in(8) {
            return table.shape.any_ident(self.noise);
        }
        table
            .shape
            .ident(&rows[self.noise.below(rows.len() as u64) as usize])
    }
    /// Locks a row; returns its key and what it is.
    fn lock(
        &mut self,
        table: &TableModel,
        used: &Table,
        ident: &Ident,
    ) -> Result<Option<(Vec<u8>, Row)>, Failure> {
        let txn = &mut self.live.txn;
        let found = if let Some(key) = key_of(table, used, ident) {
            access::row(txn, used, &key, FOR_UPDATE)?.map(|row| (key, row))
        } else {
            let rows = access::keyed_rows(txn, used, FOR_UPDATE)?;
            rows.into_iter()
                .find(|(_, row)| table.shape.ident(row) == *ident)
        };
        let latest = self.model.latest();
        let expected = latest.row(&self.live.own, used.id, ident);
        if self.is_certain() && found.as_ref().map(|(_, row)| row) != expected {
            return wrong(format!("locked {found:?}, expected {expected:?}"));
        }
        self.shown = latest.changed(used.id, ident);
        Ok(found)
    }
    fn update(&mut self, table: &TableModel, used: &Arc<Table>) -> Result<(), Failure> {
        let ident = self.pick(table);
        let Some((key, before)) = self.lock(table, used, &ident)? else {
            return Ok(());
        };
        let moves = used.primary.is_some() && !table.shape.counts() && self.noise.one_in(5);
        let new_ident = if moves {
            table.shape.any_ident(self.noise)
        } else {
            ident.clone()
        };
        let after = shape::filled(used, table.shape.row(&new_ident, self.noise));
        let images = (shape::image(used, &before), shape::image(used, &after));
        let result = self.live.txn.update(used, &key, &images.0, &images.1);
        self.compare_duplicate(used, &after, Some(&ident), result)?;
        if new_ident != ident {
            note(&mut self.live.own, used, ident, None, false);
        }
        note(&mut self.live.own, used, new_ident, Some(after), false);
        Ok(())
    }
    fn delete(&mut self, table: &TableModel, used: &Arc<Table>) -> Result<(), Failure> {
        let ident = self.pick(table);
        let Some((key, before)) = self.lock(table, used, &ident)? else {
            return Ok(());
        };
        self.live
            .txn
            .delete(used, &key, &shape::image(used, &before))?;
        note(&mut self.live.own, used, ident, None, false);
        Ok(())
    }
}

impl World {
    /// Begins a transaction, if there is none.
    fn begin(&mut self, who: usize) {
        let Session { owner, live, .. } = &mut self.sessions[who];
        if live.is_some() {
            return;
        }
        let isolations = [Isolation::ReadCommitted, Isolation::RepeatableRead];
        let isolation = isolations[self.noise.below(2) as usize];
        let claim = if self.noise.one_in(5) {
            let name = format!("x{}", self.noise.below(6));
            let xid = Xid::new(1, name.as_bytes(), b"").expect("a short name");
            self.engine.claim_xid(&xid)
        } else {
            None
        };
        *live = Some(Live {
            txn: self.engine.begin(owner, access::options(isolation)),
            isolation,
            snapshot: None,
            own: Own::new(),
            claim,
        });
        self.figures.count("transactions");
    }
    /// Runs a statement; one that fails is undone.
    pub fn statement(&mut self, who: usize) -> Result<(), String> {
        self.begin(who);
        let tables = &self.model.latest().tables;
        let place = self.noise.below(tables.len() as u64) as usize;
        let Some(table) = tables.values().nth(place).cloned() else {
            return Ok(());
        };
        self.figures.count("statements");
        let Some(mut live) = self.sessions[who].live.take() else {
            return Ok(());
        };
        live.txn.start_statement(&Arc::from("a statement"));
        if live.isolation == Isolation::ReadCommitted {
            live.snapshot = None;
        }
        let mark = live.txn.savepoint();
        let before = live.own.clone();
        let mut statement = Statement {
            engine: &self.engine,
            model: &self.model,
            noise: &mut self.noise,
            serial: &mut self.serial,
            live: &mut live,
            shown: 0,
        };
        let result = statement.run(&table);
        let shown = statement.shown;
        let name = &table.definition.name;
        self.say(|| format!("session {who}: statement on {name}, own {:?}", live.own));
        let failed = match result {
            Ok(()) => None,
            Err(Failure::Wrong(wrong)) => return Err(format!("session {who}, {name}: {wrong}")),
            Err(Failure::Told(error)) => {
                live.own = before;
                Some(error)
            }
        };
        let duplicate = matches!(failed, Some(TxnError::DuplicateKey { .. }));
        if let Some(error) = &failed {
            if matches!(error, TxnError::Deadlock) {
                return self.tolerate("statement", error);
            }
            live.txn.rollback_to(&mark);
            if duplicate {
                self.figures.count("duplicates");
            } else {
                self.tolerate("statement", error)?;
            }
        }
        // A reply with contents leaves only when they are durable.
        if (failed.is_none() || duplicate) && self.noise.one_in(3) {
            match self.engine.wait_for_reads(&self.sessions[who].owner) {
                Ok(()) if self.model.doubtful.is_empty() => self.tell(shown),
                Ok(()) => {}
                Err(error) => self.tolerate("reply", &error)?,
            }
        }
        self.sessions[who].live = Some(live);
        Ok(())
    }
    /// A transaction of many rows.
    pub fn bulk(&mut self) -> Result<(), String> {
        const ROWS: i64 = 300;
        let tables = self.model.latest().tables.values();
        let Some(table) = tables
            .clone()
            .find(|table| table.shape == Shape(1))
            .cloned()
        else {
            return Ok(());
        };
        self.figures.count("transactions of many rows");
        let options = access::options(Isolation::RepeatableRead);
        let mut txn = self.engine.begin(&access::owner(71), options);
        let mut own = Own::new();
        let first = self.serial + 1;
        self.serial += ROWS;
        let mut insert = || {
            let used = access::use_table(&mut txn, &table.definition, true)?;
            for id in first..first + ROWS {
                let ident = vec![Field::Int(id)];
                let row = shape::filled(&used, table.shape.row(&ident, &mut self.noise));
                txn.insert(&used, &shape::image(&used, &row), LockMode::Shared)?;
                note(&mut own, &used, ident, Some(row), true);
            }
            Ok(())
        };
        if let Err(error) = insert() {
            return self.tolerate("bulk", &error);
        }
        let result = txn.commit("d0").map(|_| ());
        self.committed("commits", result, |state| state.write(&own))
    }
    /// Ends a transaction.
    pub fn end(&mut self, who: usize) -> Result<(), String> {
        let Some(live) = self.sessions[who].live.take() else {
            return Ok(());
        };
        if self.noise.one_in(6) {
            live.txn.rollback();
            return Ok(());
        }
        let Live {
            txn, own, claim, ..
        } = live;
        if let Some(claim) = claim {
            let is_logged = txn.has_changes();
            let result = txn.prepare(&claim, "somebody@somewhere", "d0");
            let xid = claim.xid().clone();
            self.say(|| format!("session {who}: prepare {xid}: {result:?}"));
            if !is_logged {
                // No crash would leave it: it ends at once.
                let ended = result.and_then(|()| {
                    let owner = access::owner(70);
                    self.engine.end_prepared(&owner, &xid, true, "d0", 0)
                });
                return match ended {
                    Ok(true) => Ok(()),
                    Ok(false) => Err(format!("{xid} is prepared, but cannot be ended")),
                    Err(error) => self.tolerate("prepare", &error),
                };
            }
            let own = Arc::new(own);
            return self.committed("prepare", result, |state| {
                state.prepared.insert(xid, own);
            });
        }
        match txn.commit_placed("d0") {
            Ok(None) => Ok(()),
            Ok(Some(placed)) => {
                self.figures.count("commits");
                self.model.place(|state| state.write(&own));
                let seq = self.model.latest().seq;
                self.say(|| format!("session {who}: commit {seq}"));
                self.sessions[who].placed.push((placed, seq));
                match self.noise.below(2) {
                    0 => self.wait_for_placed(who),
                    _ => Ok(()),
                }
            }
            Err(error) => {
                if matches!(error, TxnError::Storage(_)) {
                    self.model.doubt(|state| state.write(&own));
                }
                self.tolerate("commit", &error)
            }
        }
    }
    /// What came of something that waits for its own commit.
    pub fn committed(
        &mut self,
        what: &'static str,
        result: Result<(), TxnError>,
        change: impl FnOnce(&mut crate::model::State),
    ) -> Result<(), String> {
        match result {
            Ok(()) => {
                self.figures.count(what);
                self.model.place(change);
                let seq = self.model.latest().seq;
                if self.engine.log().visible() != seq {
                    let visible = self.engine.log().visible();
                    return Err(format!("{what} is commit {seq}, but {visible} is visible"));
                }
                self.tell(seq);
                Ok(())
            }
            Err(error) => {
                if matches!(error, TxnError::Storage(_)) {
                    self.model.doubt(change);
                }
                self.tolerate(what, &error)
            }
        }
    }
    /// Waits for the commits of a session.
    pub fn wait_for_placed(&mut self, who: usize) -> Result<(), String> {
        let owner = Arc::clone(&self.sessions[who].owner);
        for (placed, expected) in std::mem::take(&mut self.sessions[who].placed) {
            match placed.wait(&owner) {
                Ok(seq) if seq == expected => {
                    self.figures.count("commits acknowledged");
                    self.tell(seq);
                }
                Ok(seq) => return Err(format!("commit {expected} has become commit {seq}")),
                Err(error) => self.tolerate("wait", &error)?,
            }
        }
        Ok(())
    }
    /// Commits or rolls back a prepared transaction.
    pub fn end_prepared(&mut self) -> Result<(), String> {
        let prepared = &self.model.latest().prepared;
        let place = self.noise.below(prepared.len() as u64) as usize;
        let Some((xid, own)) = prepared.iter().nth(place) else {
            return Ok(());
        };
        let (xid, own) = (xid.clone(), Arc::clone(own));
        let commit = self.noise.one_in(2);
        let owner = access::owner(70);
        let result = self.engine.end_prepared(&owner, &xid, commit, "d0", 0);
        self.say(|| format!("end {xid}, commit {commit}: {result:?}"));
        if let Ok(false) = result {
            if self.faulty {
                return Ok(());
            }
            return Err(format!("{xid} is prepared, but cannot be ended"));
        }
        self.committed("prepared ended", result.map(|_| ()), |state| {
            state.prepared.remove(&xid);
            if commit {
                state.write(&own);
            }
        })
    }
}
