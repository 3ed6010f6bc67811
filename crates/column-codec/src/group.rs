//! Values of several columns of a row that are sealed together, as one value of mode random.
//!
//! | part | bytes |
//! |---|---|
//! | header of mode random | 1 |
//! | how many members the group had | 1 |
//! | as a value of mode random: tag, ciphertext, nonce | |
//!
//! The content has a bit for each member that is not NULL, then the values of these, then padding.
//! The keys are derived from table, group, and the list of the members that the value has. So a
//! value opens for the members that it was sealed for, and for those that were added behind them,
//! which are NULL in it.

use column_value::{LogicalType, Pad, Value};
use crypto::kdf::derive_key;
use crypto::page::{NotAuthentic, TAG_SIZE};
use crypto::secret::Key;
use crypto::value::{DeterministicSealer, LongSealer, VALUE_NONCE_SIZE, ValueNonce};
use zeroize::Zeroizing;

use crate::canonical::{self, Class};
use crate::errors::{OpenError, SealError};
use crate::keys::{Purpose, SALT, append_name};
use crate::layout::{HEADER_SIZE, KEY_VERSION, KEY_VERSION_MAX, SHORT_CONTENT_SIZE_MAX};
use crate::spec::{ColumnSpec, Mode};

/// The most members that a group has.
pub const GROUP_MEMBERS_MAX: usize = 100;

/// The bytes before the tag: the header, and the number of members.
const START_SIZE: usize = HEADER_SIZE + 1;

/// What makes the keys of groups others than those of columns.
const SCOPE: &str = "group";

/// In the place of the class of a column's values: no class has this code.
const CLASS: u8 = 0;

/// Columns of one table whose values are sealed together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSpec {
    /// `schema.table`
    pub table: String,
    /// Its name.
    pub name: String,
    /// Its members, in the order in which they are sealed. New ones are added behind the others.
    pub members: Vec<ColumnSpec>,
}

/// What sealed values of a group begin with, and how long they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupLayout {
    /// The header, and the number of members.
    pub start: [u8; START_SIZE],
    /// The least size.
    pub size_min: u64,
    /// The greatest size; None: a type sets no limit.
    pub size_max: Option<u64>,
}

impl GroupLayout {
    /// That of members of these types, with the padding of each.
    pub fn of(members: &[(LogicalType, Pad)]) -> Self {
        let bits = members.len().div_ceil(8) as u64;
        let sealed = |content: u64| (START_SIZE + TAG_SIZE + VALUE_NONCE_SIZE) as u64 + content;
        let pad = pad_of(members.iter().copied());
        let sizes = members
            .iter()
            .map(|(logical, _)| encoded_size_max(*logical));
        let content = sizes.sum::<Option<u64>>();
        Self {
            start: [Mode::Random.header(), count_byte(members.len())],
            size_min: sealed(bits + 1),
            size_max: content.map(|content| sealed(pad.padded(bits + content))),
        }
    }
}

/// Seals and opens the values of groups.
pub struct GroupCodec {
    groups: Vec<Group>,
}

struct Group {
    members: Vec<ColumnSpec>,
    pad: Pad,
    /// Keys for values that have the first one, two, … members.
    keys: Vec<Keys>,
}

struct Keys {
    short: DeterministicSealer,
    long: LongSealer,
}

impl GroupCodec {
    /// Derives and expands the keys of all groups.
    pub fn new(root: &Key, groups: &[GroupSpec]) -> Self {
        Self {
            groups: groups.iter().map(|spec| Group::new(root, spec)).collect(),
        }
    }

    /// Appends the sealed value of a group. The values are those of its members, in their order.
    ///
    /// # Errors
    ///
    /// A value is of another type than its column; `out` is then unchanged.
    pub fn seal(
        &self,
        group: usize,
        values: &[Option<Value>],
        nonce: ValueNonce,
        out: &mut Vec<u8>,
    ) -> Result<(), SealError> {
        let group = &self.groups[group];
        let start = out.len();
        let members = group.members.len();
        out.push(Mode::Random.header());
        out.push(count_byte(members));
        let associated = [out[start], out[start + 1]];
        out.extend([0; TAG_SIZE]);
        let content = out.len();
        if let Err(error) = group.encode(values, out) {
            out.truncate(start);
            return Err(error);
        }
        let keys = &group.keys[members - 1];
        let tag = if out.len() - content <= SHORT_CONTENT_SIZE_MAX {
            out.extend(nonce);
            keys.short.seal(&mut out[content..])
        } else {
            let tag = keys.long.seal(&nonce, &associated, &mut out[content..]);
            out.extend(nonce);
            tag
        };
        out[content - TAG_SIZE..content].copy_from_slice(&tag);
        Ok(())
    }

    /// Opens a sealed value: the values of all members. Those that were added to the group since it
    /// was sealed are NULL.
    ///
    /// # Errors
    ///
    /// [`OpenError`]
    pub fn open(&self, group: usize, sealed: &[u8]) -> Result<Vec<Option<Value>>, OpenError> {
        let group = &self.groups[group];
        let (start, body) = sealed
            .split_first_chunk::<START_SIZE>()
            .ok_or(OpenError::Size)?;
        match Mode::Random.version_in(start[0]) {
            Some(KEY_VERSION) => {}
            Some(0) => return Err(OpenError::Marked),
            Some(version) => return Err(OpenError::KeyVersion(version)),
            None => return Err(OpenError::Format),
        }
        let members = usize::from(start[1]);
        let last = members.checked_sub(1).ok_or(OpenError::NotAuthentic)?;
        let keys = group.keys.get(last).ok_or(OpenError::Members)?;
        let (tag, sealed) = body.split_first_chunk().ok_or(OpenError::Size)?;
        let (ciphertext, nonce) = sealed.split_last_chunk().ok_or(OpenError::Size)?;
        let size = ciphertext.len();
        let mut content = Zeroizing::new(sealed.to_vec());
        let opened = if size <= SHORT_CONTENT_SIZE_MAX {
            keys.short.open(tag, &mut content)
        } else {
            let content = &mut content[..size];
            keys.long.open(nonce, start, ciphertext, tag, content)
        };
        opened.map_err(|NotAuthentic| OpenError::NotAuthentic)?;
        let mut values = group
            .decode(members, &content[..size])
            .ok_or(OpenError::Content)?;
        values.resize(group.members.len(), None);
        Ok(values)
    }
}

impl Group {
    fn new(root: &Key, spec: &GroupSpec) -> Self {
        let counts = 1..=spec.members.len();
        Self {
            keys: counts.map(|count| Keys::new(root, spec, count)).collect(),
            pad: pad_of(spec.members.iter().map(|own| (own.logical, own.pad))),
            members: spec.members.clone(),
        }
    }

    fn encode(&self, values: &[Option<Value>], out: &mut Vec<u8>) -> Result<(), SealError> {
        let start = out.len();
        out.resize(start + self.members.len().div_ceil(8), 0);
        for (index, member) in self.members.iter().enumerate() {
            let Some(Some(value)) = values.get(index) else {
                continue;
            };
            out[start + index / 8] |= 1 << (index % 8);
            encode_member(value, member, out)?;
        }
        let size = self.pad.padded((out.len() - start) as u64) as usize;
        out.push(0x80);
        out.resize(start + size, 0);
        Ok(())
    }

    fn decode(&self, count: usize, content: &[u8]) -> Option<Vec<Option<Value>>> {
        let (bits, mut rest) = content.split_at_checked(count.div_ceil(8))?;
        let mut values = Vec::with_capacity(self.members.len());
        for (index, member) in self.members.iter().take(count).enumerate() {
            if bits[index / 8] & (1 << (index % 8)) == 0 {
                values.push(None);
                continue;
            }
            let size = match fixed_size(member.logical) {
                Some(size) => size,
                None => take_size(&mut rest)?,
            };
            let (own, others) = rest.split_at_checked(size)?;
            values.push(Some(decode_member(own, member)?));
            rest = others;
        }
        let (end, zeros) = rest.split_first()?;
        let is_padding = *end == 0x80 && zeros.iter().all(|byte| *byte == 0);
        is_padding.then_some(values)
    }
}

impl Keys {
    /// The keys of values that have the first `count` members.
    fn new(root: &Key, spec: &GroupSpec, count: usize) -> Self {
        let key = |purpose: Purpose| {
            let mut info = vec![Mode::Random.code(), purpose.code(), KEY_VERSION, CLASS];
            for name in [SCOPE, &spec.table, &spec.name] {
                append_name(name, &mut info);
            }
            for member in &spec.members[..count] {
                info.push(Class::of(member.logical).code());
                // Types of one class may differ in it, and the content does not say it.
                let size = fixed_size(member.logical).unwrap_or(0);
                info.push(u8::try_from(size).unwrap_or(u8::MAX));
                append_name(&member.column, &mut info);
            }
            derive_key(root, SALT, &info)
        };
        let associated = [Mode::Random.header(), count_byte(count)];
        let mac = key(Purpose::DeterministicMac);
        let stream = key(Purpose::DeterministicStream);
        Self {
            short: DeterministicSealer::new(&mac, &stream, &associated),
            long: LongSealer::new(&key(Purpose::Long)),
        }
    }
}

/// The number of members as it stands in a sealed value. Rules with more are refused.
fn count_byte(members: usize) -> u8 {
    u8::try_from(members).unwrap_or(u8::MAX)
}

/// The padding of a group: the greatest of its members that have a length, or another padding than
/// the usual one.
fn pad_of(members: impl Iterator<Item = (LogicalType, Pad)>) -> Pad {
    let pads = members.filter(|(logical, pad)| logical.has_length() || *pad != Pad::default());
    let pad = pads.map(|(_, pad)| pad).max_by_key(|pad| pad.step());
    pad.unwrap_or_default()
}

/// The greatest size of a value of a type in a group, with the size that is written before it.
/// None: the type sets no limit.
fn encoded_size_max(logical: LogicalType) -> Option<u64> {
    if let Some(size) = fixed_size(logical) {
        return Some(size as u64);
    }
    let size = match logical {
        // Letters of four bytes.
        LogicalType::Varchar(letters) => 4 * u64::from(letters?),
        LogicalType::Char(letters) => 4 * u64::from(letters),
        LogicalType::Enum(_) | LogicalType::Set(_) => logical.labels_size_max()? as u64,
        // Behind the scale.
        LogicalType::Numeric(Some((precision @ ..=canonical::DECIMAL_DIGITS_MAX, _))) => {
            2 + canonical::digits_size(precision)
        }
        _ => return None,
    };
    let bits = u64::from(u64::BITS - size.leading_zeros()).max(1);
    Some(size + bits.div_ceil(7))
}

/// The size of all values of a type; None: it is written before each.
fn fixed_size(logical: LogicalType) -> Option<usize> {
    Some(match logical {
        LogicalType::Boolean => 1,
        LogicalType::SmallInt => 2,
        LogicalType::Whole(whole) => whole.signed_size(),
        LogicalType::Integer | LogicalType::Real | LogicalType::Date => 4,
        LogicalType::BigInt
        | LogicalType::Double
        | LogicalType::Time(_)
        | LogicalType::SignedTime(_)
        | LogicalType::Bits(_)
        | LogicalType::Timestamp(_)
        | LogicalType::TimestampTz(_) => 8,
        LogicalType::Uuid => 16,
        LogicalType::Numeric(_)
        | LogicalType::Text
        | LogicalType::Varchar(_)
        | LogicalType::Char(_)
        | LogicalType::Enum(_)
        | LogicalType::Set(_)
        | LogicalType::Bytes
        | LogicalType::Json
        | LogicalType::Opaque(_) => return None,
    })
}

fn encode_member(value: &Value, member: &ColumnSpec, out: &mut Vec<u8>) -> Result<(), SealError> {
    let mut content = Zeroizing::new(Vec::new());
    let form = (true, Pad::NONE);
    if !canonical::encode(value, member.logical, form, &mut content) {
        return Err(SealError::Type {
            table: member.table.clone(),
            column: member.column.clone(),
            logical: member.logical,
        });
    }
    if member.logical.has_length() {
        // The byte that ends a padded text; its size says where this one ends.
        content.pop();
    }
    if fixed_size(member.logical).is_none() {
        put_size(content.len(), out);
    }
    out.extend_from_slice(&content);
    Ok(())
}

fn decode_member(content: &[u8], member: &ColumnSpec) -> Option<Value> {
    if !member.logical.has_length() {
        return canonical::decode(content, member.logical);
    }
    let mut padded = Vec::with_capacity(content.len() + 1);
    padded.extend_from_slice(content);
    padded.push(0x80);
    canonical::decode_long(padded, member.logical)
}

/// Seven bits of a size in each byte, the lowest first; all but the last have the highest bit.
fn put_size(mut size: usize, out: &mut Vec<u8>) {
    while size >= 0x80 {
        out.push((size & 0x7f) as u8 | 0x80);
        size >>= 7;
    }
    out.push(size as u8);
}

fn take_size(rest: &mut &[u8]) -> Option<usize> {
    let mut size = 0_usize;
    // Five bytes have 35 bits: no value of a column has more.
    for place in 0..5 {
        let (byte, others) = rest.split_first()?;
        *rest = others;
        size |= usize::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some(size);
        }
    }
    None
}

const _: () = assert!(GROUP_MEMBERS_MAX <= u8::MAX as usize && KEY_VERSION_MAX < 8);
