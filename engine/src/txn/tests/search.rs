//! FULLTEXT indexes beside a model: what is found is what the texts say, as of any snapshot, before
//! and behind checkpoints, crashes and builds.

use super::*;
use crate::{
    store::Term,
    types::{FullText, fulltext::Parser},
};
use std::collections::{BTreeMap, BTreeSet};

const WORDS: [&str; 12] = [
    "apple", "apply", "banana", "Apple", "cherry", "date", "dates", "elder", "fig", "fog", "the",
    "it",
];

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
    fn text(&mut self) -> String {
        let count = self.below(6);
        let words = (0..count).map(|_| WORDS[self.below(WORDS.len() as u64) as usize]);
        words.collect::<Vec<_>>().join(" ")
    }
}

/// The texts of rows by their numbers.
type Model = BTreeMap<i64, String>;

fn text_index(engine: &Engine, name: &str) -> FullText {
    FullText {
        index: index(engine, name, 1, false),
        parser: Parser::Words { min: 3, max: 84 },
        stopwords: None,
        prepared: Default::default(),
    }
}

/// `t (id, a VARCHAR, u, FULLTEXT f (a))`, or without primary key, where `id` is no number of rows.
fn text_table(engine: &Engine, primary: bool) -> Arc<Table> {
    create(engine);
    let mut new = table(engine, "texts", primary);
    let column = &mut new.columns[1];
    column.ty = ColumnType::VarChar(200);
    column.collation = Collation::Utf8mb40900AiCi;
    new.indexes.clear();
    new.fulltext.push(text_index(engine, "f"));
    change(engine, SchemaChange::CreateTable(new)).expect("create table");
    find(engine, "texts")
}

fn text_image(table: &Table, id: i64, text: &str) -> Vec<u8> {
    let mut image = Vec::new();
    let text = Value::Bytes(text.as_bytes().to_vec());
    row::encode(table, &[Value::Int(id), text, Value::Null], &mut image);
    image
}

/// What is found of a word: the ids of the rows, and how often they have it.
fn find_word(
    txn: &mut Txn,
    table: &Arc<Table>,
    word: &str,
    is_beginning: bool,
) -> BTreeMap<i64, u32> {
    let table = use_table(txn, table).unwrap();
    let text = &table.fulltext[0];
    let mut key = Vec::new();
    match is_beginning {
        true => text.tokenizer(&table).key_prefix(word.as_bytes(), &mut key),
        false => text.tokenizer(&table).key(word.as_bytes(), &mut key),
    }
    let term = Term { key, is_beginning };
    let found = txn
        .find_words(&table, text, &[term], true, Read::Plain)
        .unwrap();
    let postings = &found.postings[0];
    let rows = postings.rows.iter().map(|number| {
        let key = found.numbering.key(number).unwrap();
        assert_eq!(found.numbering.of(&key), Some(number));
        let mut image = Vec::new();
        assert!(txn.get(table.rows, &key, Read::Plain, &mut image).unwrap());
        let Value::Int(id) = row::decode(&table, &image).unwrap()[0] else {
            panic!("an id");
        };
        (id, postings.often.get(&number).copied().unwrap_or(1))
    });
    rows.collect()
}

fn compare(txn: &mut Txn, table: &Arc<Table>, model: &Model, hidden: &BTreeSet<i64>) {
    for word in WORDS {
        let is_indexed = word.len() > 3 && word != "the" || ["fig", "fog"].contains(&word);
        let times = |text: &String| {
            let same = text
                .split(' ')
                .filter(|other| other.eq_ignore_ascii_case(word));
            same.count() as u32
        };
        let expected: BTreeMap<i64, u32> = model
            .iter()
            .filter(|(id, _)| is_indexed && !hidden.contains(id))
            .map(|(id, text)| (*id, times(text)))
            .filter(|(_, times)| *times > 0)
            .collect();
        assert_eq!(find_word(txn, table, word, false), expected, "{word}");
    }
    for beginning in ["appl", "date", "f", "q"] {
        let begins = |text: &&String| {
            let lower = text.to_ascii_lowercase();
            lower.split(' ').any(|word| word.starts_with(beginning))
        };
        let rows = model
            .iter()
            .filter(|(id, text)| begins(text) && !hidden.contains(id));
        let expected: BTreeSet<i64> = rows.map(|(id, _)| *id).collect();
        let found = find_word(txn, table, beginning, true);
        assert_eq!(
            found.into_keys().collect::<BTreeSet<_>>(),
            expected,
            "{beginning}"
        );
    }
}

fn check_sound(engine: &Engine, table: &Arc<Table>) {
    let report = engine.check_table(&owner(2), table, 1000, || ()).unwrap();
    assert_eq!(report.problems, Vec::<String>::new());
}

/// Changes some rows in a transaction. Those that it changed are not found before it ends.
fn change_some(engine: &Engine, table: &Arc<Table>, model: &mut Model, random: &mut Random) {
    let mut txn = begin(engine, Isolation::RepeatableRead);
    let table = use_table(&mut txn, table).unwrap();
    let mut after = model.clone();
    let mut own = BTreeSet::new();
    for _ in 0..random.below(6) {
        let id = random.below(40) as i64;
        let key = key_of(&table, 0, id);
        let text = random.text();
        match after.get(&id).cloned() {
            None => {
                let image = text_image(&table, id, &text);
                txn.insert(&table, &image, LockMode::Shared).unwrap();
                after.insert(id, text);
                own.insert(id);
            }
            Some(before) => {
                let mut image = Vec::new();
                assert!(txn.get(table.rows, &key, FOR_UPDATE, &mut image).unwrap());
                assert_eq!(image, text_image(&table, id, &before));
                if random.below(3) == 0 {
                    txn.delete(&table, &key, &image).unwrap();
                    after.remove(&id);
                    own.insert(id);
                } else {
                    let new = text_image(&table, id, &text);
                    txn.update(&table, &key, &image, &new).unwrap();
                    // What stays the same text is found still.
                    if text != before {
                        own.insert(id);
                    }
                    after.insert(id, text);
                }
            }
        }
    }
    compare(&mut txn, &table, model, &own);
    if random.below(4) == 0 {
        txn.rollback();
    } else {
        txn.commit("test").unwrap();
        *model = after;
    }
}

#[test]
fn what_is_found_is_what_the_texts_say() {
    for seed in 1..=6 {
        let mut disk = disk();
        let mut engine = open(&disk.env());
        let mut table = text_table(&engine, true);
        let mut random = Random(seed);
        let mut model = Model::new();
        let mut old: Option<(Txn, Model)> = None;
        for round in 0..120 {
            change_some(&engine, &table, &mut model, &mut random);
            let mut now = begin(&engine, Isolation::RepeatableRead);
            compare(&mut now, &table, &model, &BTreeSet::new());
            drop(now);
            if let Some((txn, seen)) = &mut old {
                compare(txn, &table, seen, &BTreeSet::new());
            }
            match random.below(12) {
                0 | 1 => engine.checkpoint().unwrap(),
                2 => {
                    let mut txn = begin(&engine, Isolation::RepeatableRead);
                    use_table(&mut txn, &table).unwrap();
                    txn.take_snapshot();
                    old = Some((txn, model.clone()));
                }
                3 => old = None,
                4 => {
                    old = None;
                    std::mem::forget(engine);
                    disk = disk.crash(seed * 1000 + round);
                    engine = open(&disk.env());
                    table = find(&engine, "texts");
                }
                5 => {
                    // Another index, built from the rows, in the place of the one there was.
                    old = None;
                    let mut new = Table::clone(&table);
                    new.fulltext = vec![text_index(&engine, "g")];
                    let alter = SchemaChange::AlterInPlace {
                        old: Arc::clone(&table),
                        new,
                        others: Others::default(),
                    };
                    change(&engine, alter).unwrap();
                    table = find(&engine, "texts");
                }
                _ => {}
            }
            if round % 20 == 19 {
                check_sound(&engine, &table);
            }
        }
    }
}

#[test]
fn rows_without_a_primary_key_are_found() {
    let disk = disk();
    let engine = open(&disk.env());
    let table = text_table(&engine, false);
    let mut random = Random(7);
    let mut model = Model::new();
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    let used = use_table(&mut txn, &table).unwrap();
    for id in 0..300 {
        let text = random.text();
        let image = text_image(&used, id, &text);
        txn.insert(&used, &image, LockMode::Shared).unwrap();
        model.insert(id, text);
    }
    txn.commit("test").unwrap();
    for _ in 0..2 {
        let mut now = begin(&engine, Isolation::RepeatableRead);
        compare(&mut now, &table, &model, &BTreeSet::new());
        drop(now);
        check_sound(&engine, &table);
        engine.checkpoint().unwrap();
    }
}
