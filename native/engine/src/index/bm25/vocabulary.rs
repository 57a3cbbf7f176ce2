//! Numbers in place of words, so that the words of a text are analysed once and not at each occurrence.
//! A bounded cache: when it is full it starts anew. Never changes what an analyzer says.

use xxhash_rust::xxh3::xxh3_64;

use super::analyzer::{Analyzer, Buffer};
use super::words::each_word;

/// Words and bytes of words after which the cache starts anew.
const WORDS_MAX: usize = 1 << 18;
const BYTES_MAX: usize = 8 << 20;

/// The analysed words of the texts so far.
#[derive(Clone, Debug)]
pub(super) struct Vocabulary {
    analyzer: Analyzer,
    buffer: Buffer,
    words: TermTable,
    /// By word: the number of its term, None for a stop word.
    numbers: Vec<Option<u32>>,
}

impl Vocabulary {
    pub(super) fn new(analyzer: Analyzer) -> Vocabulary {
        Vocabulary {
            analyzer,
            buffer: Buffer::default(),
            words: TermTable::new(),
            numbers: Vec::new(),
        }
    }

    /// Calls `each` with the number of every term of `text`, in order. `number` gives terms their numbers,
    /// always the same for the same term.
    pub(super) fn numbers(
        &mut self,
        text: &str,
        mut number: impl FnMut(&str) -> u32,
        mut each: impl FnMut(u32),
    ) {
        each_word(text, |word| {
            let known = match self.words.find(word.as_bytes()) {
                Slot::Taken(id) => self.numbers.get(id).copied().flatten(),
                Slot::Free(_) => {
                    let term = self.analyzer.term(word, &mut self.buffer).map(&mut number);
                    if self.words.len() >= WORDS_MAX || self.words.arena.len() >= BYTES_MAX {
                        self.words = TermTable::new();
                        self.numbers.clear();
                    }
                    if self.words.insert(word.as_bytes()).is_some() {
                        self.numbers.push(term);
                    }
                    term
                }
            };
            if let Some(known) = known {
                each(known);
            }
        });
    }
}

/// Where a text stands or would stand in the table.
enum Slot {
    Taken(usize),
    Free(usize),
}

/// Numbers distinct texts from 0: an open-addressed hash table over one arena.
#[derive(Clone, Debug)]
pub(super) struct TermTable {
    /// The low half of the hash and id + 1, 0 where free; a power of two of slots, at most half of them taken.
    slots: Vec<(u32, u32)>,
    ends: Vec<usize>,
    arena: Vec<u8>,
}

impl TermTable {
    pub(super) fn new() -> TermTable {
        TermTable {
            slots: vec![(0, 0); 1024],
            ends: Vec::new(),
            arena: Vec::new(),
        }
    }

    /// How many texts there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The text of a number.
    pub(super) fn text(&self, id: usize) -> &[u8] {
        let start = match id.checked_sub(1) {
            None => 0,
            Some(before) => self.ends.get(before).copied().unwrap_or_default(),
        };
        let end = self.ends.get(id).copied().unwrap_or_default();
        self.arena.get(start..end).unwrap_or_default()
    }

    /// The number of a text, the next one if it is new; None when numbers run out.
    pub(super) fn insert(&mut self, text: &[u8]) -> Option<usize> {
        let at = match self.find(text) {
            Slot::Taken(id) => return Some(id),
            Slot::Free(at) => at,
        };
        let id = self.len();
        let number = u32::try_from(id).ok()?.checked_add(1)?;
        *self.slots.get_mut(at)? = (low_half(xxh3_64(text)), number);
        self.arena.extend_from_slice(text);
        self.ends.push(self.arena.len());
        if self.len() * 2 > self.slots.len() {
            self.grow();
        }
        Some(id)
    }

    fn find(&self, text: &[u8]) -> Slot {
        let hash = low_half(xxh3_64(text));
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while let Some((stored, number)) = self.slots.get(at).copied() {
            let Some(id) = number.checked_sub(1) else {
                break;
            };
            let id = id as usize;
            if stored == hash && self.text(id) == text {
                return Slot::Taken(id);
            }
            at = (at + 1) & mask;
        }
        Slot::Free(at)
    }

    fn grow(&mut self) {
        let mut slots = vec![(0, 0); self.slots.len() * 2];
        let mask = slots.len() - 1;
        for taken in self.slots.iter().filter(|(_, number)| *number > 0) {
            let mut at = taken.0 as usize & mask;
            while slots.get(at).is_some_and(|(_, number)| *number > 0) {
                at = (at + 1) & mask;
            }
            if let Some(slot) = slots.get_mut(at) {
                *slot = *taken;
            }
        }
        self.slots = slots;
    }
}

fn low_half(hash: u64) -> u32 {
    let [a, b, c, d, ..] = hash.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}
