//! Words that a date or a time may hold.

/// What a word means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Month(i64),
    /// A day of the week, `at`, `on`: says nothing new.
    Ignored,
    /// `AD`, `BC`
    Christ {
        before: bool,
    },
    /// `AM`, `PM`
    Noon {
        after: bool,
    },
    /// `allballs`: midnight in UTC
    Midnight,
    /// An abbreviation of a zone: seconds east of UTC.
    Zone(i64),
    Special(Special),
    /// `T` between date and time
    TimeFollows,
    /// `J` before a Julian day
    JulianFollows,
}

/// A word that stands for a day or a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    Now,
    Today,
    Tomorrow,
    Yesterday,
    Epoch,
    Infinity,
    NegativeInfinity,
}

impl Special {
    /// Days from today.
    pub(crate) fn days(self) -> i64 {
        match self {
            Self::Tomorrow => 1,
            Self::Yesterday => -1,
            _ => 0,
        }
    }
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

const DAYS: [&str; 7] = [
    "sunday",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
];

/// Abbreviations of PostgreSQL's default set that mean one offset, in hours. Others are refused.
const ZONES: &[(&str, i64)] = &[
    ("z", 0),
    ("zulu", 0),
    ("utc", 0),
    ("ut", 0),
    ("uct", 0),
    ("gmt", 0),
    ("wet", 0),
    ("bst", 1),
    ("cet", 1),
    ("met", 1),
    ("mez", 1),
    ("cest", 2),
    ("cetdst", 2),
    ("mest", 2),
    ("mesz", 2),
    ("eet", 2),
    ("eest", 3),
    ("msk", 3),
    ("jst", 9),
    ("kst", 9),
    ("est", -5),
    ("edt", -4),
    ("cst", -6),
    ("cdt", -5),
    ("mst", -7),
    ("mdt", -6),
    ("pst", -8),
    ("pdt", -7),
];

/// The meaning of a word in lower case.
pub(crate) fn word(text: &str) -> Option<Word> {
    if let Some(month) = place(text, &MONTHS).or((text == "sept").then_some(8)) {
        return Some(Word::Month(month as i64 + 1));
    }
    if place(text, &DAYS).is_some() {
        return Some(Word::Ignored);
    }
    if let Some((_, hours)) = ZONES.iter().find(|(name, _)| *name == text) {
        return Some(Word::Zone(hours * 3600));
    }
    Some(match text {
        "tue" | "tues" | "wed" | "weds" | "thu" | "thur" | "thurs" | "at" | "on" => Word::Ignored,
        "ad" => Word::Christ { before: false },
        "bc" => Word::Christ { before: true },
        "am" => Word::Noon { after: false },
        "pm" => Word::Noon { after: true },
        "allballs" => Word::Midnight,
        "t" => Word::TimeFollows,
        "j" | "jd" | "julian" => Word::JulianFollows,
        "now" => Word::Special(Special::Now),
        "today" => Word::Special(Special::Today),
        "tomorrow" => Word::Special(Special::Tomorrow),
        "yesterday" => Word::Special(Special::Yesterday),
        "epoch" => Word::Special(Special::Epoch),
        "infinity" => Word::Special(Special::Infinity),
        _ => return None,
    })
}

/// The place of a name that is written in full or with three letters.
fn place(text: &str, names: &[&str]) -> Option<usize> {
    names
        .iter()
        .position(|name| text == *name || (text.len() == 3 && name.starts_with(text)))
}
