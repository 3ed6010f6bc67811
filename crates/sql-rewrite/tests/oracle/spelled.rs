//! Names, constants and blanks in all the spellings that the server reads.

/// Random numbers that a seed repeats (SplitMix64).
pub struct Random(u64);

impl Random {
    /// The generator of a seed and a number.
    pub fn of(seed: u64, number: u64) -> Self {
        let mut first = Self(seed);
        Self(first.draw() ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.draw() % bound as u64).expect("less than a usize")
    }

    /// One of the choices.
    pub fn pick<'c>(&mut self, choices: &[&'c str]) -> &'c str {
        choices[self.below(choices.len())]
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// What stands between words. Some of it is no blank to some servers, or to nobody.
const BLANKS: &[&str] = &[
    " ",
    " ",
    " ",
    "\n",
    "\t",
    "\r",
    "\x0c",
    "\x0b",
    "  ",
    "/**/",
    "/* ' */",
    "/* \" */",
    "/*/* */*/",
    "/*/**/ $$ */",
    "/***/",
    "/* -- */",
    "-- '\n",
    "--\r",
    "--/*\n",
    "-- $$\r\n",
    "/*;*/",
    "\u{a0}",
    "\u{2003}",
    "\u{85}",
    "\u{feff}",
    "/* \u{1} */",
    "/* \\' */",
];

/// What stands between words.
pub fn blank(random: &mut Random) -> String {
    match random.once_in(3) {
        true => random.pick(BLANKS).to_owned(),
        false => " ".to_owned(),
    }
}

/// A name in small letters, and names that are like it.
pub fn name(name: &str, random: &mut Random) -> String {
    let mixed = |random: &mut Random| -> String {
        let letters = name.chars();
        letters
            .map(|letter| match random.once_in(2) {
                true => letter.to_ascii_uppercase(),
                false => letter,
            })
            .collect()
    };
    match random.below(14) {
        0 | 1 => mixed(random),
        2 => format!("\"{name}\""),
        3 => format!("\"{}\"", mixed(random)),
        4 => format!("U&\"{}\"", escaped(name, '\\', random)),
        5 => format!(
            "u&\"{}\"{}uescape{}'!'",
            escaped(name, '!', random),
            blank(random),
            blank(random)
        ),
        6 => format!("U&\"{}\" UESCAPE '{}'", escaped(name, '-', random), "-"),
        7 => format!(
            "{name}{}",
            random.pick(&["$", "$1", "$a$", "_", "1", "é", "\u{a0}"])
        ),
        8 => format!(
            "{}{name}",
            random.pick(&["U&", "u& ", "E", "n", "\u{feff}", "$", "1", ""])
        ),
        9 => format!("\"{name}\"\"\""),
        // Small k and s, to some who fold by Unicode.
        10 => name.replacen('s', "ſ", 1).replacen('k', "\u{212a}", 1),
        _ => name.to_owned(),
    }
}

/// `\0063`, `\+000063` for some characters.
fn escaped(text: &str, escape: char, random: &mut Random) -> String {
    let mut out = String::new();
    for character in text.chars() {
        let code = u32::from(character);
        match random.below(4) {
            0 => out.push_str(&format!("{escape}{code:04x}")),
            1 => out.push_str(&format!("{escape}+{code:06X}")),
            _ => out.push(character),
        }
    }
    out
}

/// A constant that means the text, or one that is like it.
pub fn constant(text: &str, random: &mut Random) -> String {
    let doubled = text.replace('\'', "''");
    match random.below(12) {
        0 | 1 => format!(
            "{}'{}'",
            random.pick(&["E", "e"]),
            with_escapes(text, random)
        ),
        2 => format!(
            "U&'{}'",
            escaped(&doubled.replace('\\', "\\\\"), '\\', random)
        ),
        3 => format!(
            "U&'{}' UESCAPE '!'",
            escaped(&doubled.replace('!', "!!"), '!', random)
        ),
        4 => {
            let tag = random.pick(&["", "a", "é", "_1", "A_b", "\u{a0}", "1", "a$b", "person"]);
            format!("${tag}${text}${tag}$")
        }
        5 | 6 => in_parts("'", &doubled, random),
        7 => in_parts("E'", &with_escapes(text, random), random),
        8 => format!("N'{doubled}'"),
        _ => format!("'{doubled}'"),
    }
}

/// `'…'`, a new line, `'…'`
fn in_parts(open: &str, inside: &str, random: &mut Random) -> String {
    let half = random.below(inside.len() + 1);
    let half = (half..=inside.len())
        .find(|at| inside.is_char_boundary(*at))
        .unwrap_or(0);
    let between = random.pick(&[
        "\n", "\r", " \n\t", " -- a\n", "\n--\n ", " --'\n", "\x0c\n", "\x0b\n", " ", "/* \n */",
        "\n/**/", "--\r\r",
    ]);
    format!("{open}{}'{between}'{}'", &inside[..half], &inside[half..])
}

fn with_escapes(text: &str, random: &mut Random) -> String {
    let mut out = String::new();
    for character in text.chars() {
        let code = u32::from(character);
        let is_ascii = character.is_ascii();
        match (character, random.below(9)) {
            ('\'', even) if even % 2 == 0 => out.push_str("\\'"),
            ('\'', _) => out.push_str("''"),
            ('\\', _) => out.push_str("\\\\"),
            (_, 0) if is_ascii => out.push_str(&format!("\\x{code:x}")),
            (_, 1) if is_ascii => out.push_str(&format!("\\{code:o}")),
            (_, 2) if is_ascii => out.push_str(&format!("\\{:o}", code + 256)),
            (_, 3) => out.push_str(&format!("\\u{code:04x}")),
            (_, 4) => out.push_str(&format!("\\U{code:08X}")),
            (_, 5) => out.push_str(&format!("\\{character}")),
            _ => out.push(character),
        }
    }
    out
}

/// A number, mostly; or what looks like one.
pub fn number(random: &mut Random) -> &'static str {
    random.pick(&[
        "1",
        "23",
        "4.5",
        ".5",
        "6.",
        "7e1",
        "8E-2",
        "0x1F",
        "0b11",
        "0o17",
        "1_000",
        "007",
        "1e",
        "1.5.2",
        "12a",
        "0x",
        "1__0",
        "1..2",
        "2147483648",
        "99999999999999999999",
    ])
}
