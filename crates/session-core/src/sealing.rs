//! The sealer of the product: the root key, the codec, and buffered randomness.

use std::cell::RefCell;

use column_codec::{
    Codec, ColumnSpec, GroupCodec, GroupSpec, SealError, SpecError, TokenPrefix, VALUE_NONCE_SIZE,
    ValueNonce,
};
use column_value::{Value, ValueError};
use crypto::secret::Key;
use sql_plan::{ColumnId, Purpose};
use sql_rewrite::{ProtectedColumn, Schema};
use sqlstate::SqlState;

use crate::tokens::KnownTokens;

/// The key that all others are derived from.
pub struct Root(Key);

impl Root {
    /// Takes a key.
    pub fn new(key: Key) -> Self {
        Self(key)
    }

    /// What seals and opens the values of the columns of a schema.
    ///
    /// # Errors
    /// A rule that cannot be kept.
    pub fn sealer(&self, schema: &Schema) -> Result<Sealer, SpecError> {
        let specs: Vec<ColumnSpec> = schema.protected.iter().map(spec).collect();
        let codec = Codec::new(&self.0, &specs)?;
        let groups = schema.catalogue.groups.iter();
        let groups = groups.map(|group| GroupSpec {
            table: format!("{}.{}", group.schema, group.table),
            name: group.name.clone(),
            members: group
                .members
                .iter()
                .map(|own| specs[own.0 as usize].clone())
                .collect(),
        });
        let groups: Vec<GroupSpec> = groups.collect();
        let mut places = vec![None; specs.len()];
        for (number, group) in schema.catalogue.groups.iter().enumerate() {
            for (place, member) in group.members.iter().enumerate() {
                places[member.0 as usize] = Some((number, place));
            }
        }
        Ok(Sealer {
            codec,
            groups: GroupCodec::new(&self.0, &groups),
            places,
            tokens: KnownTokens::default(),
        })
    }
}

fn spec(column: &ProtectedColumn) -> ColumnSpec {
    // A column without a domain of a rule has one with a colon, which is its own.
    let own = format!(
        "column:{}.{}.{}",
        column.schema, column.table, column.column
    );
    let layout = column.layout();
    ColumnSpec {
        table: format!("{}.{}", column.schema, column.table),
        column: column.column.clone(),
        domain: (column.domain != own).then(|| column.domain.clone()),
        logical: column.logical,
        mode: layout.mode,
        bits: layout.bits,
        pad: layout.pad,
        equality: layout.equality,
    }
}

/// Seals and opens values of the columns of one schema. Holds keys.
pub struct Sealer {
    codec: Codec,
    groups: GroupCodec,
    /// Of each column that is sealed with others: the group, and its place among the members.
    places: Vec<Option<(usize, usize)>>,
    tokens: KnownTokens,
}

/// The values that were sealed together and opened last.
#[derive(Default)]
pub struct OpenedGroup {
    group: Option<usize>,
    sealed: Vec<u8>,
    values: Vec<Option<Value>>,
}

/// Bytes that were not sealed for their column.
#[derive(Clone, Copy, Debug)]
pub struct Unopened;

impl Sealer {
    /// Appends the sealed value.
    ///
    /// # Errors
    /// A value that the column cannot have.
    #[inline]
    pub fn seal(
        &self,
        column: ColumnId,
        purpose: Purpose,
        value: &Value,
        out: &mut Vec<u8>,
    ) -> Result<(), ValueError> {
        let index = column.0 as usize;
        let sealed = match purpose {
            Purpose::Store => self.codec.seal_store(index, value, fresh_nonce, out),
            Purpose::Match => self.codec.seal_match(index, value, out),
            Purpose::Bound => self.codec.seal_bound(index, value, out),
            // Of tokens alone, which are made of more than the value.
            Purpose::MatchEnd => {
                return Err(ValueError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "a value is compared that has no token",
                ));
            }
        };
        sealed.map_err(|error: SealError| ValueError {
            sqlstate: error.sqlstate(),
            message: error.to_string(),
        })
    }

    /// What the values of all texts begin with that are equal to one. None: the collation key of
    /// the text is not known, or the column has no tokens.
    pub fn token(&self, column: ColumnId, text: &str) -> Option<TokenPrefix> {
        let note = self.codec.text_note(column.0 as usize, text)?;
        self.tokens.find(column, note)
    }

    /// Notes the collation key of a text for a column.
    pub fn note_key(&self, column: ColumnId, text: &str, collation_key: &[u8]) {
        let index = column.0 as usize;
        if let (Some(note), Some(prefix)) = (
            self.codec.text_note(index, text),
            self.codec.token_prefix(index, collation_key),
        ) {
            self.tokens.keep(column, note, prefix);
        }
    }

    /// Appends a sealed value for storage, behind its token.
    ///
    /// # Errors
    /// A value that the column cannot have.
    pub fn seal_behind(
        &self,
        column: ColumnId,
        prefix: &TokenPrefix,
        value: &Value,
        out: &mut Vec<u8>,
    ) -> Result<(), ValueError> {
        let index = column.0 as usize;
        let sealed = self
            .codec
            .seal_behind(index, prefix, value, fresh_nonce(), out);
        sealed.map_err(|error| ValueError::new(error.sqlstate(), error.to_string()))
    }

    /// Appends the sealed value of the members of the group that a column is of, in their order.
    ///
    /// # Errors
    /// A value that its column cannot have, or the members are not known.
    pub fn seal_group(
        &self,
        column: ColumnId,
        values: &[Option<Value>],
        out: &mut Vec<u8>,
    ) -> Result<(), ValueError> {
        let Some((group, _)) = self.places[column.0 as usize] else {
            return Err(ValueError {
                sqlstate: SqlState::FEATURE_NOT_SUPPORTED,
                message: "columns are sealed together whose table is not known yet: send the \
                          statement again"
                    .to_owned(),
            });
        };
        let sealed = self.groups.seal(group, values, fresh_nonce(), out);
        sealed.map_err(|error| ValueError {
            sqlstate: error.sqlstate(),
            message: error.to_string(),
        })
    }

    /// The same as [`Self::open`] for the values of a row. Columns that are sealed together have
    /// one value, which is opened once.
    ///
    /// # Errors
    /// The bytes were not sealed for this column.
    #[inline]
    pub fn open_in_row(
        &self,
        column: ColumnId,
        sealed: &[u8],
        opened: &mut OpenedGroup,
    ) -> Result<Option<Value>, Unopened> {
        let Some((group, place)) = self.places[column.0 as usize] else {
            return self.open(column, sealed);
        };
        if opened.group != Some(group) || opened.sealed != sealed {
            opened.values = self.groups.open(group, sealed).map_err(|_| Unopened)?;
            opened.group = Some(group);
            opened.sealed.clear();
            opened.sealed.extend_from_slice(sealed);
        }
        Ok(opened.values.get(place).cloned().flatten())
    }

    /// Opens a sealed value. None: it is NULL, among values that were sealed together.
    ///
    /// # Errors
    /// The bytes were not sealed for this column.
    #[inline]
    pub fn open(&self, column: ColumnId, sealed: &[u8]) -> Result<Option<Value>, Unopened> {
        match self.places[column.0 as usize] {
            None => {
                let opened = self.codec.open(column.0 as usize, sealed);
                opened.map(Some).map_err(|_| Unopened)
            }
            Some((group, place)) => {
                let opened = self.groups.open(group, sealed);
                let mut values = opened.map_err(|_| Unopened)?;
                Ok(values.get_mut(place).and_then(Option::take))
            }
        }
    }
}

/// The message about a value that does not open.
pub fn unopened(column: &ProtectedColumn) -> String {
    format!(
        "a value of {}.{}.{} does not open: it was changed, moved, or sealed by another key",
        column.schema, column.table, column.column
    )
}

/// Randomness that is drawn from the system at once: a call for each value would cost more than
/// sealing it.
const NONCES_SIZE: usize = 128 * VALUE_NONCE_SIZE;

thread_local! {
    static NONCES: RefCell<(usize, [u8; NONCES_SIZE])> =
        const { RefCell::new((NONCES_SIZE, [0; NONCES_SIZE])) };
}

fn fresh_nonce() -> ValueNonce {
    NONCES.with_borrow_mut(|(used, bytes)| {
        if *used == NONCES_SIZE {
            getrandom::fill(bytes).expect("the system gave randomness when the session began");
            *used = 0;
        }
        let nonce = bytes[*used..][..VALUE_NONCE_SIZE].first_chunk();
        *used += VALUE_NONCE_SIZE;
        *nonce.expect("the size of all is a multiple of that of one")
    })
}
