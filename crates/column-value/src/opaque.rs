//! Types of PostgreSQL whose values are kept in the binary form of the server, unread.

use std::fmt;

mod named;

pub use named::{ExtensionType, KnownType, NamedKind, NamedType};

/// A type that PostgreSQL itself has, with its modifier, or a [`NamedType`]. Its values are
/// the bytes that its `send` function writes. Nothing here reads them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct OpaqueType {
    /// Its place in [`BASES`]; behind them: that of a type without a fixed
    /// number.
    base: u16,
    /// PostgreSQL's `atttypmod`; -1: none.
    modifier: i32,
    is_array: bool,
}

/// What a type takes in parentheses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limits {
    /// Nothing.
    None,
    /// Digits of a second: `interval(3)`.
    Interval,
    /// The same behind the first word of the name: `time(3) with time zone`.
    Time,
    /// How many bits: `bit` is `bit(1)`.
    Bits,
    /// How many bits at most.
    BitsMax,
    /// Digits, and digits behind the point.
    Numeric,
    /// How many characters at most.
    Characters,
}

/// A type, or the type of the elements of an array.
struct Base {
    /// As `format_type` writes it.
    name: &'static str,
    /// Other names, the one in `pg_type` first.
    others: &'static [&'static str],
    oid: u32,
    /// The number of its array type.
    array_oid: u32,
    /// `typlen`; -1: variable.
    size: i16,
    limits: Limits,
    /// Whether it is opaque by itself too. If not, only its arrays are.
    is_alone: bool,
}

const fn base(
    name: &'static str,
    others: &'static [&'static str],
    (oid, array_oid): (u32, u32),
    size: i16,
) -> Base {
    Base {
        name,
        others,
        oid,
        array_oid,
        size,
        limits: Limits::None,
        is_alone: true,
    }
}

const fn element(
    name: &'static str,
    others: &'static [&'static str],
    numbers: (u32, u32),
    size: i16,
) -> Base {
    Base {
        is_alone: false,
        ..base(name, others, numbers, size)
    }
}

const fn limited(base: Base, limits: Limits) -> Base {
    Base { limits, ..base }
}

/// Numbers are those of `pg_type.dat` of PostgreSQL, which do not change from version to version.
const BASES: &[Base] = &[
    base("jsonb", &["jsonb"], (3802, 3807), -1),
    limited(
        base("interval", &["interval"], (1186, 1187), 16),
        Limits::Interval,
    ),
    base("inet", &["inet"], (869, 1041), -1),
    base("cidr", &["cidr"], (650, 651), -1),
    base("macaddr", &["macaddr"], (829, 1040), 6),
    base("macaddr8", &["macaddr8"], (774, 775), 8),
    limited(
        base("time with time zone", &["timetz"], (1266, 1270), 12),
        Limits::Time,
    ),
    limited(base("bit", &["bit"], (1560, 1561), -1), Limits::Bits),
    limited(
        base("bit varying", &["varbit"], (1562, 1563), -1),
        Limits::BitsMax,
    ),
    base("int4range", &["int4range"], (3904, 3905), -1),
    base("int8range", &["int8range"], (3926, 3927), -1),
    base("numrange", &["numrange"], (3906, 3907), -1),
    base("tsrange", &["tsrange"], (3908, 3909), -1),
    base("tstzrange", &["tstzrange"], (3910, 3911), -1),
    base("daterange", &["daterange"], (3912, 3913), -1),
    base("int4multirange", &["int4multirange"], (4451, 6150), -1),
    base("int8multirange", &["int8multirange"], (4536, 6157), -1),
    base("nummultirange", &["nummultirange"], (4532, 6151), -1),
    base("tsmultirange", &["tsmultirange"], (4533, 6152), -1),
    base("tstzmultirange", &["tstzmultirange"], (4534, 6153), -1),
    base("datemultirange", &["datemultirange"], (4535, 6155), -1),
    base("point", &["point"], (600, 1017), 16),
    base("lseg", &["lseg"], (601, 1018), 32),
    base("box", &["box"], (603, 1020), 32),
    base("path", &["path"], (602, 1019), -1),
    base("polygon", &["polygon"], (604, 1027), -1),
    base("line", &["line"], (628, 629), 24),
    base("circle", &["circle"], (718, 719), 24),
    base("tsvector", &["tsvector"], (3614, 3643), -1),
    base("tsquery", &["tsquery"], (3615, 3645), -1),
    base("pg_lsn", &["pg_lsn"], (3220, 3221), 8),
    element("boolean", &["bool"], (16, 1000), 1),
    element("smallint", &["int2"], (21, 1005), 2),
    element("integer", &["int4", "int"], (23, 1007), 4),
    element("bigint", &["int8"], (20, 1016), 8),
    element("real", &["float4"], (700, 1021), 4),
    element("double precision", &["float8", "float"], (701, 1022), 8),
    limited(
        element("numeric", &["numeric", "decimal"], (1700, 1231), -1),
        Limits::Numeric,
    ),
    element("text", &["text"], (25, 1009), -1),
    limited(
        element("character varying", &["varchar"], (1043, 1015), -1),
        Limits::Characters,
    ),
    element("bytea", &["bytea"], (17, 1001), -1),
    element("date", &["date"], (1082, 1182), 4),
    limited(
        element("time without time zone", &["time"], (1083, 1183), 8),
        Limits::Time,
    ),
    limited(
        element(
            "timestamp without time zone",
            &["timestamp"],
            (1114, 1115),
            8,
        ),
        Limits::Time,
    ),
    limited(
        element(
            "timestamp with time zone",
            &["timestamptz"],
            (1184, 1185),
            8,
        ),
        Limits::Time,
    ),
    element("uuid", &["uuid"], (2950, 2951), 16),
    element("json", &["json"], (114, 199), -1),
];

/// The place of `bit`.
const BITS_AT: u16 = 7;

/// `interval` without fields (`INTERVAL_FULL_RANGE`), in the upper half of its modifier.
const INTERVAL_FULL_RANGE: i32 = 0x7fff;
/// Digits of a second that PostgreSQL keeps.
pub(crate) const SECOND_DIGITS_MAX: u32 = 6;
/// Characters of a `varchar(n)` at most (`MaxAttrSize`).
const CHARACTERS_MAX: u32 = 10_485_760;
/// What the modifier of a size counts besides it: the header of a value (`VARHDRSZ`).
const HEADER_SIZE: i32 = 4;
/// Bits of a value at most (`MaxAttrSize` of 10 MiB, in bits).
const BITS_MAX: u32 = 83_886_080;

impl OpaqueType {
    /// `bit` of any length: the type of `B'101'`.
    pub const BITS: Self = Self {
        base: BITS_AT,
        modifier: -1,
        is_array: false,
    };

    /// Whether it is `bit` of any length.
    pub fn is_bits(self) -> bool {
        self == Self::BITS
    }

    /// Whether it is `bit varying`, with a limit or without.
    pub fn is_varying_bits(self) -> bool {
        self.base().limits == Limits::BitsMax && !self.is_array
    }

    /// The type of a name and its limits, as they stand in DDL: `("bit varying", [8])`,
    /// `("integer[]", [])`. None: no such type, or not one whose values are kept unread.
    pub fn from_parts(name: &str, limits: &[u32]) -> Option<Self> {
        let (element, is_array) = without_dimensions(name.trim());
        let found = BASES
            .iter()
            .position(|base| base.name == element || base.others.contains(&element))?;
        let base = &BASES[found];
        if !is_array && !base.is_alone {
            return None;
        }
        Some(Self {
            base: u16::try_from(found).ok()?,
            modifier: modifier(base.limits, limits)?,
            is_array,
        })
    }

    /// The type of a number in `pg_type`, with a modifier.
    pub fn of_oid(oid: u32, modifier: i32) -> Option<Self> {
        let found = BASES
            .iter()
            .position(|base| (base.is_alone && base.oid == oid) || base.array_oid == oid);
        let Some(found) = found else {
            let own = Self::of_place(named::of_oid(oid)?, false)?;
            return Some(Self {
                is_array: own.base().array_oid == oid,
                ..own
            });
        };
        let base = &BASES[found];
        Some(Self {
            base: u16::try_from(found).ok()?,
            modifier: match base.limits {
                Limits::None => -1,
                _ => modifier,
            },
            is_array: base.array_oid == oid,
        })
    }

    /// All of them, without modifiers.
    pub fn all() -> impl Iterator<Item = Self> {
        let bases = BASES.iter().flat_map(|base| {
            let alone = base.is_alone.then_some(base.oid);
            alone.into_iter().chain([base.array_oid])
        });
        bases.filter_map(|oid| Self::of_oid(oid, -1))
    }

    fn base(self) -> &'static Base {
        let place = usize::from(self.base);
        match place.checked_sub(BASES.len()).and_then(named::at) {
            Some((_, base)) => base,
            None => &BASES[place],
        }
    }

    fn of_place(place: usize, is_array: bool) -> Option<Self> {
        Some(Self {
            base: u16::try_from(BASES.len() + place).ok()?,
            modifier: -1,
            is_array,
        })
    }

    /// The type that is written `hstore`, `enum mood`, or `enum own.mood` if it is not in `public`,
    /// or an array of it: without a number and labels. None: it is written otherwise.
    pub fn read_named(text: &str) -> Option<Self> {
        let (element, is_array) = without_dimensions(text.trim());
        let own = Self::named_type(named::read(element)?)?;
        Some(Self { is_array, ..own })
    }

    /// A type without a fixed number, which is remembered as long as the process runs. None: there
    /// are too many.
    pub fn named_type(own: NamedType) -> Option<Self> {
        Self::of_place(named::place(own)?, false)
    }

    /// A type without a fixed number that was met before.
    pub fn met(own: &NamedType) -> Option<Self> {
        Self::of_place(named::met(own)?, false)
    }

    /// The type without a fixed number that it is or has as elements.
    pub fn named(self) -> Option<&'static NamedType> {
        let place = usize::from(self.base).checked_sub(BASES.len())?;
        named::at(place).map(|(own, _)| own)
    }

    /// The enumeration that it is; not an array of one.
    fn enumeration(self) -> Option<&'static NamedType> {
        let own = self.named()?;
        (!self.is_array && own.kind == NamedKind::Enumeration).then_some(own)
    }

    /// The type of the arrays of it.
    #[must_use]
    pub fn array(self) -> Self {
        Self {
            is_array: true,
            ..self
        }
    }

    /// The number that sealed values have instead of their type's, which may not be a fixed one.
    pub fn sealed_number(self) -> u32 {
        match self.named() {
            Some(own) => own.kind.sealed_numbers()[usize::from(self.is_array)],
            None => self.oid(),
        }
    }

    /// What stands in an array of a type without a fixed number for the type of its elements: in
    /// the binary form of the server, and in sealed values. None: it is no such array.
    pub fn element_numbers(self) -> Option<(u32, u32)> {
        let own = self.named().filter(|_| self.is_array)?;
        Some((self.base().oid, own.kind.sealed_numbers()[0]))
    }

    /// Its number in `pg_type`.
    pub fn oid(self) -> u32 {
        match self.is_array {
            true => self.base().array_oid,
            false => self.base().oid,
        }
    }

    /// The number of its array type; 0: an array has none.
    pub fn array_oid(self) -> u32 {
        match self.is_array {
            true => 0,
            false => self.base().array_oid,
        }
    }

    /// Its name in `pg_type`.
    pub fn catalogue_name(self) -> String {
        let name = self.base().others[0];
        match self.is_array {
            true => format!("_{name}"),
            false => name.to_owned(),
        }
    }

    /// `typlen`; -1: variable.
    pub fn size(self) -> i16 {
        match self.is_array {
            true => -1,
            false => self.base().size,
        }
    }

    /// Whether what is sealed of its values has no fixed size: PostgreSQL stores the number of a
    /// label, and sends the label.
    pub fn has_length(self) -> bool {
        self.size() < 0 || self.enumeration().is_some()
    }

    /// `atttypmod`; -1: none.
    pub fn modifier(self) -> i32 {
        self.modifier
    }

    /// Whether a cast to it cuts or pads what a column of it refuses.
    pub fn is_cut_by_cast(self) -> bool {
        let cuts = matches!(
            self.base().limits,
            Limits::Bits | Limits::BitsMax | Limits::Characters
        );
        cuts && self.modifier != -1
    }

    /// Whether it is an array.
    pub fn is_array(self) -> bool {
        self.is_array
    }

    /// The same without its modifier.
    pub fn unlimited(self) -> Self {
        Self {
            modifier: -1,
            ..self
        }
    }

    /// Whether values of both have the same form. An enumeration may be met with other labels; its
    /// number is its own.
    pub fn is_alike(self, other: Self) -> bool {
        self.unlimited() == other.unlimited() || (self.oid() != 0 && self.oid() == other.oid())
    }

    /// How SQL names it, whatever the search path is.
    pub fn qualified_name(self) -> String {
        match self.named() {
            Some(_) => self.named_name(),
            None => format!("pg_catalog.\"{}\"", self.catalogue_name()),
        }
    }

    /// How SQL names it with its modifier. A type without a fixed number has its schema, since that
    /// may be in no search path.
    pub fn sql_name(self) -> String {
        match self.named() {
            Some(_) => self.named_name(),
            None => self.to_string(),
        }
    }

    fn named_name(self) -> String {
        let name = self.named().map(|own| {
            let (schema, name) = (named::quoted(&own.schema), named::quoted(&own.name));
            let brackets = if self.is_array { "[]" } else { "" };
            format!("{schema}.{name}{brackets}")
        });
        name.unwrap_or_default()
    }

    /// How SQL names it without its modifier: `bit` alone would be of one bit.
    pub fn unlimited_name(self) -> String {
        match self.base().limits {
            _ if self.named().is_some() => self.named_name(),
            Limits::Bits => format!("pg_catalog.\"{}\"", self.catalogue_name()),
            _ => self.unlimited().to_string(),
        }
    }

    /// Whether an enumeration has a label. None: it is none, or its labels are not known.
    pub fn label(self, text: &str) -> Option<bool> {
        let known = self.enumeration()?.known.as_ref()?;
        Some(known.labels.iter().any(|label| label == text))
    }

    /// The text of a value, where it is in the value as it is: `jsonb` is sent as a version and its
    /// text, an enumeration as its label, and `citext` as its text. None: PostgreSQL has to be
    /// asked.
    pub fn text_of(self, bytes: &[u8]) -> Option<&[u8]> {
        match bytes {
            [1, text @ ..] if self.oid() == 3802 => Some(text),
            text if !self.has_hidden_text() => Some(text),
            _ => None,
        }
    }

    /// Whether it is `citext`, whose values are texts.
    pub fn is_citext(self) -> bool {
        let kind = NamedKind::Extension(ExtensionType::Citext);
        !self.is_array && self.named().is_some_and(|own| own.kind == kind)
    }

    /// Whether PostgreSQL has to be asked for texts of values.
    pub fn has_hidden_text(self) -> bool {
        self.oid() != 3802 && self.enumeration().is_none() && !self.is_citext()
    }

    /// What makes a value of the type, without its modifier, one of a column: an expression of
    /// PostgreSQL over another one. A value that is too long is an error, as on assignment.
    pub fn assigned(self, value: &str) -> String {
        let modifier = self.modifier;
        if modifier == -1 {
            return value.to_owned();
        }
        let name = self.base().others[0];
        match self.base().limits {
            // A cast would cut elements. What reads the text of an array keeps to the limits.
            Limits::Bits | Limits::BitsMax | Limits::Characters if self.is_array => format!(
                "CAST(CAST(pg_catalog.array_in(CAST(CAST({value} AS pg_catalog.text) AS \
                 pg_catalog.cstring), {}, {modifier}) AS pg_catalog.text) AS {self})",
                self.base().oid
            ),
            _ if self.is_array => format!("CAST({value} AS {self})"),
            Limits::Bits | Limits::BitsMax => {
                format!("pg_catalog.\"{name}\"({value}, {modifier}, false)")
            }
            _ => format!("pg_catalog.\"{name}\"({value}, {modifier})"),
        }
    }
}

/// A name without the brackets of an array, and whether it has some. PostgreSQL keeps neither how
/// many dimensions are declared nor how long.
fn without_dimensions(name: &str) -> (&str, bool) {
    let mut element = name;
    while let Some(rest) = element.strip_suffix(']')
        && let Some((before, size)) = rest.rsplit_once('[')
        && size.bytes().all(|byte| byte.is_ascii_digit())
    {
        element = before.trim_end();
    }
    (element, element.len() < name.len())
}

/// The modifier of limits. None: the type does not take them.
fn modifier(kind: Limits, limits: &[u32]) -> Option<i32> {
    let digits = |digits: u32| (digits <= SECOND_DIGITS_MAX).then_some(digits as i32);
    let bits = |bits: u32| ((1..=BITS_MAX).contains(&bits)).then_some(bits as i32);
    match (kind, limits) {
        (Limits::Bits, []) => Some(1),
        (_, []) => Some(-1),
        (Limits::Interval, [own]) => Some(INTERVAL_FULL_RANGE << 16 | digits(*own)?),
        (Limits::Time, [own]) => digits(*own),
        (Limits::Bits | Limits::BitsMax, [own]) => bits(*own),
        (Limits::Characters, [length]) => (1..=CHARACTERS_MAX)
            .contains(length)
            .then_some(*length as i32 + HEADER_SIZE),
        (Limits::Numeric, [precision]) => numeric_modifier(*precision, 0),
        (Limits::Numeric, [precision, scale]) => numeric_modifier(*precision, *scale),
        _ => None,
    }
}

fn numeric_modifier(precision: u32, scale: u32) -> Option<i32> {
    ((1..=1000).contains(&precision) && scale <= precision)
        .then_some((precision << 16 | scale) as i32 + HEADER_SIZE)
}

impl fmt::Display for OpaqueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let base = self.base();
        let name = base.name;
        match (base.limits, self.modifier) {
            (Limits::None, _) | (_, -1) => f.write_str(name)?,
            (Limits::Interval, own) => write!(f, "{name}({})", own & 0xffff)?,
            (Limits::Time, own) => {
                let (first, rest) = name.split_once(' ').unwrap_or((name, ""));
                write!(f, "{first}({own}) {rest}")?;
            }
            (Limits::Characters, own) => write!(f, "{name}({})", own - HEADER_SIZE)?,
            (Limits::Bits | Limits::BitsMax, own) => write!(f, "{name}({own})")?,
            (Limits::Numeric, own) => {
                let own = own - HEADER_SIZE;
                write!(f, "{name}({},{})", own >> 16, own & 0xffff)?;
            }
        }
        f.write_str(if self.is_array { "[]" } else { "" })
    }
}

impl fmt::Debug for OpaqueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OpaqueType({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for own in OpaqueType::all() {
            let name = own.to_string();
            // Without a length it is one of one bit.
            if own.base().limits == Limits::Bits {
                continue;
            }
            assert_eq!(OpaqueType::from_parts(&name, &[]), Some(own), "{name}");
            assert_eq!(OpaqueType::of_oid(own.oid(), -1), Some(own), "{name}");
        }
    }

    #[test]
    fn bits_are_where_they_are_looked_for() {
        assert_eq!(OpaqueType::of_oid(1560, -1), Some(OpaqueType::BITS));
    }

    #[test]
    fn no_two_have_one_number() {
        let mut numbers: Vec<u32> = OpaqueType::all().map(OpaqueType::oid).collect();
        let count = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), count);
    }
}
