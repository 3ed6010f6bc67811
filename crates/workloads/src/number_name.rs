//! Numbers in English words, without "and" and without hyphens: "one hundred twenty three".

const BELOW_TWENTY: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];

const TENS: [&str; 10] = [
    "", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
];

const POWERS_OF_THOUSAND: [(u32, &str); 3] = [
    (1_000_000_000, "billion"),
    (1_000_000, "million"),
    (1000, "thousand"),
];

/// The English name of a number.
pub(crate) fn number_name(number: u32) -> String {
    let mut name = String::with_capacity(48);
    append(&mut name, number);
    if name.is_empty() {
        name.push_str(BELOW_TWENTY[0]);
    }
    name
}

/// Adds the words of a number other than zero.
fn append(name: &mut String, number: u32) {
    let mut rest = number;
    for (power, word) in POWERS_OF_THOUSAND {
        if rest >= power {
            append(name, rest / power);
            append_word(name, word);
            rest %= power;
        }
    }
    if rest >= 100 {
        append_word(name, BELOW_TWENTY[(rest / 100) as usize]);
        append_word(name, "hundred");
        rest %= 100;
    }
    if rest >= 20 {
        append_word(name, TENS[(rest / 10) as usize]);
        rest %= 10;
    }
    if rest > 0 {
        append_word(name, BELOW_TWENTY[rest as usize]);
    }
}

fn append_word(name: &mut String, word: &str) {
    if !name.is_empty() {
        name.push(' ');
    }
    name.push_str(word);
}

#[cfg(test)]
mod tests {
    use super::number_name;

    #[test]
    fn numbers_are_named_without_and_or_hyphens() {
        for (number, name) in [
            (0, "zero"),
            (20, "twenty"),
            (100, "one hundred"),
            (1000, "one thousand"),
            (
                378_878,
                "three hundred seventy eight thousand eight hundred seventy eight",
            ),
            (1_000_001, "one million one"),
            (
                4_294_967_295,
                "four billion two hundred ninety four million nine hundred sixty seven thousand \
                 two hundred ninety five",
            ),
        ] {
            assert_eq!(number_name(number), name);
        }
    }
}
