//! The files of a folder, in execution order.

use std::collections::BTreeMap;

use super::{CustomError, CustomFile, CustomTexts, statements};
use crate::Dialect;

const DIALECTS: [Dialect; 3] = [Dialect::Sqlite, Dialect::Postgres, Dialect::Mysql];

/// The purpose of a file, in execution order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    Schema,
    Load,
    Queries,
    /// A numbered file: its name without dialect and extension.
    Further(String),
}

impl Place {
    /// Name of the file for all dialects.
    fn file(&self) -> String {
        match self {
            Self::Schema => "schema.sql".to_owned(),
            Self::Load => "load.sql".to_owned(),
            Self::Queries => "queries.sql".to_owned(),
            Self::Further(name) => format!("{name}.sql"),
        }
    }

    /// Title of a test that consists of a whole file.
    pub(super) fn title(&self, file: &str) -> String {
        match self {
            Self::Schema => "Schema".to_owned(),
            Self::Load => "Load".to_owned(),
            Self::Further(name) => {
                let words = name.trim_start_matches(|first: char| first.is_ascii_digit());
                words.trim_start_matches('-').replace(['-', '_'], " ")
            }
            Self::Queries => file.to_owned(),
        }
    }
}

/// The purpose of a file, and the dialect that it is restricted to, if any.
pub(super) fn place(file: &str) -> Option<(Place, Option<Dialect>)> {
    let stem = file.strip_suffix(".sql")?;
    let (name, dialect) = match stem.split_once('.') {
        None => (stem, None),
        Some((name, word)) => {
            let dialect = DIALECTS
                .into_iter()
                .find(|dialect| dialect.file_word() == word)?;
            (name, Some(dialect))
        }
    };
    let place = match name {
        "schema" => Place::Schema,
        "load" => Place::Load,
        "queries" => Place::Queries,
        _ => {
            let (digits, words) = name.split_once('-')?;
            let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            if !is_number || words.is_empty() {
                return None;
            }
            Place::Further(name.to_owned())
        }
    };
    Some((place, dialect))
}

/// One purpose, and the files for it.
pub(super) struct Step<'a> {
    pub(super) place: Place,
    files: Vec<(Option<Dialect>, &'a CustomFile)>,
}

/// The steps of a workload, in order.
pub(super) fn steps(texts: &CustomTexts) -> Result<Vec<Step<'_>>, CustomError> {
    let mut places: BTreeMap<Place, Vec<(Option<Dialect>, &CustomFile)>> = BTreeMap::new();
    for file in &texts.files {
        let Some((place, dialect)) = place(&file.name) else {
            return Err(CustomError::Name {
                file: file.name.clone(),
            });
        };
        places.entry(place).or_default().push((dialect, file));
    }
    if !places.contains_key(&Place::Schema) {
        return Err(CustomError::Missing {
            file: "schema.sql",
            purpose: "tables there are",
        });
    }
    if places.len() == 1 {
        return Err(CustomError::Missing {
            file: "queries.sql",
            purpose: "is to be timed",
        });
    }
    Ok(places
        .into_iter()
        .map(|(place, files)| Step { place, files })
        .collect())
}

impl<'a> Step<'a> {
    fn exact(&self, dialect: Option<Dialect>) -> Option<&'a CustomFile> {
        self.files
            .iter()
            .find(|(of, _)| *of == dialect)
            .map(|&(_, file)| file)
    }

    /// The file for engines of that dialect.
    pub(super) fn file(&self, dialect: Dialect) -> Result<&'a CustomFile, CustomError> {
        self.exact(Some(dialect))
            .or_else(|| self.exact(None))
            .ok_or_else(|| {
                let other = self.place.file();
                CustomError::Dialect {
                    file: other.replace(".sql", &format!(".{}.sql", dialect.file_word())),
                    other,
                    dialect,
                }
            })
    }

    /// Checks that the file of another dialect, if there is one, has as many statements: answers
    /// are compared one by one.
    pub(super) fn check_counts(&self, found: usize, dialect: Dialect) -> Result<(), CustomError> {
        let file = self.file(dialect)?;
        for (of, other) in &self.files {
            if other.name == file.name {
                continue;
            }
            // If it is malformed, the error is reported to engines that use it.
            let Ok(others) = statements(other, of.unwrap_or(dialect)) else {
                continue;
            };
            let expected = others.len();
            if expected != found {
                return Err(CustomError::Count {
                    file: file.name.clone(),
                    found,
                    other: other.name.clone(),
                    expected,
                });
            }
        }
        Ok(())
    }
}
