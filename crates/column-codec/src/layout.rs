//! What sealed values look like to the server: how they begin, and how long they are. The guards
//! and the columns of all servers follow this file. It needs no keys.

use column_value::{EqualityForm, LogicalType, Pad};
use crypto::page::TAG_SIZE;
use crypto::value::{BLOCK_CONTENT_SIZE_MAX, SHORT_MAC_SIZE, TOKEN_SIZE, VALUE_NONCE_SIZE};

use crate::canonical::{Class, DECIMAL_DIGITS_MAX, NUMBER_SIZE, digits_size, whole_size};
use crate::compact;
use crate::order::Scale;
use crate::spec::{ColumnSpec, Mode};

/// Size of the header: one byte names mode and key version.
pub const HEADER_SIZE: usize = 1;

/// The version of the keys that values are sealed with, from 1 to [`KEY_VERSION_MAX`].
pub const KEY_VERSION: u8 = 1;

/// Size of what equal texts of a [`Mode::Token`] begin with: the header, the form of the token, and
/// the token.
pub const TOKEN_PREFIX_SIZE: usize = HEADER_SIZE + 1 + TOKEN_SIZE;

/// There is room for this many versions in the header.
pub const KEY_VERSION_MAX: u8 = 7;

/// Longer contents of mode random are sealed by another cipher, which is faster for them.
pub(crate) const SHORT_CONTENT_SIZE_MAX: usize = 64;

/// Bytes that stand for a constraint in a sealed value that fails it, behind the header.
pub const CHECK_MARK_SIZE: usize = 16;

impl Mode {
    /// Those that columns of every server may have.
    pub const ALL: [Self; 3] = [Self::Random, Self::Equality, Self::Order];

    /// What the header is counted from. No text in UTF-8 begins with a byte from 0x80 to 0xbf, and
    /// no text in a code page of Windows for western languages with 0x81, 0x90 or 0x9d, which have
    /// no letter there. 0x9d begins nothing in CBOR, and in `MessagePack` an array of 13 values.
    const fn base(self) -> u8 {
        match self {
            Self::Order => 0x80,
            Self::Equality => 0x8f,
            Self::Random => 0x9c,
            Self::Token(_) => 0xa8,
        }
    }

    /// The header: the first byte of every sealed value of the mode.
    pub const fn header(self) -> u8 {
        self.base() + KEY_VERSION
    }

    /// What a value that fails a check has in the place of its header. A guard refuses it.
    pub const fn marked_header(self) -> u8 {
        self.base()
    }

    /// The version of the keys in a header of the mode; 0: it has the mark of a check. None: it is
    /// of another mode.
    pub(crate) fn version_in(self, header: u8) -> Option<u8> {
        let version = header.checked_sub(self.base())?;
        (version <= KEY_VERSION_MAX).then_some(version)
    }
}

/// Whether a value that is sealed now begins so, with the mark of a check or without.
pub fn may_begin(byte: u8) -> bool {
    let mut versions = Mode::ALL.iter().filter_map(|mode| mode.version_in(byte));
    versions.any(|version| version <= KEY_VERSION)
}

/// What sizes the sealed values of a column have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The type of its values.
    pub logical: LogicalType,
    /// The mode.
    pub mode: Mode,
    /// Bits of mode order, if the rule gives them.
    pub bits: Option<u8>,
    /// How far texts are padded.
    pub pad: Pad,
    /// In which form mode equality keeps them.
    pub equality: EqualityForm,
}

impl Layout {
    /// Whether the server keeps the values as numbers of 64 bits: their 8 bytes are such a number,
    /// high byte first. Else they are bytes.
    pub fn is_number(self) -> bool {
        self.mode == Mode::Equality && self.equality == EqualityForm::Compact
    }

    /// The least size. A greater step of padding than the usual one changes nothing here, so that
    /// the guard of a column stays the same.
    pub fn size_min(self) -> u64 {
        let pad = if self.pad == Pad::NONE {
            self.pad
        } else {
            Pad::default()
        };
        match self.scale() {
            Some(scale) => order_size(scale),
            None => Self { pad, ..self }.sealed_size(0),
        }
    }

    /// The greatest size; None: the type sets no limit, or the mode is not for it.
    pub fn size_max(self) -> Option<u64> {
        if self.mode == Mode::Order {
            return self.scale().map(order_size);
        }
        let units = match self.logical {
            // Of four bytes each.
            LogicalType::Varchar(length) => 4 * u64::from(length?),
            LogicalType::Char(length) => 4 * u64::from(length),
            LogicalType::Enum(_) | LogicalType::Set(_) => self.logical.labels_size_max()? as u64,
            LogicalType::Numeric(Some((precision @ ..=DECIMAL_DIGITS_MAX, _))) => {
                digits_size(precision)
            }
            LogicalType::Numeric(_) => return None,
            logical if logical.has_length() => return None,
            _ => 0,
        };
        Some(self.sealed_size(units))
    }

    fn scale(self) -> Option<Scale> {
        let scale = (self.mode == Mode::Order).then(|| Scale::of(self.logical));
        match self.bits {
            None => scale?,
            Some(bits) => scale??.with_bits(bits),
        }
    }

    /// The size of the content, if it is sealed into one block.
    pub(crate) fn block_size(self) -> Option<usize> {
        let has_one_size = matches!(
            Class::of(self.logical),
            Class::Boolean
                | Class::Integer
                | Class::Unsigned
                | Class::Bits
                | Class::Float
                | Class::Date
                | Class::Time
                | Class::SignedTime
                | Class::Timestamp
                | Class::TimestampTz
        );
        let size = usize::try_from(self.content_size(0)).ok()?;
        let is_block = self.mode == Mode::Equality && has_one_size;
        (is_block && size <= BLOCK_CONTENT_SIZE_MAX).then_some(size)
    }

    fn sealed_size(self, units: u64) -> u64 {
        if self.is_number() {
            return compact::SEALED_SIZE as u64;
        }
        let more = match self.mode {
            Mode::Random => VALUE_NONCE_SIZE,
            Mode::Token(_) => TOKEN_PREFIX_SIZE - HEADER_SIZE + VALUE_NONCE_SIZE,
            Mode::Equality | Mode::Order => 0,
        };
        let content = match self.block_size() {
            // The tag is the block.
            Some(_) => 0,
            None => self.content_size(units),
        };
        (HEADER_SIZE + TAG_SIZE + more) as u64 + content
    }

    /// Bytes of the content, of which so many are digits or letters where the type does not say.
    fn content_size(self, units: u64) -> u64 {
        let is_exact = self.mode == Mode::Random;
        match Class::of(self.logical) {
            Class::Boolean => 1,
            Class::Integer if is_exact => whole_size(self.logical) as u64,
            Class::Integer | Class::Unsigned | Class::Bits => 8,
            Class::Float if is_exact && self.logical == LogicalType::Real => 4,
            Class::Float
            | Class::Time
            | Class::SignedTime
            | Class::Timestamp
            | Class::TimestampTz => 8,
            Class::Date => 4,
            // Behind the scale.
            Class::Numeric => 2 + units.max(8),
            Class::Uuid => 16,
            Class::Text | Class::Bytes | Class::Json | Class::Label | Class::Labels => {
                self.pad.padded(units)
            }
            Class::Opaque => {
                let opaque = self.logical.opaque().filter(|opaque| !opaque.has_length());
                match u64::try_from(opaque.map_or(-1, |opaque| opaque.size())) {
                    Ok(size) => NUMBER_SIZE as u64 + size,
                    Err(_) => self.pad.padded(NUMBER_SIZE as u64 + units),
                }
            }
        }
    }
}

impl ColumnSpec {
    pub(crate) fn layout(&self) -> Layout {
        Layout {
            logical: self.logical,
            mode: self.mode,
            bits: self.bits,
            pad: self.pad,
            equality: self.equality,
        }
    }
}

fn order_size(scale: Scale) -> u64 {
    (HEADER_SIZE + scale.digits_size() + SHORT_MAC_SIZE) as u64
}
