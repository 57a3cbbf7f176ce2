//! Analyzers: text in, terms out. One and the same is used for indexing, for queries and for rows without index;
//! otherwise an index would change answers. `standard` is Lucene's StandardAnalyzer, `english` its EnglishAnalyzer
//! (possessive, lower case, 33 stop words, Porter), term for term up to characters newer than Lucene's Unicode.
//! Any change of their terms needs a new `REVISION`, which makes older segments count as not covered.

use crate::error::{Error, Result};

use super::porter;
use super::words::each_word;

/// Stands in every segment: postings of another revision hold other terms.
pub(super) const REVISION: u64 = 1;

/// Turns text into terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Analyzer {
    /// Unicode words in lower case.
    Standard,
    /// English words without possessives and stop words, stemmed.
    English,
}

impl Analyzer {
    const ALL: [Analyzer; 2] = [Analyzer::English, Analyzer::Standard];

    /// The analyzer of that name. Errors: InvalidInput that lists the known names.
    pub fn by_name(name: &str) -> Result<Analyzer> {
        Analyzer::ALL
            .into_iter()
            .find(|analyzer| analyzer.name() == name)
            .ok_or_else(|| {
                let known: Vec<&str> = Analyzer::ALL.iter().map(Analyzer::name).collect();
                Error::invalid_input(format!(
                    "unknown analyzer `{name}`, known are: {}",
                    known.join(", ")
                ))
            })
    }

    /// The name users type.
    pub fn name(&self) -> &'static str {
        match self {
            Analyzer::Standard => "standard",
            Analyzer::English => "english",
        }
    }

    /// Calls `each` with every term of `text`, in order.
    pub fn tokens(&self, text: &str, each: &mut dyn FnMut(&str)) {
        let mut buffer = Buffer::default();
        each_word(text, |word| {
            if let Some(term) = self.term(word, &mut buffer) {
                each(term);
            }
        });
    }

    /// The term of a word; None for a stop word.
    pub(super) fn term<'b>(&self, word: &str, buffer: &'b mut Buffer) -> Option<&'b str> {
        match self {
            Analyzer::Standard => Some(buffer.lower_case(word)),
            Analyzer::English => buffer.english(word),
        }
    }

    /// The terms of `text`, in order, duplicates kept.
    pub fn terms(&self, text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        self.tokens(text, &mut |term| terms.push(term.to_owned()));
        terms
    }
}

/// Storage reused from word to word.
#[derive(Clone, Debug, Default)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    characters: Vec<char>,
    text: String,
}

impl Buffer {
    /// Lower case character by character, as Java's `Character.toLowerCase`: no final sigma, one character for one.
    fn lower_case(&mut self, word: &str) -> &str {
        self.text.clear();
        if word.is_ascii() {
            self.text.push_str(word);
            self.text.make_ascii_lowercase();
        } else {
            self.text
                .extend(word.chars().filter_map(|c| c.to_lowercase().next()));
        }
        &self.text
    }

    fn english(&mut self, word: &str) -> Option<&str> {
        let word = without_possessive(word);
        self.lower_case(word);
        if !self.text.is_ascii() {
            return Some(self.stem_characters());
        }
        if is_stop_word(self.text.as_bytes()) {
            return None;
        }
        self.bytes.clear();
        self.bytes.extend_from_slice(self.text.as_bytes());
        if self.bytes.len() > 2 {
            porter::stem(&mut self.bytes);
        }
        std::str::from_utf8(&self.bytes).ok()
    }

    fn stem_characters(&mut self) -> &str {
        self.characters.clear();
        self.characters.extend(self.text.chars());
        // Lucene counts UTF-16 units here
        if self.text.encode_utf16().nth(2).is_some() {
            porter::stem(&mut self.characters);
        }
        self.text.clear();
        self.text.extend(self.characters.iter());
        &self.text
    }
}

fn without_possessive(word: &str) -> &str {
    let stem = word
        .strip_suffix(['s', 'S'])
        .and_then(|rest| rest.strip_suffix(['\'', '\u{2019}', '\u{ff07}']));
    stem.unwrap_or(word)
}

fn is_stop_word(word: &[u8]) -> bool {
    match word.len() {
        1 => word == b"a",
        2 => matches!(
            word,
            b"an"
                | b"as"
                | b"at"
                | b"be"
                | b"by"
                | b"if"
                | b"in"
                | b"is"
                | b"it"
                | b"no"
                | b"of"
                | b"on"
                | b"or"
                | b"to"
        ),
        3 => matches!(
            word,
            b"and" | b"are" | b"but" | b"for" | b"not" | b"the" | b"was"
        ),
        4 => matches!(
            word,
            b"into" | b"such" | b"that" | b"then" | b"they" | b"this" | b"will" | b"with"
        ),
        5 => matches!(word, b"their" | b"there" | b"these"),
        _ => false,
    }
}
