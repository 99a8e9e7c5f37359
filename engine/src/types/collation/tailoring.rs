//! What a language changes of the order of all languages: weights that move, characters with
//! weights of their own, and sequences of characters that are one letter ("ch").
//!
//! The files `tailorings/*.tailoring` are made by `generate_tailorings.py`, which describes their
//! form.

use super::weights::{Numbers, Table};

/// The tailoring of a language.
pub struct Tailoring {
    levels: Vec<Level>,
    /// By the first character, ascending.
    heads: Vec<Head>,
    /// How many characters the longest sequence has; 1 if there is none.
    pub longest: usize,
}

/// The changes at one level of weights.
struct Level {
    /// Which weights of the base become others: ascending.
    moves: Vec<Move>,
    /// The characters that the moves do not give the right weights.
    exceptions: Table,
}

/// What becomes of the weights from `first` to `last`.
struct Move {
    first: u16,
    last: u16,
    change: Change,
}

enum Change {
    /// They become greater by this.
    Step(i32),
    /// This one comes before each.
    Before(u16),
}

/// The sequences that begin with one character.
struct Head {
    code: u32,
    /// The longest first.
    sequences: Vec<Sequence>,
}

/// Characters that have weights together.
struct Sequence {
    text: String,
    /// By level.
    weights: Vec<Vec<u16>>,
}

impl Tailoring {
    /// Unpacks a file. The files are part of the program, and a test reads them whole.
    pub fn unpack(file: &[u8], levels: usize) -> Tailoring {
        let mut numbers = Numbers(file);
        let levels = (0..levels).map(|_| Level::unpack(&mut numbers)).collect();
        let mut tailoring = Tailoring {
            levels,
            heads: Vec::new(),
            longest: 1,
        };
        for _ in 0..numbers.count() {
            tailoring.put_sequence(&mut numbers);
        }
        for head in &mut tailoring.heads {
            head.sequences
                .sort_by_key(|sequence| std::cmp::Reverse(sequence.text.len()));
        }
        tailoring
    }

    fn put_sequence(&mut self, numbers: &mut Numbers<'_>) {
        let codes: Vec<u32> = (0..numbers.count())
            .map(|_| numbers.count() as u32)
            .collect();
        let weights = (0..self.levels.len())
            .map(|_| {
                (0..numbers.count())
                    .map(|_| numbers.count() as u16)
                    .collect()
            })
            .collect();
        self.longest = self.longest.max(codes.len());
        let text = codes.iter().copied().filter_map(char::from_u32).collect();
        let sequence = Sequence { text, weights };
        // The file has them in ascending order.
        match self.heads.last_mut() {
            Some(head) if head.code == codes[0] => head.sequences.push(sequence),
            _ => self.heads.push(Head {
                code: codes[0],
                sequences: vec![sequence],
            }),
        }
    }

    /// The weights of a character at a level, if the moves do not give them.
    #[inline]
    pub fn exception(&self, code: u32, level: usize) -> Option<&[u16]> {
        self.levels[level].exceptions.get(code)
    }

    /// Calls `each` with what becomes of a weight of the base.
    #[inline]
    pub fn moved(&self, weight: u16, level: usize, mut each: impl FnMut(u16)) {
        let mut moves = self.levels[level].moves.iter();
        let found = moves.find(|range| (range.first..=range.last).contains(&weight));
        match found.map(|range| &range.change) {
            None => each(weight),
            Some(Change::Step(step)) => each((i32::from(weight) + step) as u16),
            Some(Change::Before(first)) => {
                each(*first);
                each(weight);
            }
        }
    }

    /// The longest sequence that `text` begins with, `first` being its first character: its
    /// weights at a level, and its length in bytes.
    #[inline]
    pub fn sequence(&self, first: u32, text: &[u8], level: usize) -> Option<(&[u16], usize)> {
        let sequences = self.sequences(first)?;
        let found = sequences
            .iter()
            .find(|sequence| text.starts_with(sequence.text.as_bytes()))?;
        Some((&found.weights[level], found.text.len()))
    }

    fn sequences(&self, first: u32) -> Option<&[Sequence]> {
        let at = self.heads.binary_search_by_key(&first, |head| head.code);
        at.ok().map(|at| &self.heads[at].sequences[..])
    }

    /// Whether a sequence begins with this character.
    pub fn begins_sequence(&self, code: u32) -> bool {
        self.sequences(code).is_some()
    }

    /// Whether the primary weights of all sequences that begin with this character begin with these.
    pub fn all_begin_with(&self, code: u32, weights: &[u16]) -> bool {
        let mut sequences = self.sequences(code).unwrap_or_default().iter();
        sequences.all(|sequence| sequence.weights[0].starts_with(weights))
    }

    /// The characters that sequences go on with.
    pub fn tails(&self) -> impl Iterator<Item = char> {
        let sequences = self.heads.iter().flat_map(|head| &head.sequences);
        sequences.flat_map(|sequence| sequence.text.chars().skip(1))
    }

    /// The characters that sequences begin with.
    pub fn heads(&self) -> impl Iterator<Item = u32> {
        self.heads.iter().map(|head| head.code)
    }
}

impl Level {
    fn unpack(numbers: &mut Numbers<'_>) -> Level {
        let mut end = 0;
        let moves = (0..numbers.count())
            .map(|_| {
                let first = end + numbers.count();
                end = first + numbers.count();
                Move {
                    first: first as u16,
                    last: (end - 1) as u16,
                    change: match numbers.next_signed() as i32 {
                        0 => Change::Before(numbers.count() as u16),
                        step => Change::Step(step),
                    },
                }
            })
            .collect();
        let length = numbers.count() as usize;
        Level {
            moves,
            exceptions: Table::unpack(numbers.bytes(length)),
        }
    }
}
