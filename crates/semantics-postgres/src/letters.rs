//! Large and small letters, as far as the locale of a database tells.
//!
//! `lower`, `upper` and `ILIKE` depend on the provider of the locale, its tables and its version.
//! So a letter is changed only where all of them agree, and any other is refused.

use column_value::ValueError;
use sqlstate::SqlState;

/// How a database changes the case of letters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Letters {
    /// Only those of ASCII, as the locales `C` and `POSIX` do.
    C,
    /// By the tables of Unicode, of some version, without rules of a language.
    Unicode,
    /// Those of ASCII as usual; others are not known.
    #[default]
    Ascii,
    /// By rules of a language: even `i` and `I` may belong to others (`ı`, `İ`).
    OfLanguage,
}

/// Languages whose rules change letters of ASCII, or change others by what stands beside them, by
/// the names that libc, ICU and Windows have for them.
const LANGUAGES: [&str; 14] = [
    "az",
    "azerbaijani",
    "azeri",
    "crh",
    "el",
    "greek",
    "ku",
    "kurdish",
    "lithuanian",
    "lt",
    "tatar",
    "tr",
    "tt",
    "turkish",
];

/// To which case.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Lower,
    Upper,
}

impl Letters {
    /// Those of a database: the provider of its locale as `pg_database.datlocprovider` has it, its
    /// encoding, and its locale.
    pub fn of(provider: &str, encoding: &str, locale: &str) -> Self {
        let locale = locale.to_ascii_lowercase();
        let is_c = matches!(locale.as_str(), "c" | "posix");
        if is_c && matches!(provider, "b" | "c") {
            return Self::C;
        }
        let language = locale.split(|character: char| !character.is_ascii_alphabetic());
        let language = language.into_iter().next().unwrap_or_default();
        if LANGUAGES.contains(&language) {
            return Self::OfLanguage;
        }
        match (provider, encoding) {
            ("b" | "c" | "i", "UTF8") => Self::Unicode,
            ("b" | "c" | "i", _) => Self::Ascii,
            _ => Self::OfLanguage,
        }
    }

    /// `lower(text)`
    ///
    /// # Errors
    /// 0A000: it depends on what is not known.
    pub fn lower(self, text: &str) -> Result<String, ValueError> {
        self.change(text, Case::Lower, "lower")
    }

    /// `upper(text)`
    ///
    /// # Errors
    /// 0A000: it depends on what is not known.
    pub fn upper(self, text: &str) -> Result<String, ValueError> {
        self.change(text, Case::Upper, "upper")
    }

    /// The small letter, for a comparison that does not heed case.
    ///
    /// # Errors
    /// 0A000: it depends on what is not known.
    pub(crate) fn small(self, letter: char) -> Result<char, ValueError> {
        self.changed(letter, Case::Lower)
            .ok_or_else(|| unknown("ILIKE"))
    }

    fn change(self, text: &str, case: Case, name: &str) -> Result<String, ValueError> {
        let letters = text.chars().map(|letter| self.changed(letter, case));
        letters
            .collect::<Option<String>>()
            .ok_or_else(|| unknown(name))
    }

    /// The letter in the other case; None: it is not known.
    fn changed(self, letter: char, case: Case) -> Option<char> {
        let by_ascii = match case {
            Case::Lower => letter.to_ascii_lowercase(),
            Case::Upper => letter.to_ascii_uppercase(),
        };
        match (self, letter) {
            (Self::C, _) => Some(by_ascii),
            (Self::OfLanguage, 'i' | 'I') => None,
            (_, letter) if letter.is_ascii() => Some(by_ascii),
            (Self::Ascii | Self::OfLanguage, _) => None,
            (Self::Unicode, _) => by_unicode(letter, case),
        }
    }
}

/// The letter in the other case, where all versions of Unicode and all languages of
/// [`Letters::Unicode`] agree.
fn by_unicode(letter: char, case: Case) -> Option<char> {
    let (other, is_sure) = match case {
        Case::Lower => (only(letter.to_lowercase()), is_sure_capital(letter)),
        Case::Upper => (only(letter.to_uppercase()), is_sure_small(letter)),
    };
    // A letter that has no other case is left by all.
    other.filter(|other| is_sure || *other == letter)
}

fn only(mut letters: impl ExactSizeIterator<Item = char>) -> Option<char> {
    match letters.len() {
        1 => letters.next(),
        _ => None,
    }
}

/// Latin, Cyrillic, and Greek without the sigma, which is another at the end of a word.
fn is_sure_capital(letter: char) -> bool {
    matches!(letter,
        'À'..='Ö' | 'Ø'..='Þ' | 'Ā'..='Į' | 'Ĳ'..='Ķ' | 'Ĺ'..='Ň' | 'Ŋ'..='Ž'
        | 'Α'..='Ρ' | 'Τ'..='Ω' | 'Ѐ'..='Я')
}

fn is_sure_small(letter: char) -> bool {
    matches!(letter,
        'à'..='ö' | 'ø'..='ÿ' | 'ā'..='į' | 'ĳ'..='ķ' | 'ĺ'..='ň' | 'ŋ'..='ž'
        | 'α'..='ρ' | 'σ'..='ω' | 'а'..='џ')
}

fn unknown(name: &str) -> ValueError {
    ValueError::new(
        SqlState::FEATURE_NOT_SUPPORTED,
        format!(
            "{name} of a text with letters whose case depends on the locale of the database is not \
             supported on protected columns"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_tells_how_letters_change() {
        for (provider, encoding, locale, wanted) in [
            ("c", "UTF8", "C", Letters::C),
            ("c", "LATIN1", "POSIX", Letters::C),
            ("b", "UTF8", "C", Letters::C),
            ("c", "UTF8", "C.UTF-8", Letters::Unicode),
            ("b", "UTF8", "C.UTF-8", Letters::Unicode),
            ("c", "UTF8", "en_US.UTF-8", Letters::Unicode),
            ("c", "UTF8", "English_United States.1252", Letters::Unicode),
            ("i", "UTF8", "de-AT", Letters::Unicode),
            ("c", "LATIN1", "de_DE", Letters::Ascii),
            ("c", "SQL_ASCII", "en_US.UTF-8", Letters::Ascii),
            ("c", "UTF8", "tr_TR.UTF-8", Letters::OfLanguage),
            ("i", "UTF8", "az", Letters::OfLanguage),
            ("i", "UTF8", "C", Letters::Unicode),
            ("x", "UTF8", "en", Letters::OfLanguage),
        ] {
            assert_eq!(Letters::of(provider, encoding, locale), wanted, "{locale}");
        }
    }

    #[test]
    fn letters_that_not_all_change_alike_are_refused() {
        let all = Letters::Unicode;
        assert_eq!(
            all.lower("ÄÖÜß Ž Ω Ж 漢字").as_deref(),
            Ok("äöüß ž ω ж 漢字")
        );
        assert_eq!(
            all.upper("äöüÿ ž ω ж 漢字").as_deref(),
            Ok("ÄÖÜŸ Ž Ω Ж 漢字")
        );
        for text in ["İ", "Σ", "ẞ", "\u{212a}", "ΆΣ"] {
            assert!(all.lower(text).is_err(), "{text}");
        }
        for text in ["ß", "ı", "ŉ", "ſ", "µ", "ΐ", "ა", "ﬁ"] {
            assert!(all.upper(text).is_err(), "{text}");
        }
        assert_eq!(Letters::C.lower("ÄI").as_deref(), Ok("Äi"));
        assert_eq!(Letters::C.upper("äß").as_deref(), Ok("äß"));
        assert_eq!(Letters::Ascii.lower("AI").as_deref(), Ok("ai"));
        assert!(Letters::Ascii.lower("Ä").is_err());
        assert_eq!(Letters::OfLanguage.lower("AB").as_deref(), Ok("ab"));
        assert!(Letters::OfLanguage.lower("I").is_err());
    }
}
