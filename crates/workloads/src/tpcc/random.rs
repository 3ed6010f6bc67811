//! Random values of TPC-C: uniform and non-uniform numbers, names and texts (revision 5.11, 2.1.6
//! and 4.3.2).

use crate::mix::mix;

/// Constants C of non-uniform numbers (2.1.6). Those of last names, for rows and for transactions,
/// differ by 85: the clause requires 65 to 119, except 96 and 112.
const C_LAST_OF_ROWS: u32 = 58;
const C_LAST_OF_TRANSACTIONS: u32 = 143;
const C_CUSTOMER: u32 = 317;
const C_ITEM: u32 = 4242;

/// Letters and digits, the alphabet of TPC-C's texts.
const CHARACTERS: &[u8; 62] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// The syllables of last names (4.3.2.3).
const SYLLABLES: [&str; 10] = [
    "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING",
];

/// A random stream that is determined by its coordinates.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The stream for these coordinates.
    pub fn at(place: &[u64]) -> Self {
        let state = place.iter().fold(0, |state, &part| mix(state ^ part));
        Self { state }
    }

    fn next(&mut self) -> u64 {
        // SplitMix64; `mix` adds the same constant first.
        let bits = mix(self.state);
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        bits
    }

    /// A number from `least` to `most`, inclusive.
    pub fn within(&mut self, least: u32, most: u32) -> u32 {
        let count = u64::from(most - least) + 1;
        // The product of 32 and 33 bits fits; its upper part is below `count`.
        least + ((u64::from(self.next() as u32) * count) >> 32) as u32
    }

    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.within(1, 100) <= percent
    }

    /// NURand(A, x, y) of 2.1.6.
    fn uneven(&mut self, a: u32, c: u32, least: u32, most: u32) -> u32 {
        let drawn = self.within(0, a) | self.within(least, most);
        (drawn + c) % (most - least + 1) + least
    }

    /// A customer of `count`.
    pub fn customer(&mut self, count: u32) -> u32 {
        self.uneven(1023, C_CUSTOMER, 1, count)
    }

    /// An item of `count`.
    pub fn item(&mut self, count: u32) -> u32 {
        self.uneven(8191, C_ITEM, 1, count)
    }

    /// The number of a row's last name, out of `count` names.
    pub(super) fn name_of_row(&mut self, count: u32) -> u32 {
        self.uneven(255, C_LAST_OF_ROWS, 0, count - 1)
    }

    /// The number of the last name that a transaction searches for.
    pub(super) fn name_asked_for(&mut self, count: u32) -> u32 {
        self.uneven(255, C_LAST_OF_TRANSACTIONS, 0, count - 1)
    }

    /// Letters and digits, with a length within the bounds (4.3.2.2).
    pub fn text(&mut self, least: u32, most: u32) -> String {
        let length = self.within(least, most);
        self.drawn(length, CHARACTERS)
    }

    /// That many digits.
    pub fn digits(&mut self, length: u32) -> String {
        self.drawn(length, &CHARACTERS[52..])
    }

    /// That many letters.
    pub(super) fn letters(&mut self, length: u32) -> String {
        self.drawn(length, &CHARACTERS[26..52])
    }

    fn drawn(&mut self, length: u32, characters: &[u8]) -> String {
        let last = characters.len() as u32 - 1;
        (0..length)
            .map(|_| char::from(characters[self.within(0, last) as usize]))
            .collect()
    }

    /// Four digits and "11111" (4.3.2.7).
    pub(super) fn zip(&mut self) -> String {
        self.digits(4) + "11111"
    }

    /// A text that contains "ORIGINAL" in 10 % of cases (4.3.3.1).
    pub(super) fn data(&mut self) -> String {
        let mut text = self.text(26, 50);
        if self.chance(10) {
            let place = self.within(0, text.len() as u32 - ORIGINAL.len() as u32) as usize;
            text.replace_range(place..place + ORIGINAL.len(), ORIGINAL);
        }
        text
    }

    /// A random permutation of the numbers from 1 to `count` (4.3.3.1, O_C_ID).
    pub(super) fn permutation(&mut self, count: u32) -> Vec<u32> {
        let mut numbers: Vec<u32> = (1..=count).collect();
        for last in (1..numbers.len()).rev() {
            let other = self.within(0, last as u32) as usize;
            numbers.swap(last, other);
        }
        numbers
    }
}

/// The word that marks goods as original.
pub const ORIGINAL: &str = "ORIGINAL";

/// The last name of that number, 0 to 999 (4.3.2.3).
pub fn last_name(number: u32) -> String {
    [number / 100, number / 10 % 10, number % 10]
        .map(|digit| SYLLABLES[digit as usize])
        .concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_specification() {
        assert_eq!(last_name(0), "BARBARBAR");
        assert_eq!(last_name(371), "PRICALLYOUGHT");
        assert_eq!(last_name(999), "EINGEINGEING");
    }

    #[test]
    fn the_constants_of_names_are_as_far_apart_as_asked_for() {
        let distance = C_LAST_OF_TRANSACTIONS.abs_diff(C_LAST_OF_ROWS);
        assert!((65..=119).contains(&distance) && distance != 96 && distance != 112);
        const {
            assert!(C_LAST_OF_ROWS <= 255 && C_LAST_OF_TRANSACTIONS <= 255);
            assert!(C_CUSTOMER <= 1023 && C_ITEM <= 8191);
        }
    }

    #[test]
    fn numbers_reach_both_bounds_and_none_beyond() {
        let mut random = Random::at(&[1]);
        let drawn: Vec<u32> = (0..1000).map(|_| random.within(3, 7)).collect();
        assert_eq!(drawn.iter().min(), Some(&3));
        assert_eq!(drawn.iter().max(), Some(&7));
        let drawn: Vec<u32> = (0..20_000).map(|_| random.customer(30)).collect();
        assert_eq!(drawn.iter().min(), Some(&1));
        assert_eq!(drawn.iter().max(), Some(&30));
    }

    /// Each of the ten low bits is set in 3 of 4 numbers, so the most frequent tenth of the numbers
    /// is drawn in 62 % of cases.
    #[test]
    fn uneven_numbers_are_uneven() {
        let mut random = Random::at(&[2]);
        let mut counts = vec![0u32; 3001];
        for _ in 0..300_000 {
            counts[random.customer(3000) as usize] += 1;
        }
        counts.sort_unstable();
        let top: u32 = counts.iter().rev().take(300).sum();
        assert!((177_000..195_000).contains(&top), "{top}");
    }

    #[test]
    fn a_tenth_of_the_goods_is_original() {
        let mut random = Random::at(&[3]);
        let texts: Vec<String> = (0..10_000).map(|_| random.data()).collect();
        let original = texts.iter().filter(|text| text.contains(ORIGINAL)).count();
        assert!((850..1150).contains(&original), "{original}");
        assert!(texts.iter().all(|text| (26..=50).contains(&text.len())));
    }

    #[test]
    fn a_permutation_has_each_number_once() {
        let mut numbers = Random::at(&[4]).permutation(3000);
        assert_ne!(numbers[..10], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        numbers.sort_unstable();
        assert!(numbers.iter().copied().eq(1..=3000));
    }
}
