//! Seals and opens the values of all columns.

use column_value::{LogicalType, Value};
use crypto::page::{TAG_SIZE, Tag};
use crypto::secret::Key;
use crypto::value::{
    DeterministicSealer, PrefixFunction, RandomSealer, VALUE_NONCE_SIZE, ValueNonce,
};
use sqlstate::SqlState;
use subtle::ConstantTimeEq;

use crate::canonical::{self, Class};
use crate::keys::{Purpose, derive};
use crate::order::{DIGITS_SIZE_MAX, Place, Scale, digits};
use crate::same::{Same, Unfit, among};
use crate::spec::{ColumnSpec, Mode, SpecError};

/// Size of the header: format (the mode) and key version, the first bytes of every sealed value.
pub const HEADER_SIZE: usize = 2;

/// The version of the keys that values are sealed with.
pub const KEY_VERSION: u8 = 1;

/// Maximum size of non-text content that is opened without heap memory.
const SHORT: usize = 32;

/// Seals and opens the values of all protected columns.
pub struct Codec {
    columns: Vec<Column>,
}

struct Column {
    spec: ColumnSpec,
    header: [u8; HEADER_SIZE],
    sealer: Sealer,
}

enum Sealer {
    Random(RandomSealer),
    Equality(DeterministicSealer),
    Order {
        scale: Scale,
        function: PrefixFunction,
        number: DeterministicSealer,
    },
}

/// Why a value cannot be sealed for its column.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The value has another type.
    #[error("{table}.{column} is of type {logical} and the value is of another: cast it")]
    Type {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The column's type.
        logical: LogicalType,
    },
    /// The value is out of the range declared by the rule.
    #[error(
        "value out of range for {table}.{column}: its rule keeps {bits} bits in order, whole \
         numbers from 0 on; declare more bits, or none"
    )]
    Range {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// Bits of the rule.
        bits: u8,
    },
    /// The value is out of the range of the type with which the server would compare it.
    #[error("value is out of range for type double precision")]
    FloatRange,
    /// The server would round the column's values to compare them.
    #[error(
        "{table}.{column} is of type {logical}, and is compared with a floating number as such: \
         several of its values would be rounded to one; pass the value as {logical}"
    )]
    Rounded {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The column's type.
        logical: LogicalType,
    },
    /// The column's mode does not support the operation.
    #[error("{table}.{column} cannot be compared so: change the mode of its rule")]
    Mode {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
}

impl SealError {
    /// As PostgreSQL's appendix A has it.
    pub fn sqlstate(&self) -> SqlState {
        match self {
            Self::Type { .. } => SqlState::DATATYPE_MISMATCH,
            Self::Range { .. } | Self::FloatRange => SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            Self::Rounded { .. } | Self::Mode { .. } => SqlState::FEATURE_NOT_SUPPORTED,
        }
    }
}

/// Why bytes are not a sealed value of their column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Too short, or of a length that the mode does not have.
    #[error("no sealed value: it was not written through the proxy, or was cut")]
    Size,
    /// Sealed in another mode, or not a sealed value.
    #[error(
        "sealed in another mode, or no sealed value: the rule was changed after it was written"
    )]
    Format,
    /// Sealed under another version of the keys.
    #[error("sealed with keys of version {0}, which are not loaded")]
    KeyVersion(u8),
    /// Damaged, of another column, or sealed with another root key.
    #[error("not authentic: another root key, moved from another column, or damaged")]
    NotAuthentic,
    /// Authentic, but not a value of the type: the rule's type was changed.
    #[error("sealed as a value of another type: the rule's type was changed")]
    Content,
}

impl Codec {
    /// Derives and expands the keys of all columns.
    ///
    /// # Errors
    ///
    /// [`SpecError`] for a rule that cannot be implemented.
    pub fn new(root: &Key, columns: &[ColumnSpec]) -> Result<Self, SpecError> {
        let columns = columns.iter().map(|spec| Column::new(root, spec));
        Ok(Self {
            columns: columns.collect::<Result<_, _>>()?,
        })
    }

    /// The number of columns.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Appends a sealed value for storage. It must be of the column's type: see `assign` of
    /// `semantics-postgres`. The nonce is requested only in mode `random`, and must be random.
    ///
    /// # Errors
    ///
    /// [`SealError`]; `out` is then unchanged.
    pub fn seal_store(
        &self,
        index: usize,
        value: &Value,
        nonce: impl FnOnce() -> ValueNonce,
        out: &mut Vec<u8>,
    ) -> Result<(), SealError> {
        let column = &self.columns[index];
        match &column.sealer {
            Sealer::Random(sealer) => column.seal_random(sealer, value, &nonce(), out),
            Sealer::Equality(sealer) => column.seal_equality(sealer, value, out),
            Sealer::Order { scale, .. } => match scale.place(value) {
                Some(Place::At(number)) => {
                    column.seal_number(number, out);
                    Ok(())
                }
                Some(_) => Err(column.range()),
                None => Err(column.wrong_type()),
            },
        }
    }

    /// Appends a sealed value to compare with stored ones for equality. A value that the column
    /// cannot have becomes one that equals no stored value.
    ///
    /// # Errors
    ///
    /// [`SealError`]; `out` is then unchanged.
    pub fn seal_match(
        &self,
        index: usize,
        value: &Value,
        out: &mut Vec<u8>,
    ) -> Result<(), SealError> {
        let column = &self.columns[index];
        let Same::Exact(value) = column.among(value)? else {
            out.extend(column.header);
            return Ok(());
        };
        match &column.sealer {
            Sealer::Random(_) => Err(column.wrong_mode()),
            Sealer::Equality(sealer) => column.seal_equality(sealer, &value, out),
            Sealer::Order { scale, .. } => {
                match scale.place(&value) {
                    Some(Place::At(number)) => column.seal_number(number, out),
                    Some(_) => out.extend(column.header),
                    None => return Err(column.wrong_type()),
                }
                Ok(())
            }
        }
    }

    /// Appends a sealed value to compare with stored ones for order, for `<` as for `<=`. A value
    /// that the column cannot have is placed correctly among those that it can.
    ///
    /// # Errors
    ///
    /// [`SealError`]; `out` is then unchanged.
    pub fn seal_bound(
        &self,
        index: usize,
        value: &Value,
        out: &mut Vec<u8>,
    ) -> Result<(), SealError> {
        let column = &self.columns[index];
        let Sealer::Order { scale, .. } = &column.sealer else {
            return Err(column.wrong_mode());
        };
        let place = |value: &Value| scale.place(value).ok_or_else(|| column.wrong_type());
        let place = match column.among(value)? {
            Same::Exact(value) => place(&value)?,
            Same::Above(below) => match place(&below)? {
                Place::At(number) => Place::Above(number),
                beyond => beyond,
            },
            Same::BelowAll => Place::BelowAll,
            Same::AboveAll => Place::AboveAll,
        };
        match place {
            Place::At(number) => column.seal_number(number, out),
            Place::Above(number) => {
                // One byte more sorts after the number itself, and before all numbers with greater
                // digits.
                column.seal_number(number, out);
                out.push(0);
            }
            // The common prefix of all sealed values.
            Place::BelowAll => out.extend(column.header),
            Place::AboveAll => {
                let size = scale.digits_size() + TAG_SIZE + scale.number_size() + 1;
                out.extend(column.header);
                out.resize(out.len() + size, 0xff);
            }
        }
        Ok(())
    }

    /// Opens a sealed value. It is returned as stored, except that modes `equality` and `order`
    /// return -0 as 0, and `numeric` without declared scale without trailing zeros.
    ///
    /// # Errors
    ///
    /// [`OpenError`]
    pub fn open(&self, index: usize, sealed: &[u8]) -> Result<Value, OpenError> {
        let column = &self.columns[index];
        let (header, body) = sealed
            .split_first_chunk::<HEADER_SIZE>()
            .ok_or(OpenError::Size)?;
        if header[0] != column.header[0] {
            return Err(OpenError::Format);
        }
        if header[1] != column.header[1] {
            return Err(OpenError::KeyVersion(header[1]));
        }
        match &column.sealer {
            Sealer::Random(sealer) => column.open_random(sealer, body),
            Sealer::Equality(sealer) => {
                let (tag, content) = body.split_first_chunk().ok_or(OpenError::Size)?;
                column.open_content(content.len(), |out| {
                    out.copy_from_slice(content);
                    sealer.open(tag, out)
                })
            }
            Sealer::Order {
                scale,
                function,
                number,
            } => open_order(*scale, function, number, body),
        }
    }
}

impl Column {
    fn new(root: &Key, spec: &ColumnSpec) -> Result<Self, SpecError> {
        let scale = spec.check()?;
        let header = [spec.mode.code(), KEY_VERSION];
        let key = |purpose| derive(root, purpose, KEY_VERSION, spec, scale);
        let deterministic = || {
            let mac = key(Purpose::DeterministicMac);
            DeterministicSealer::new(&mac, &key(Purpose::DeterministicStream), &header)
        };
        let sealer = match scale {
            Some(scale) => Sealer::Order {
                scale,
                function: PrefixFunction::new(&key(Purpose::OrderDigits)),
                number: deterministic(),
            },
            None if spec.mode == Mode::Random => {
                Sealer::Random(RandomSealer::new(&key(Purpose::Random)))
            }
            None => Sealer::Equality(deterministic()),
        };
        Ok(Self {
            spec: spec.clone(),
            header,
            sealer,
        })
    }

    fn among<'a>(&self, value: &'a Value) -> Result<Same<'a>, SealError> {
        among(value, self.spec.logical).map_err(|unfit| match unfit {
            Unfit::Type => self.wrong_type(),
            Unfit::FloatRange => SealError::FloatRange,
            Unfit::Rounded => SealError::Rounded {
                table: self.spec.table.clone(),
                column: self.spec.column.clone(),
                logical: self.spec.logical,
            },
        })
    }

    fn seal_random(
        &self,
        sealer: &RandomSealer,
        value: &Value,
        nonce: &ValueNonce,
        out: &mut Vec<u8>,
    ) -> Result<(), SealError> {
        let start = out.len();
        out.extend(self.header);
        out.extend(nonce);
        let content = out.len();
        if !canonical::encode(value, self.spec.logical, true, out) {
            out.truncate(start);
            return Err(self.wrong_type());
        }
        let tag = sealer.seal(nonce, &self.header, &mut out[content..]);
        out.extend(tag);
        Ok(())
    }

    fn seal_equality(
        &self,
        sealer: &DeterministicSealer,
        value: &Value,
        out: &mut Vec<u8>,
    ) -> Result<(), SealError> {
        let start = out.len();
        out.extend(self.header);
        out.extend([0; TAG_SIZE]);
        let content = out.len();
        if !canonical::encode(value, self.spec.logical, false, out) {
            out.truncate(start);
            return Err(self.wrong_type());
        }
        let tag = sealer.seal(&mut out[content..]);
        out[content - TAG_SIZE..content].copy_from_slice(&tag);
        Ok(())
    }

    /// Seals a number for a column in mode `order`.
    fn seal_number(&self, number: u64, out: &mut Vec<u8>) {
        let Sealer::Order {
            scale,
            function,
            number: sealer,
        } = &self.sealer
        else {
            return;
        };
        out.extend(self.header);
        digits(function, *scale, number, |byte| out.push(byte));
        let mut bytes = number.to_be_bytes();
        let bytes = &mut bytes[8 - scale.number_size()..];
        let tag = sealer.seal(bytes);
        out.extend(tag);
        out.extend(&*bytes);
    }

    fn open_random(&self, sealer: &RandomSealer, body: &[u8]) -> Result<Value, OpenError> {
        let (nonce, rest) = body
            .split_first_chunk::<VALUE_NONCE_SIZE>()
            .ok_or(OpenError::Size)?;
        let (content, tag) = rest.split_last_chunk::<TAG_SIZE>().ok_or(OpenError::Size)?;
        self.open_content(content.len(), |out| {
            sealer.open(nonce, &self.header, content, tag, out)
        })
    }

    /// Makes room, calls `open` to fill it, and decodes the value there.
    fn open_content(
        &self,
        size: usize,
        open: impl FnOnce(&mut [u8]) -> Result<(), crypto::page::NotAuthentic>,
    ) -> Result<Value, OpenError> {
        let logical = self.spec.logical;
        let value = if Class::of(logical).is_padded() {
            let mut content = vec![0; size];
            open(&mut content).map_err(|_| OpenError::NotAuthentic)?;
            canonical::decode_padded(content, logical)
        } else {
            let (mut short, mut long) = ([0; SHORT], Vec::new());
            let content = match short.get_mut(..size) {
                Some(content) => content,
                None => {
                    long.resize(size, 0);
                    &mut long[..]
                }
            };
            open(content).map_err(|_| OpenError::NotAuthentic)?;
            canonical::decode(content, logical)
        };
        value.ok_or(OpenError::Content)
    }

    fn wrong_type(&self) -> SealError {
        SealError::Type {
            table: self.spec.table.clone(),
            column: self.spec.column.clone(),
            logical: self.spec.logical,
        }
    }

    fn wrong_mode(&self) -> SealError {
        SealError::Mode {
            table: self.spec.table.clone(),
            column: self.spec.column.clone(),
        }
    }

    fn range(&self) -> SealError {
        match self.spec.bits {
            Some(bits) => SealError::Range {
                table: self.spec.table.clone(),
                column: self.spec.column.clone(),
                bits,
            },
            None => self.wrong_type(),
        }
    }
}

fn open_order(
    scale: Scale,
    function: &PrefixFunction,
    sealer: &DeterministicSealer,
    body: &[u8],
) -> Result<Value, OpenError> {
    let (stored, rest) = body
        .split_at_checked(scale.digits_size())
        .ok_or(OpenError::Size)?;
    let (tag, sealed) = rest
        .split_first_chunk::<TAG_SIZE>()
        .ok_or(OpenError::Size)?;
    let tag: &Tag = tag;
    if sealed.len() != scale.number_size() {
        return Err(OpenError::Size);
    }
    let mut bytes = [0; 8];
    let number = &mut bytes[8 - sealed.len()..];
    number.copy_from_slice(sealed);
    sealer
        .open(tag, number)
        .map_err(|_| OpenError::NotAuthentic)?;
    let number = u64::from_be_bytes(bytes);
    // The tag does not cover the digits, so they are compared with those computed from the number.
    let (mut expected, mut size) = ([0; DIGITS_SIZE_MAX], 0);
    digits(function, scale, number, |byte| {
        expected[size] = byte;
        size += 1;
    });
    if !bool::from(expected[..size].ct_eq(stored)) {
        return Err(OpenError::NotAuthentic);
    }
    scale.value(number).ok_or(OpenError::Content)
}
