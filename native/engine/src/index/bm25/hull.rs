//! The bound of a block of postings: the pairs of frequency and length code that can score best for some average
//! length. The score grows with `frequency / (length + g)` for a `g >= 0` that k1 does not touch, so the upper hull
//! of the pairs bounds the block for every k1, b and average length. Three pairs are kept; a larger hull is covered
//! by pairs that dominate what they replace.

use super::score::code_length;

/// Pairs kept for a block.
pub(super) const PAIRS: usize = 3;
/// A stored frequency that stands for itself and every greater one.
pub(super) const FREQUENCY_MAX: u8 = u8::MAX;

/// A frequency (0: unused, 255: any from there) and a length code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) frequency: u8,
    pub(super) code: u8,
}

impl Pair {
    fn height(self) -> u64 {
        u64::from(self.frequency)
    }

    fn length(self) -> u64 {
        code_length(self.code)
    }
}

/// The bound of rows given by frequency and length code.
pub(super) fn bound(rows: impl Iterator<Item = (u32, u8)>) -> [Pair; PAIRS] {
    let mut best = [0u8; 256];
    for (frequency, code) in rows {
        let frequency = u8::try_from(frequency).unwrap_or(FREQUENCY_MAX);
        if let Some(slot) = best.get_mut(usize::from(code)) {
            *slot = (*slot).max(frequency);
        }
    }
    let mut hull: Vec<Pair> = Vec::new();
    let mut highest = 0;
    for (code, frequency) in (0..=u8::MAX).zip(best) {
        if frequency > highest {
            highest = frequency;
            push(&mut hull, Pair { frequency, code });
        }
    }
    while hull.len() > PAIRS {
        cover_cheapest(&mut hull);
    }
    let mut pairs = [Pair::default(); PAIRS];
    for (slot, pair) in pairs.iter_mut().zip(hull) {
        *slot = pair;
    }
    pairs
}

/// Adds a longer row of higher frequency and drops what it hides.
fn push(hull: &mut Vec<Pair>, pair: Pair) {
    while let Some([before, last]) = hull.last_chunk::<2>() {
        let under_chord = (last.height() - before.height()) * (pair.length() - before.length())
            <= (pair.height() - before.height()) * (last.length() - before.length());
        if !under_chord {
            break;
        }
        hull.pop();
    }
    if let [only] = hull.as_slice()
        && pair.height() * only.length() >= only.height() * pair.length()
    {
        hull.clear();
    }
    hull.push(pair);
}

/// Replaces the neighbours that lie closest by one pair at least as good as both.
fn cover_cheapest(hull: &mut Vec<Pair>) {
    let cost = |pair: &[Pair]| match pair {
        [a, b] => (b.height() - a.height()) * b.length() + (b.length() - a.length()) * b.height(),
        _ => u64::MAX,
    };
    let cheapest = hull
        .windows(2)
        .enumerate()
        .min_by_key(|(_, pair)| cost(pair))
        .map(|(index, _)| index);
    let Some(index) = cheapest else { return };
    let short = hull.remove(index);
    if let Some(long) = hull.get_mut(index) {
        long.code = short.code;
    }
}
