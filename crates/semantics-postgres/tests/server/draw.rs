//! Draws texts of values: valid ones, and such as are nearly valid.

/// SplitMix64, so that a seed draws the same cases everywhere.
pub struct Draw(u64);

/// Targets of casts and assignments.
pub const TARGETS: [&str; 26] = [
    "boolean",
    "smallint",
    "integer",
    "bigint",
    "real",
    "double precision",
    "numeric",
    "numeric(6,2)",
    "numeric(12,0)",
    "numeric(4,4)",
    "text",
    "character varying(5)",
    "character(5)",
    "bytea",
    "date",
    "time",
    "timestamp",
    "timestamptz",
    "time(0)",
    "time(3)",
    "timestamp(0)",
    "timestamp(3)",
    "timestamp(1) with time zone",
    "timestamp(6)",
    "uuid",
    "json",
];

impl Draw {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    pub fn one_of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }

    pub fn target(&mut self) -> String {
        self.one_of(&TARGETS).to_owned()
    }

    pub fn word(&mut self, alphabet: &str, length_max: u64) -> String {
        let letters: Vec<char> = alphabet.chars().collect();
        (0..=self.below(length_max))
            .map(|_| self.one_of(&letters))
            .collect()
    }

    fn digits(&mut self, count_max: u64) -> String {
        self.word("0123456789", count_max)
    }

    /// The text of a value.
    pub fn text(&mut self, name: &str) -> String {
        match name {
            "boolean" => self
                .one_of(&["t", "f", "true", "no", "ON", "of", "1", "0"])
                .to_owned(),
            "smallint" => self.integer(16),
            "integer" => self.integer(32),
            "bigint" => self.integer(64),
            "numeric" => self.numeric(),
            "real" => self.float(true),
            "double precision" => self.float(false),
            "bytea" => self.bytea(),
            "date" => self.date(),
            "time" => self.time(),
            "timestamp" | "timestamptz" => self.timestamp(),
            "uuid" => self.uuid(),
            "json" => self
                .one_of(&[
                    "{}",
                    "[1, 2.5e3, null]",
                    "\"a\\u00e4\"",
                    " {\"a\": {\"b\": []}} ",
                    "17",
                ])
                .to_owned(),
            _ => self
                .one_of(&[
                    "",
                    "a",
                    "abc  ",
                    "ab cd",
                    "äöüßé",
                    "5",
                    "-1.5",
                    "2026-11-21",
                    "t",
                ])
                .to_owned(),
        }
    }

    /// The text of a value, often with a change that may make it none.
    pub fn rough_text(&mut self, name: &str) -> String {
        let mut text = self.text(name);
        match self.below(6) {
            0 => text.insert(0, ' '),
            1 => text.push_str(self.one_of(&[" ", "\t", "0", "x", ".", "-", "1e5"])),
            2 if !text.is_empty() => {
                let places: Vec<usize> = text.char_indices().map(|(place, _)| place).collect();
                let place = self.one_of(&places);
                text.remove(place);
            }
            _ => {}
        }
        text
    }

    fn integer(&mut self, bits: u32) -> String {
        let number = self.next() as i64 >> (64 - bits);
        match self.below(4) {
            0 => (number >> self.below(u64::from(bits))).to_string(),
            1 => (number % 100).to_string(),
            2 => {
                let greatest = i64::MAX >> (64 - bits);
                self.one_of(&[greatest, -greatest - 1, 0, 1, -1])
                    .to_string()
            }
            _ => number.to_string(),
        }
    }

    fn numeric(&mut self) -> String {
        if self.below(20) == 0 {
            return self
                .one_of(&["NaN", "Infinity", "-inf", "0", "0.000"])
                .to_owned();
        }
        let sign = self.one_of(&["", "-", "+"]);
        let (whole, fraction) = (self.digits(12), self.digits(8));
        match self.below(6) {
            0 => format!("{sign}{whole}"),
            1 => format!("{sign}.{fraction}"),
            2 => format!("{sign}{whole}.{fraction}e{}", self.below(40) as i64 - 20),
            3 => format!("{sign}{}.{}", self.digits(40), self.digits(30)),
            4 => format!("{sign}{}.{}", self.below(100), self.below(100)),
            _ => format!("{sign}{whole}.{fraction}"),
        }
    }

    fn float(&mut self, single: bool) -> String {
        match self.below(8) {
            0 => self
                .one_of(&["NaN", "Infinity", "-Infinity", "0", "-0", "1e23"])
                .to_owned(),
            1 if single => f32::from_bits(self.next() as u32).to_string(),
            1 => format!("{:e}", f64::from_bits(self.next())),
            2 => format!("{}e{}", self.digits(3), self.below(60) as i64 - 30),
            3 => format!("1e{}", self.below(660) as i64 - 330),
            4 => (1_u64 << self.below(63)).to_string(),
            _ => format!("{}.{}", self.digits(8), self.digits(8)),
        }
    }

    fn bytea(&mut self) -> String {
        match self.below(3) {
            0 => format!("{}\\\\\\0{}", self.word("abc", 4), self.word("01234567", 1)),
            _ => format!("\\x{}", self.digits(3).repeat(2)),
        }
    }

    fn uuid(&mut self) -> String {
        let text = format!("{:016x}{:016X}", self.next(), self.next());
        match self.below(3) {
            0 => text,
            1 => format!("{{{text}}}"),
            _ => format!("{}-{}-{}", &text[..8], &text[8..12], &text[12..]),
        }
    }

    fn date(&mut self) -> String {
        let month = self.below(12) + 1;
        let day = self.below(31) + 1;
        let year = match self.below(4) {
            0 => self.below(5_874_900).max(1000),
            1 => self.below(3000).max(100),
            _ => 1890 + self.below(200),
        };
        let name = self.one_of(&["Jan", "february", "MAR", "Sept", "december", "May"]);
        match self.below(16) {
            0 => format!("{month}/{day}/{year}"),
            1 => format!("{name} {day}, {year}"),
            2 => format!("{day} {name} {year}"),
            3 => format!("{day}-{name}-{year}"),
            4 => format!("{year}-{name}-{day}"),
            5 if year < 10_000 => format!("{year:04}{month:02}{day:02}"),
            6 => format!("{month:02}/{day:02}/{:02}", year % 100),
            7 => format!("{:04}-{month}-{day} BC", year % 4800 + 1),
            8 => self
                .one_of(&["infinity", "-infinity", "epoch", "J2451187"])
                .to_owned(),
            9 if year < 10_000 => format!("{year:04}.{:03}", self.below(370)),
            10 => format!("Mon {name} {day} {year}"),
            _ => format!("{year:04}-{month:02}-{day:02}"),
        }
    }

    fn time(&mut self) -> String {
        let (hour, minute, second) = (self.below(25), self.below(60), self.below(61));
        match self.below(8) {
            0 => format!("{hour}:{minute:02}"),
            1 => format!("{hour:02}{minute:02}{second:02}"),
            2 => format!(
                "{}:{minute:02} {}",
                self.below(14),
                self.one_of(&["am", "PM"])
            ),
            3 => format!("{hour:02}:{minute:02}:{second:02}.{}", self.digits(8)),
            4 => self
                .one_of(&["allballs", "24:00:00", "23:59:60", "00:00:00"])
                .to_owned(),
            _ => format!("{hour:02}:{minute:02}:{second:02}"),
        }
    }

    fn timestamp(&mut self) -> String {
        let date = self.date();
        if matches!(date.as_str(), "infinity" | "-infinity" | "epoch") || self.below(10) == 0 {
            return date;
        }
        let zone = match self.below(8) {
            0 => "Z".to_owned(),
            1 => format!("+{:02}", self.below(16)),
            2 => format!("-{:02}:{:02}", self.below(16), self.below(60)),
            3 => format!(
                " {}",
                self.one_of(&["America/New_York", "Asia/Kolkata", "UTC", "CEST"])
            ),
            4 => format!("+{:02}{:02}", self.below(16), self.below(60)),
            _ => String::new(),
        };
        let (before, christ) = match date.strip_suffix(" BC") {
            Some(before) => (before, " BC"),
            None => (date.as_str(), ""),
        };
        let gap = self.one_of(&[" ", " ", "T"]);
        let time = self.time();
        format!("{before}{gap}{time}{zone}{christ}")
    }
}
