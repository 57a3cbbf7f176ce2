//! Words as Lucene's StandardTokenizer finds them: the word break rules of UAX#29 as one longest-match grammar,
//! with its departures: ideographs and hiragana one by one, South East Asian runs whole, emoji sequences kept,
//! words above 255 UTF-16 units cut. Only the classes of characters come from Unicode data, which is newer than
//! Lucene's. Knows nothing of lower case, stop words or stems.

use icu_properties::props::{
    Emoji, EmojiModifier, ExtendedPictographic, LineBreak, RegionalIndicator, Script, WordBreak,
};
use icu_properties::{CodePointMapData, CodePointSetData};

/// UTF-16 units after which a word is cut.
const UNITS_MAX: usize = 255;
const JOINER: char = '\u{200d}';
const TEXT_SELECTOR: char = '\u{fe0e}';
const EMOJI_SELECTOR: char = '\u{fe0f}';
const KEYCAP: char = '\u{20e3}';

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Other,
    Letter,
    Hebrew,
    Number,
    Katakana,
    /// Underscore and the like: joins, but makes no word alone.
    Connector,
    MidLetter,
    MidNumber,
    MidBoth,
    SingleQuote,
    DoubleQuote,
    /// Extend, Format and zero width joiner: belong to the character before.
    Extend,
}

const ASCII: [Class; 128] = ascii_classes();

const fn ascii_classes() -> [Class; 128] {
    let mut table = [Class::Other; 128];
    let mut rest: &mut [Class] = &mut table;
    let mut byte = 0u8;
    while let Some((slot, tail)) = rest.split_first_mut() {
        *slot = match byte {
            b'a'..=b'z' | b'A'..=b'Z' => Class::Letter,
            b'0'..=b'9' => Class::Number,
            b'_' => Class::Connector,
            b':' => Class::MidLetter,
            b',' | b';' => Class::MidNumber,
            b'.' => Class::MidBoth,
            b'\'' => Class::SingleQuote,
            b'"' => Class::DoubleQuote,
            _ => Class::Other,
        };
        rest = tail;
        byte += 1;
    }
    table
}

fn class_of(c: char) -> Class {
    if matches!(c, '\u{ff10}'..='\u{ff19}') {
        return Class::Number;
    }
    match CodePointMapData::<WordBreak>::new().get(c) {
        WordBreak::ALetter => Class::Letter,
        WordBreak::HebrewLetter => Class::Hebrew,
        WordBreak::Numeric => Class::Number,
        WordBreak::Katakana => Class::Katakana,
        WordBreak::ExtendNumLet => Class::Connector,
        WordBreak::MidLetter => Class::MidLetter,
        WordBreak::MidNum => Class::MidNumber,
        WordBreak::MidNumLet => Class::MidBoth,
        WordBreak::SingleQuote => Class::SingleQuote,
        WordBreak::DoubleQuote => Class::DoubleQuote,
        WordBreak::Extend | WordBreak::Format | WordBreak::ZWJ => Class::Extend,
        _ => Class::Other,
    }
}

/// Calls `each` with every word of `text`, in order.
pub(super) fn each_word(text: &str, mut each: impl FnMut(&str)) {
    let mut start = 0;
    while start < text.len() {
        if let Some(end) = plain_end(text.as_bytes(), start) {
            if let Some(word) = text.get(start..end).filter(|word| !word.is_empty()) {
                each(word);
            }
            // what ended the word is no word
            start = end + 1;
            continue;
        }
        let Some(first) = Piece::read(text, start, 0) else {
            return;
        };
        match longest(text, start, first) {
            Some(end) => {
                if let Some(word) = text.get(start..end) {
                    each(word);
                }
                start = end;
            }
            None => start = first.base_end,
        }
    }
}

/// The end of a word of ASCII letters and digits before a space or the like, which is most words and needs no rule;
/// `start` where there is none. None where the rules must decide.
fn plain_end(bytes: &[u8], start: usize) -> Option<usize> {
    let rest = bytes.get(start..)?;
    let length = rest
        .iter()
        .take(UNITS_MAX + 1)
        .position(|byte| !byte.is_ascii_alphanumeric())
        .unwrap_or_else(|| rest.len().min(UNITS_MAX + 1));
    let stopped = match rest.get(length..) {
        Some([b' ' | b'\n' | b'-' | b'(' | b')', ..] | []) => true,
        Some([b',' | b'.', next, ..]) => *next == b' ',
        _ => false,
    };
    (stopped && length <= UNITS_MAX).then_some(start + length)
}

/// A character and what extends it.
#[derive(Clone, Copy)]
struct Piece {
    class: Class,
    /// End of the character.
    base_end: usize,
    /// End with the characters that extend it.
    end: usize,
    /// UTF-16 units from the start of the word to `end`.
    units: usize,
}

impl Piece {
    /// The piece at byte `at`, `units` after the start of the word; None at the end of the text or of the longest word.
    fn read(text: &str, at: usize, units: usize) -> Option<Piece> {
        let byte = *text.as_bytes().get(at)?;
        let (class, base_end, units) = match ASCII.get(usize::from(byte)) {
            Some(class) => (*class, at + 1, units + 1),
            None => {
                let c = text.get(at..)?.chars().next()?;
                (class_of(c), at + c.len_utf8(), units + c.len_utf16())
            }
        };
        if units > UNITS_MAX {
            return None;
        }
        let mut piece = Piece {
            class,
            base_end,
            end: base_end,
            units,
        };
        piece.extend(text);
        Some(piece)
    }

    fn extend(&mut self, text: &str) {
        // no ASCII character extends another
        while text
            .as_bytes()
            .get(self.end)
            .is_some_and(|byte| !byte.is_ascii())
        {
            let Some(c) = text.get(self.end..).and_then(|rest| rest.chars().next()) else {
                return;
            };
            if class_of(c) != Class::Extend || self.units + c.len_utf16() > UNITS_MAX {
                return;
            }
            self.end += c.len_utf8();
            self.units += c.len_utf16();
        }
    }

    fn next(&self, text: &str) -> Option<Piece> {
        Piece::read(text, self.end, self.units)
    }
}

/// The end of the longest word that starts at `start`.
fn longest(text: &str, start: usize, first: Piece) -> Option<usize> {
    let word = match first.class {
        Class::Letter | Class::Hebrew | Class::Number | Class::Katakana | Class::Connector => {
            word_end(text, first)
        }
        _ => None,
    };
    let c = match text.as_bytes().get(start) {
        Some(byte) if byte.is_ascii() => char::from(*byte),
        _ => text.get(start..)?.chars().next()?,
    };
    let other = match c {
        '#' | '*' => keycap_end(text, start),
        _ if c.is_ascii() => None,
        _ => emoji_end(text, start, c).max(match first.class {
            Class::Other | Class::Extend => ideograph_end(text, c, first),
            _ => None,
        }),
    };
    word.max(other)
}

/// Where the state machine of the letter and number rules stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Letter,
    Hebrew,
    Number,
    Katakana,
    Connector,
    /// After a Hebrew letter with its quote: what follows starts anew.
    Closed,
}

fn state_of(class: Class) -> Option<State> {
    match class {
        Class::Letter => Some(State::Letter),
        Class::Hebrew => Some(State::Hebrew),
        Class::Number => Some(State::Number),
        Class::Katakana => Some(State::Katakana),
        Class::Connector => Some(State::Connector),
        _ => None,
    }
}

/// WB5 to WB13b.
fn word_end(text: &str, first: Piece) -> Option<usize> {
    let mut state = state_of(first.class)?;
    let mut at = first;
    let mut accepted = (state != State::Connector).then_some(first.end);
    while let Some(next) = at.next(text) {
        let step = match state_of(next.class) {
            Some(to) => adjacent(state, to).map(|to| (to, next)),
            None => through_mark(text, state, next),
        };
        let Some((to, reached)) = step else { break };
        (state, at) = (to, reached);
        if state != State::Connector || accepted.is_some() {
            accepted = Some(at.end);
        }
    }
    accepted
}

fn adjacent(from: State, to: State) -> Option<State> {
    let joined = match to {
        State::Connector => true,
        State::Katakana => matches!(from, State::Katakana | State::Connector),
        _ => from != State::Katakana,
    };
    joined.then_some(to)
}

/// Punctuation inside a word: `mark` joins only by what follows it.
fn through_mark(text: &str, state: State, mark: Piece) -> Option<(State, Piece)> {
    let after = mark.next(text);
    let class = after.map(|piece| piece.class);
    let letter_mark = matches!(
        mark.class,
        Class::MidLetter | Class::MidBoth | Class::SingleQuote
    );
    match (state, mark.class) {
        (State::Hebrew, Class::SingleQuote) => match class {
            Some(Class::Hebrew) => Some((State::Hebrew, after?)),
            Some(Class::Letter) => Some((State::Letter, after?)),
            _ => Some((State::Closed, mark)),
        },
        (State::Hebrew, Class::DoubleQuote) if class == Some(Class::Hebrew) => {
            Some((State::Closed, after?))
        }
        (State::Letter | State::Hebrew, _)
            if letter_mark && matches!(class, Some(Class::Letter | Class::Hebrew)) =>
        {
            Some((State::Letter, after?))
        }
        (State::Number, Class::MidNumber | Class::MidBoth | Class::SingleQuote)
            if class == Some(Class::Number) =>
        {
            Some((State::Number, after?))
        }
        _ => None,
    }
}

/// One ideograph or hiragana, or a run of South East Asian characters.
fn ideograph_end(text: &str, c: char, first: Piece) -> Option<usize> {
    if is_complex(c) {
        let mut at = first;
        while let Some(next) = at.next(text) {
            if !text
                .get(at.end..next.base_end)
                .and_then(|base| base.chars().next())
                .is_some_and(is_complex)
            {
                break;
            }
            at = next;
        }
        return Some(at.end);
    }
    matches!(
        CodePointMapData::<Script>::new().get(c),
        Script::Han | Script::Hiragana
    )
    .then_some(first.end)
}

fn is_complex(c: char) -> bool {
    CodePointMapData::<LineBreak>::new().get(c) == LineBreak::ComplexContext
}

fn is_emoji(c: char) -> bool {
    if !matches!(c, '\u{a9}' | '\u{ae}' | '\u{203c}'..='\u{3299}' | '\u{1f000}'..) {
        return false;
    }
    CodePointSetData::new::<ExtendedPictographic>().contains(c)
        || (CodePointSetData::new::<Emoji>().contains(c)
            && !CodePointSetData::new::<RegionalIndicator>().contains(c)
            && !CodePointSetData::new::<EmojiModifier>().contains(c)
            && !matches!(c, '\u{3030}' | '\u{303d}' | '\u{2122}'))
}

/// Reads characters inside the limit of a word.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    units: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        let c = self.text.get(self.at..)?.chars().next()?;
        (self.units + c.len_utf16() <= UNITS_MAX).then_some(c)
    }

    fn take(&mut self, wanted: impl FnOnce(char) -> bool) -> Option<char> {
        let c = self.peek().filter(|c| wanted(*c))?;
        self.at += c.len_utf8();
        self.units += c.len_utf16();
        Some(c)
    }

    /// Takes what extends a character, without the presentation selectors; the last one taken.
    fn extend(&mut self) -> Option<char> {
        let mut last = None;
        while let Some(c) = self.take(|c| {
            !c.is_ascii()
                && c != TEXT_SELECTOR
                && c != EMOJI_SELECTOR
                && class_of(c) == Class::Extend
        }) {
            last = Some(c);
        }
        last
    }
}

/// The emoji sequences of UTS #51: modifiers and tags extend, joiners join, two regional indicators make a flag.
fn emoji_end(text: &str, start: usize, c: char) -> Option<usize> {
    let mut reader = Reader {
        text,
        at: start,
        units: 0,
    };
    if CodePointSetData::new::<RegionalIndicator>().contains(c) {
        let one = Piece::read(text, start, 0)?;
        let two = one.next(text)?;
        let second = text.get(one.end..two.base_end)?.chars().next()?;
        return CodePointSetData::new::<RegionalIndicator>()
            .contains(second)
            .then_some(two.end);
    }
    if c != JOINER && !is_emoji(c) {
        let alone = CodePointSetData::new::<EmojiModifier>().contains(c);
        reader.take(|_| alone)?;
    } else {
        while reader.take(|c| c == JOINER).is_some() {}
        reader.take(is_emoji)?;
    }
    loop {
        let mut joined = reader.extend() == Some(JOINER);
        let selected = reader.take(|c| c == EMOJI_SELECTOR).is_some();
        let end = reader.at;
        if selected {
            joined = false;
            while reader.take(|c| c == JOINER).is_some() {
                joined = true;
            }
        }
        if !joined || reader.take(is_emoji).is_none() {
            return Some(end);
        }
    }
}

/// `#` or `*` under a combining keycap; digits under one are numbers already.
fn keycap_end(text: &str, start: usize) -> Option<usize> {
    let mut reader = Reader {
        text,
        at: start,
        units: 0,
    };
    reader.take(|_| true)?;
    let plain = reader.at;
    reader.extend();
    let capped = text
        .get(plain..reader.at)
        .is_some_and(|extension| extension.contains(KEYCAP));
    let end = reader.at;
    if reader.take(|c| c == EMOJI_SELECTOR).is_some() && reader.take(|c| c == KEYCAP).is_some() {
        reader.extend();
        return Some(reader.at);
    }
    capped.then_some(end)
}
