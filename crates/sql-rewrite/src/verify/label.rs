//! Labels: what a value is made of, and which values may meet.

use super::Doubt;
use crate::{ColumnId, Literal, Schema, Source};

/// What a value is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Label {
    /// Ciphertext of a column, or of another one of its domain.
    pub sealed: Option<Sealed>,
    /// Data that the server has in clear: of plain columns, or its own.
    pub public: bool,
    /// Constants and parameters that are sent in clear, by index in [`Labels::given`].
    pub clear: Vec<usize>,
    /// It is the constant of no bytes.
    pub is_empty: bool,
}

/// Ciphertext.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sealed {
    pub column: ColumnId,
    /// An array of such.
    pub is_array: bool,
    /// It was not checked as a value that is stored: it was sealed to be compared, or may be of
    /// another column.
    pub is_unchecked: bool,
    /// Only the token with which it begins.
    pub is_token: bool,
}

/// A constant or parameter that is sent in clear.
#[derive(Debug)]
struct Given {
    atom: Atom,
    /// It meets a plain column, or stands where the user says that it is public.
    is_public: bool,
}

/// What shows whether two values may be the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Atom {
    Parameter(usize),
    Text(String),
    /// Numbers, truth values, the empty text: too common to show anything.
    Other,
}

impl Atom {
    pub fn of_text(text: &str) -> Self {
        match text {
            "" => Self::Other,
            text => Self::Text(text.to_owned()),
        }
    }

    pub fn of(source: &Source) -> Self {
        match source {
            Source::Parameter(number) => Self::Parameter(*number),
            Source::Literal(Literal::Text(text)) => Self::of_text(text),
            Source::Literal(_)
            | Source::Calculated(..)
            | Source::Members(_)
            | Source::Computed(_)
            | Source::Locator(_) => Self::Other,
        }
    }
}

impl Label {
    /// NULL, or a value that the proxy fills in: it may meet everything.
    pub fn null() -> Self {
        Self::default()
    }

    pub fn public() -> Self {
        Self {
            public: true,
            ..Self::default()
        }
    }

    pub fn sealed(column: ColumnId) -> Self {
        Self {
            sealed: Some(Sealed {
                column,
                is_array: false,
                is_unchecked: false,
                is_token: false,
            }),
            ..Self::default()
        }
    }

    pub fn sealed_array(column: ColumnId) -> Self {
        let mut label = Self::sealed(column);
        if let Some(sealed) = &mut label.sealed {
            sealed.is_array = true;
        }
        label
    }

    /// The same of a value that was sealed to be compared.
    pub fn compared(mut self) -> Self {
        if let Some(sealed) = &mut self.sealed {
            sealed.is_unchecked = true;
        }
        self
    }

    /// The token with which it begins.
    pub fn token(mut self) -> Self {
        if let Some(sealed) = &mut self.sealed {
            sealed.is_token = true;
            sealed.is_unchecked = true;
        }
        self
    }

    pub fn is_null(&self) -> bool {
        *self == Self::default()
    }

    /// The element of an array.
    pub fn element(mut self) -> Self {
        if let Some(sealed) = &mut self.sealed {
            sealed.is_array = false;
        }
        self
    }

    /// A result that is computed from values in clear; of sealed ones nothing is.
    pub fn computed(mut self) -> Self {
        self.public = true;
        self.is_empty = false;
        self
    }

    /// The label of a value that is one of two.
    fn or(mut self, other: Self) -> Self {
        let both = [self.sealed, other.sealed];
        let is_unchecked = both.iter().flatten().any(|own| own.is_unchecked)
            || matches!(both, [Some(own), Some(other)] if own.column != other.column);
        self.sealed = self.sealed.or(other.sealed);
        if let Some(sealed) = &mut self.sealed {
            sealed.is_unchecked = is_unchecked;
        }
        self.public |= other.public;
        self.is_empty &= other.is_empty;
        for index in other.clear {
            if !self.clear.contains(&index) {
                self.clear.push(index);
            }
        }
        self
    }
}

/// The labels of a statement.
pub(super) struct Labels<'s> {
    pub schema: &'s Schema,
    given: Vec<Given>,
}

impl<'s> Labels<'s> {
    pub fn new(schema: &'s Schema) -> Self {
        Self {
            schema,
            given: Vec::new(),
        }
    }

    /// A value that goes in clear.
    pub fn given(&mut self, atom: Atom) -> Label {
        self.given.push(Given {
            atom,
            is_public: false,
        });
        Label {
            clear: vec![self.given.len() - 1],
            ..Label::default()
        }
    }

    /// It stands where the user says that it is public.
    pub fn make_public(&mut self, label: &Label) {
        for index in &label.clear {
            self.given[*index].is_public = true;
        }
    }

    /// Two values are compared, or one is stored in the other's column.
    pub fn meet(&mut self, one: &Label, other: &Label) -> Result<(), Doubt> {
        match (one.sealed, other.sealed) {
            (Some(one), Some(other)) => self.check_domain(one, other),
            (Some(sealed), None) => self.check_clear(sealed, other),
            (None, Some(sealed)) => self.check_clear(sealed, one),
            (None, None) => {
                if one.public {
                    self.make_public(other);
                }
                if other.public {
                    self.make_public(one);
                }
                Ok(())
            }
        }
    }

    /// A value is stored in a column. One with check constraints takes what was checked for it:
    /// what was sealed to be stored there, or is there already.
    pub fn store(&mut self, given: &Label, target: &Label) -> Result<(), Doubt> {
        if self.is_elsewhere(target) {
            return match given.is_null() || given.is_empty {
                true => Ok(()),
                false => Err(Doubt(
                    "a value would be stored in a column whose values are sealed into another"
                        .to_owned(),
                )),
            };
        }
        self.meet(given, target)?;
        let Some(column) = target.sealed else {
            return Ok(());
        };
        self.check_kept(column.column)?;
        let Some(own) = given.sealed else {
            return Ok(());
        };
        if own.is_token
            || (own.is_unchecked && self.schema.column(own.column).form.tokens.is_some())
        {
            return Err(Doubt(
                "a token would be stored in the place of a value".to_owned(),
            ));
        }
        let is_checked = own.column == column.column && !own.is_unchecked;
        match is_checked || !self.schema.column(column.column).is_checked() {
            true => Ok(()),
            false => Err(Doubt(format!(
                "a value is stored in {}, whose check constraints it has not passed",
                self.title(column)
            ))),
        }
    }

    /// Whether the values of a column are sealed into another one: there is always NULL.
    pub fn is_elsewhere(&self, label: &Label) -> bool {
        let column = label.sealed.map(|sealed| sealed.column);
        column.is_some_and(|column| self.schema.holder_of(column) != Some(column))
    }

    /// The table of a column has all checks of its rule.
    pub fn check_kept(&self, column: ColumnId) -> Result<(), Doubt> {
        let mut checks = self.schema.column(column).checks.own.iter();
        match checks.all(|check| check.is_there) {
            true => Ok(()),
            false => Err(Doubt(format!(
                "a value is stored in {}, which lacks a check of its rule",
                self.schema.title(column)
            ))),
        }
    }

    /// A value that is one of two.
    pub fn merge(&mut self, one: Label, other: Label) -> Result<Label, Doubt> {
        self.meet(&one, &other)?;
        Ok(one.or(other))
    }

    fn check_domain(&self, one: Sealed, other: Sealed) -> Result<(), Doubt> {
        let column = |sealed: Sealed| self.schema.column(sealed.column);
        let is_alike = one.is_array == other.is_array
            && one.is_token == other.is_token
            && column(one).form.tokens == column(other).form.tokens
            && column(one).domain == column(other).domain
            && column(one).mode == column(other).mode;
        match is_alike {
            true => Ok(()),
            false => Err(Doubt(format!(
                "values of {} and of {} meet, which are not of one domain",
                self.title(one),
                self.title(other)
            ))),
        }
    }

    fn check_clear(&self, sealed: Sealed, other: &Label) -> Result<(), Doubt> {
        match other.is_null() {
            true => Ok(()),
            false => Err(Doubt(format!(
                "a value in clear meets protected column {}",
                self.title(sealed)
            ))),
        }
    }

    pub fn title(&self, sealed: Sealed) -> String {
        self.schema.title(sealed.column)
    }

    /// No value that is kept from the server is also in the statement in clear, except where it
    /// meets a plain column.
    pub fn check_hidden(&self, hidden: &[Atom]) -> Result<(), Doubt> {
        let mut free = self.given.iter().filter(|given| !given.is_public);
        let is_hidden = |given: &&Given| given.atom != Atom::Other && hidden.contains(&given.atom);
        match free.find(is_hidden) {
            None => Ok(()),
            Some(_) => Err(Doubt(
                "a value that is sealed, or that the proxy compares, also goes in clear".to_owned(),
            )),
        }
    }
}
