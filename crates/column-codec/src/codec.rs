//! Seals and opens the values of all columns.

use column_value::{EqualityForm, Value};
use crypto::page::{NotAuthentic, TAG_SIZE, Tag};
use crypto::secret::Key;
use crypto::value::{
    BLOCK_CONTENT_SIZE_MAX, BlockSealer, DeterministicSealer, LongSealer, NumberCipher,
    PrefixFunction, SHORT_MAC_SIZE, ShortMac, ValueNonce,
};

use crate::canonical::{self, Class};
use crate::compact;
use crate::errors::{OpenError, SealError};
use crate::keys::{Purpose, derive};
use crate::layout::{KEY_VERSION, SHORT_CONTENT_SIZE_MAX, TOKEN_PREFIX_SIZE};
use crate::order::{Place, Scale, digits, number_of_digits};
use crate::same::{Same, Unfit, among};
use crate::spec::{ColumnSpec, Mode, SpecError};
use crate::token::{TextNote, TokenPrefix, TokenSealer};

/// Maximum size of non-text content that is opened without heap memory.
const SHORT: usize = 32;

/// Seals and opens the values of all protected columns.
pub struct Codec {
    columns: Vec<Column>,
}

struct Column {
    spec: ColumnSpec,
    header: u8,
    sealer: Sealer,
}

enum Sealer {
    Random {
        short: DeterministicSealer,
        long: LongSealer,
    },
    Equality(DeterministicSealer),
    /// Mode equality, for types whose values all have this size, at most 8 bytes.
    Block {
        sealer: BlockSealer,
        size: usize,
    },
    /// Mode equality in its compact form.
    Number(NumberCipher),
    Order {
        scale: Scale,
        function: PrefixFunction,
        mac: ShortMac,
    },
    Token(TokenSealer),
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
            Sealer::Random { short, long } => {
                let nonce = nonce();
                column.seal_content(value, out, |out, content| {
                    if out.len() - content <= SHORT_CONTENT_SIZE_MAX {
                        out.extend(nonce);
                        return short.seal(&mut out[content..]);
                    }
                    let tag = long.seal(&nonce, &[column.header], &mut out[content..]);
                    out.extend(nonce);
                    tag
                })
            }
            Sealer::Equality(sealer) => column.seal_equal(sealer, value, out),
            Sealer::Block { sealer, size } => column.seal_block((sealer, *size), value, out),
            Sealer::Number(cipher) => column.encrypt(cipher, value, out),
            Sealer::Order { scale, .. } => match scale.place(value) {
                Some(Place::At(number)) => {
                    column.seal_number(number, out);
                    Ok(())
                }
                Some(_) => Err(column.range()),
                None => Err(column.wrong_type()),
            },
            // Nothing is stored without the token of its collation key.
            Sealer::Token(_) => Err(column.wrong_mode()),
        }
    }

    /// By what a text of a column is remembered in memory, beside its token. None: the column has
    /// no tokens.
    pub fn text_note(&self, index: usize, text: &str) -> Option<TextNote> {
        match &self.columns[index].sealer {
            Sealer::Token(sealer) => Some(sealer.note(text)),
            _ => None,
        }
    }

    /// What the sealed values of all texts with a collation key begin with. None: the column has no
    /// tokens.
    pub fn token_prefix(&self, index: usize, collation_key: &[u8]) -> Option<TokenPrefix> {
        let column = &self.columns[index];
        match &column.sealer {
            Sealer::Token(sealer) => Some(sealer.prefix(column.header, collation_key)),
            _ => None,
        }
    }

    /// Appends a sealed value for storage in a column with tokens, behind the prefix that its
    /// collation key has.
    ///
    /// # Errors
    ///
    /// [`SealError`]; `out` is then unchanged.
    pub fn seal_behind(
        &self,
        index: usize,
        prefix: &TokenPrefix,
        value: &Value,
        nonce: ValueNonce,
        out: &mut Vec<u8>,
    ) -> Result<(), SealError> {
        let column = &self.columns[index];
        let Sealer::Token(sealer) = &column.sealer else {
            return Err(column.wrong_mode());
        };
        let start = out.len();
        out.extend(prefix);
        out.extend([0; TAG_SIZE]);
        let content = out.len();
        column.encode(value, start, out)?;
        let tag = sealer.long.seal(&nonce, prefix, &mut out[content..]);
        out[content - TAG_SIZE..content].copy_from_slice(&tag);
        out.extend(nonce);
        Ok(())
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
            return column.seal_unused(out);
        };
        match &column.sealer {
            Sealer::Random { .. } | Sealer::Token(_) => Err(column.wrong_mode()),
            Sealer::Equality(sealer) => column.seal_equal(sealer, &value, out),
            Sealer::Block { sealer, size } => column.seal_block((sealer, *size), &value, out),
            Sealer::Number(cipher) => column.encrypt(cipher, &value, out),
            Sealer::Order { scale, .. } => {
                match scale.place(&value) {
                    Some(Place::At(number)) => column.seal_number(number, out),
                    Some(_) => out.push(column.header),
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
            Place::BelowAll => out.push(column.header),
            Place::AboveAll => {
                let size = scale.digits_size() + SHORT_MAC_SIZE + 1;
                out.push(column.header);
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
        match &column.sealer {
            Sealer::Random { short, long } => {
                let (tag, sealed) = tag_and_rest(column.body(sealed)?)?;
                let (sealed_content, nonce) = sealed.split_last_chunk().ok_or(OpenError::Size)?;
                let size = sealed_content.len();
                if size <= SHORT_CONTENT_SIZE_MAX {
                    return column.open_content(sealed.len(), size, |content| {
                        content.copy_from_slice(sealed);
                        short.open(tag, content)
                    });
                }
                column.open_content(size, size, |content| {
                    long.open(nonce, &[column.header], sealed_content, tag, content)
                })
            }
            Sealer::Equality(sealer) => {
                let (tag, sealed) = tag_and_rest(column.body(sealed)?)?;
                column.open_content(sealed.len(), sealed.len(), |content| {
                    content.copy_from_slice(sealed);
                    sealer.open(tag, content)
                })
            }
            Sealer::Block { sealer, size } => {
                let block = column.body(sealed)?;
                let block = block.try_into().map_err(|_| OpenError::Size)?;
                let mut content = [0; BLOCK_CONTENT_SIZE_MAX];
                let content = &mut content[..*size];
                let opened = sealer.open(block, content);
                opened.map_err(|NotAuthentic| OpenError::NotAuthentic)?;
                canonical::decode(content, column.spec.logical).ok_or(OpenError::Content)
            }
            Sealer::Number(cipher) => column.decrypt(cipher, sealed),
            Sealer::Order {
                scale,
                function,
                mac,
            } => {
                let body = column.body(sealed)?;
                open_order(*scale, function, mac, (column.header, body))
            }
            Sealer::Token(sealer) => {
                column.body(sealed)?;
                let (prefix, body) = sealed
                    .split_first_chunk::<TOKEN_PREFIX_SIZE>()
                    .ok_or(OpenError::Size)?;
                let (tag, sealed) = tag_and_rest(body)?;
                let (sealed, nonce) = sealed.split_last_chunk().ok_or(OpenError::Size)?;
                column.open_content(sealed.len(), sealed.len(), |content| {
                    sealer.long.open(nonce, prefix, sealed, tag, content)
                })
            }
        }
    }
}

impl Column {
    fn new(root: &Key, spec: &ColumnSpec) -> Result<Self, SpecError> {
        let scale = spec.check()?;
        let header = spec.mode.header();
        let key = |purpose| derive(root, purpose, KEY_VERSION, spec, scale);
        let deterministic = || {
            let mac = key(Purpose::DeterministicMac);
            DeterministicSealer::new(&mac, &key(Purpose::DeterministicStream), &[header])
        };
        let sealer = match scale {
            Some(scale) => Sealer::Order {
                scale,
                function: PrefixFunction::new(&key(Purpose::OrderDigits)),
                mac: ShortMac::new(&key(Purpose::OrderMac)),
            },
            None if spec.mode == Mode::Random => Sealer::Random {
                short: deterministic(),
                long: LongSealer::new(&key(Purpose::Long)),
            },
            None if matches!(spec.mode, Mode::Token(_)) => Sealer::Token(TokenSealer::new(
                &key(Purpose::Token),
                &key(Purpose::TextNote),
                &key(Purpose::Long),
            )),
            None if spec.equality == EqualityForm::Compact => {
                Sealer::Number(NumberCipher::new(&key(Purpose::Number)))
            }
            None => match spec.layout().block_size() {
                Some(size) => Sealer::Block {
                    sealer: BlockSealer::new(&key(Purpose::Block)),
                    size,
                },
                None => Sealer::Equality(deterministic()),
            },
        };
        Ok(Self {
            spec: spec.clone(),
            header,
            sealer,
        })
    }

    /// What is behind the header of a sealed value.
    fn body<'a>(&self, sealed: &'a [u8]) -> Result<&'a [u8], OpenError> {
        let (&header, body) = sealed.split_first().ok_or(OpenError::Size)?;
        match self.spec.mode.version_in(header) {
            Some(0) => Err(OpenError::Marked),
            Some(KEY_VERSION) => Ok(body),
            Some(version) => Err(OpenError::KeyVersion(version)),
            None => Err(OpenError::Format),
        }
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

    /// Appends a header, a tag, and the content that `seal` changes from the given place on.
    fn seal_content(
        &self,
        value: &Value,
        out: &mut Vec<u8>,
        seal: impl FnOnce(&mut Vec<u8>, usize) -> Tag,
    ) -> Result<(), SealError> {
        let start = out.len();
        out.push(self.header);
        out.extend([0; TAG_SIZE]);
        let content = out.len();
        self.encode(value, start, out)?;
        let tag = seal(out, content);
        out[content - TAG_SIZE..content].copy_from_slice(&tag);
        Ok(())
    }

    fn seal_equal(
        &self,
        sealer: &DeterministicSealer,
        value: &Value,
        out: &mut Vec<u8>,
    ) -> Result<(), SealError> {
        self.seal_content(value, out, |out, content| sealer.seal(&mut out[content..]))
    }

    fn encrypt(
        &self,
        cipher: &NumberCipher,
        value: &Value,
        out: &mut Vec<u8>,
    ) -> Result<(), SealError> {
        let number = compact::number_of(value, self.spec.logical);
        let number = number.ok_or_else(|| self.wrong_type())?;
        out.extend(cipher.encrypt(number as u64).to_be_bytes());
        Ok(())
    }

    fn decrypt(&self, cipher: &NumberCipher, sealed: &[u8]) -> Result<Value, OpenError> {
        let sealed = sealed.try_into().map_err(|_| OpenError::Size)?;
        let number = cipher.decrypt(u64::from_be_bytes(sealed)) as i64;
        compact::value_of(number, self.spec.logical).ok_or(OpenError::NotAuthentic)
    }

    /// What equals no stored value.
    fn seal_unused(&self, out: &mut Vec<u8>) -> Result<(), SealError> {
        let Sealer::Number(cipher) = &self.sealer else {
            out.push(self.header);
            return Ok(());
        };
        let unused = compact::unused(self.spec.logical).ok_or_else(|| SealError::NoUnused {
            table: self.spec.table.clone(),
            column: self.spec.column.clone(),
        })?;
        out.extend(cipher.encrypt(unused as u64).to_be_bytes());
        Ok(())
    }

    /// Seals a value of so many bytes into one block.
    fn seal_block(
        &self,
        (sealer, size): (&BlockSealer, usize),
        value: &Value,
        out: &mut Vec<u8>,
    ) -> Result<(), SealError> {
        let start = out.len();
        self.encode(value, start, out)?;
        let block = sealer.seal(&out[start..start + size]);
        out.truncate(start);
        out.push(self.header);
        out.extend(block);
        Ok(())
    }

    /// Appends the content of a value. If it is of another type, what is there from `start` on
    /// goes.
    fn encode(&self, value: &Value, start: usize, out: &mut Vec<u8>) -> Result<(), SealError> {
        let form = (self.spec.mode == Mode::Random, self.spec.pad);
        if canonical::encode(value, self.spec.logical, form, out) {
            return Ok(());
        }
        out.truncate(start);
        Err(self.wrong_type())
    }

    /// Seals a number for a column in mode `order`.
    fn seal_number(&self, number: u64, out: &mut Vec<u8>) {
        let Sealer::Order {
            scale,
            function,
            mac,
        } = &self.sealer
        else {
            return;
        };
        out.push(self.header);
        digits(function, *scale, number, |byte| out.push(byte));
        out.extend(mac.of(&authenticated(self.header, number)));
    }

    /// Decodes the first `size` bytes of what `open` writes into a buffer of `buffer_size`.
    fn open_content(
        &self,
        buffer_size: usize,
        size: usize,
        open: impl FnOnce(&mut [u8]) -> Result<(), NotAuthentic>,
    ) -> Result<Value, OpenError> {
        let open = |content: &mut [u8]| {
            let opened = open(content);
            opened.map_err(|NotAuthentic| OpenError::NotAuthentic)
        };
        let logical = self.spec.logical;
        let value = if Class::of(logical).is_long() {
            let mut content = vec![0; buffer_size];
            open(&mut content)?;
            content.truncate(size);
            canonical::decode_long(content, logical)
        } else {
            let (mut short, mut long) = ([0; SHORT], Vec::new());
            let content = match short.get_mut(..buffer_size) {
                Some(content) => content,
                None => {
                    long.resize(buffer_size, 0);
                    &mut long[..]
                }
            };
            open(content)?;
            canonical::decode(&content[..size], logical)
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

/// What the code of a value of mode `order` is computed of. It stands for the digits too: each
/// number has its own, and [`number_of_digits`] reads no others.
fn authenticated(header: u8, number: u64) -> [u8; 9] {
    let [a, b, c, d, e, f, g, h] = number.to_be_bytes();
    [header, a, b, c, d, e, f, g, h]
}

fn tag_and_rest(body: &[u8]) -> Result<(&Tag, &[u8]), OpenError> {
    body.split_first_chunk().ok_or(OpenError::Size)
}

fn open_order(
    scale: Scale,
    function: &PrefixFunction,
    mac: &ShortMac,
    (header, body): (u8, &[u8]),
) -> Result<Value, OpenError> {
    let (digits, code) = body
        .split_last_chunk::<SHORT_MAC_SIZE>()
        .ok_or(OpenError::Size)?;
    if digits.len() != scale.digits_size() {
        return Err(OpenError::Size);
    }
    let number = number_of_digits(function, scale, digits).ok_or(OpenError::NotAuthentic)?;
    if !mac.is_of(&authenticated(header, number), code) {
        return Err(OpenError::NotAuthentic);
    }
    scale.value(number).ok_or(OpenError::Content)
}
