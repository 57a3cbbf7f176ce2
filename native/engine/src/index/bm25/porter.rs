//! Porter's stemmer (Porter 1980) as Lucene's PorterStemFilter has it, that is, with the two rules of its author's
//! program that the paper lacks: `bli` for `abli`, and `logi`. It is not the Snowball stemmer of the same name.
//! Characters outside ASCII are consonants. Expects lower case.

/// One letter of a word: a byte of an ASCII word, or a character.
pub(super) trait Letter: Copy + PartialEq {
    /// The letter as ASCII, 0 for every other.
    fn ascii(self) -> u8;
    /// The letter of an ASCII byte.
    fn of(byte: u8) -> Self;
}

impl Letter for u8 {
    fn ascii(self) -> u8 {
        self
    }
    fn of(byte: u8) -> Self {
        byte
    }
}

impl Letter for char {
    fn ascii(self) -> u8 {
        u8::try_from(self).ok().filter(u8::is_ascii).unwrap_or(0)
    }
    fn of(byte: u8) -> Self {
        char::from(byte)
    }
}

/// Stems `word` in place.
pub(super) fn stem<L: Letter>(word: &mut Vec<L>) {
    let mut word = Word(word);
    word.plurals();
    word.past_and_progressive();
    if let Some(stem) = word.stem_before(b"y").filter(|stem| word.has_vowel(*stem)) {
        word.replace(stem, b"i");
    }
    word.double_suffixes();
    word.full_suffixes();
    word.remaining_suffixes();
    word.final_e();
    word.final_double_l();
}

struct Word<'a, L>(&'a mut Vec<L>);

impl<L: Letter> Word<'_, L> {
    fn at(&self, index: usize) -> u8 {
        self.0.get(index).map_or(0, |letter| letter.ascii())
    }

    /// The `back`-th letter from the end, from 1.
    fn last(&self, back: usize) -> u8 {
        self.0
            .len()
            .checked_sub(back)
            .map_or(0, |index| self.at(index))
    }

    fn is_consonant(&self, index: usize) -> bool {
        match self.at(index) {
            b'a' | b'e' | b'i' | b'o' | b'u' => false,
            // a y is a vowel after a consonant: count the run of y before it
            b'y' => {
                let run = (0..index)
                    .rev()
                    .take_while(|before| self.at(*before) == b'y')
                    .count();
                let first = index - run;
                let first_is_consonant =
                    first == 0 || matches!(self.at(first - 1), b'a' | b'e' | b'i' | b'o' | b'u');
                first_is_consonant == (run % 2 == 0)
            }
            _ => true,
        }
    }

    /// How often a consonant follows a vowel in the first `length` letters.
    fn measure(&self, length: usize) -> usize {
        let mut count = 0;
        let mut after_vowel = false;
        let mut consonant = false;
        for index in 0..length {
            consonant = match self.at(index) {
                b'a' | b'e' | b'i' | b'o' | b'u' => false,
                b'y' => index == 0 || !consonant,
                _ => true,
            };
            count += usize::from(consonant && after_vowel);
            after_vowel = !consonant;
        }
        count
    }

    fn has_vowel(&self, length: usize) -> bool {
        (0..length).any(|index| !self.is_consonant(index))
    }

    fn ends_double_consonant(&self) -> bool {
        let length = self.0.len();
        length >= 2
            && self.0.get(length - 1) == self.0.get(length - 2)
            && self.is_consonant(length - 1)
    }

    /// Whether the first `length` letters end consonant, vowel, consonant, the last not w, x or y.
    fn ends_short(&self, length: usize) -> bool {
        length >= 3
            && self.is_consonant(length - 1)
            && !self.is_consonant(length - 2)
            && self.is_consonant(length - 3)
            && !matches!(self.at(length - 1), b'w' | b'x' | b'y')
    }

    /// The length of what stands before `suffix`.
    fn stem_before(&self, suffix: &[u8]) -> Option<usize> {
        let stem = self.0.len().checked_sub(suffix.len())?;
        let tail = self.0.get(stem..)?;
        tail.iter()
            .zip(suffix)
            .all(|(letter, byte)| letter.ascii() == *byte)
            .then_some(stem)
    }

    fn replace(&mut self, stem: usize, suffix: &[u8]) {
        self.0.truncate(stem);
        self.0.extend(suffix.iter().map(|byte| L::of(*byte)));
    }

    /// Applies the first rule whose suffix fits, if its stem is long enough.
    fn apply(&mut self, rules: &[(&[u8], &[u8])], measure_min: usize) {
        for (suffix, replacement) in rules {
            if let Some(stem) = self.stem_before(suffix) {
                if self.measure(stem) >= measure_min {
                    self.replace(stem, replacement);
                }
                return;
            }
        }
    }

    fn plurals(&mut self) {
        if self.last(1) != b's' {
            return;
        }
        if let Some(stem) = self.stem_before(b"sses") {
            self.replace(stem, b"ss");
        } else if let Some(stem) = self.stem_before(b"ies") {
            self.replace(stem, b"i");
        } else if self.last(2) != b's' {
            self.0.pop();
        }
    }

    fn past_and_progressive(&mut self) {
        if let Some(stem) = self.stem_before(b"eed") {
            if self.measure(stem) > 0 {
                self.0.pop();
            }
            return;
        }
        let Some(stem) = self
            .stem_before(b"ed")
            .or_else(|| self.stem_before(b"ing"))
            .filter(|stem| self.has_vowel(*stem))
        else {
            return;
        };
        self.0.truncate(stem);
        if self
            .stem_before(b"at")
            .or_else(|| self.stem_before(b"bl"))
            .or_else(|| self.stem_before(b"iz"))
            .is_some()
        {
            self.0.push(L::of(b'e'));
        } else if self.ends_double_consonant() {
            if !matches!(self.last(1), b'l' | b's' | b'z') {
                self.0.pop();
            }
        } else if self.measure(stem) == 1 && self.ends_short(stem) {
            self.0.push(L::of(b'e'));
        }
    }

    fn double_suffixes(&mut self) {
        let rules: &[(&[u8], &[u8])] = match self.last(2) {
            b'a' => &[(b"ational", b"ate"), (b"tional", b"tion")],
            b'c' => &[(b"enci", b"ence"), (b"anci", b"ance")],
            b'e' => &[(b"izer", b"ize")],
            b'l' => &[
                (b"bli", b"ble"),
                (b"alli", b"al"),
                (b"entli", b"ent"),
                (b"eli", b"e"),
                (b"ousli", b"ous"),
            ],
            b'o' => &[(b"ization", b"ize"), (b"ation", b"ate"), (b"ator", b"ate")],
            b's' => &[
                (b"alism", b"al"),
                (b"iveness", b"ive"),
                (b"fulness", b"ful"),
                (b"ousness", b"ous"),
            ],
            b't' => &[(b"aliti", b"al"), (b"iviti", b"ive"), (b"biliti", b"ble")],
            b'g' => &[(b"logi", b"log")],
            _ => &[],
        };
        self.apply(rules, 1);
    }

    fn full_suffixes(&mut self) {
        let rules: &[(&[u8], &[u8])] = match self.last(1) {
            b'e' => &[(b"icate", b"ic"), (b"ative", b""), (b"alize", b"al")],
            b'i' => &[(b"iciti", b"ic")],
            b'l' => &[(b"ical", b"ic"), (b"ful", b"")],
            b's' => &[(b"ness", b"")],
            _ => &[],
        };
        self.apply(rules, 1);
    }

    fn remaining_suffixes(&mut self) {
        let rules: &[(&[u8], &[u8])] = match self.last(2) {
            b'a' => &[(b"al", b"")],
            b'c' => &[(b"ance", b""), (b"ence", b"")],
            b'e' => &[(b"er", b"")],
            b'i' => &[(b"ic", b"")],
            b'l' => &[(b"able", b""), (b"ible", b"")],
            b'n' => &[
                (b"ant", b""),
                (b"ement", b""),
                (b"ment", b""),
                (b"ent", b""),
            ],
            b'o' if matches!(self.last(4), b's' | b't') => &[(b"ion", b""), (b"ou", b"")],
            b'o' => &[(b"ou", b"")],
            b's' => &[(b"ism", b"")],
            b't' => &[(b"ate", b""), (b"iti", b"")],
            b'u' => &[(b"ous", b"")],
            b'v' => &[(b"ive", b"")],
            b'z' => &[(b"ize", b"")],
            _ => &[],
        };
        self.apply(rules, 2);
    }

    fn final_e(&mut self) {
        if let Some(stem) = self.stem_before(b"e") {
            let measure = self.measure(stem);
            if measure > 1 || (measure == 1 && !self.ends_short(stem)) {
                self.0.pop();
            }
        }
    }

    fn final_double_l(&mut self) {
        if self.last(1) == b'l' && self.ends_double_consonant() && self.measure(self.0.len()) > 1 {
            self.0.pop();
        }
    }
}
