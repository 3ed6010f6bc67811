//! Array parameters: their type numbers and formats.

use column_value::{LogicalType, OpaqueType, Value, ValueError};
use semantics_postgres::{TextContext, ValueText, array_elements};
use sqlstate::SqlState;

use super::{Format, error, fixed, malformed, oid, read, too_short, utf8};

/// Number of type `bytea[]`.
pub const BYTEA_ARRAY: u32 = 1001;

/// Number of type `bigint[]`.
pub const BIGINT_ARRAY: u32 = 1016;

/// Maximum number of elements in an array that the proxy reads: it seals each of them while other
/// sessions wait.
pub const ARRAY_ELEMENTS_MAX: usize = 100_000;

/// Maximum number of dimensions in the server.
const DIMENSIONS_MAX: usize = 6;

/// Array types of `pg_type`, by the numbers of their element types.
const ARRAYS: &[(u32, u32)] = &[
    (16, 1000),
    (super::BYTEA, BYTEA_ARRAY),
    (20, 1016),
    (21, 1005),
    (23, 1007),
    (25, 1009),
    (114, 199),
    (700, 1021),
    (701, 1022),
    (1042, 1014),
    (1043, 1015),
    (1082, 1182),
    (1083, 1183),
    (1114, 1115),
    (1184, 1185),
    (1700, 1231),
    (2950, 2951),
];

/// More of them, of types that no protected column has.
const OTHER_ARRAYS: &[(u32, u32)] = &[
    (18, 1002),
    (19, 1003),
    (26, 1028),
    (27, 1010),
    (28, 1011),
    (142, 143),
    (790, 791),
    (4072, 4073),
];

/// The number of the array type of a type of the server's own, by its number.
pub fn array_of(element: u32) -> Option<u32> {
    if let Some(opaque) = OpaqueType::of_oid(element, -1) {
        // 0: it is an array itself.
        return Some(opaque.array_oid()).filter(|array| *array != 0);
    }
    let mut all = ARRAYS.iter().chain(OTHER_ARRAYS);
    let found = all.find(|(own, _)| *own == element);
    found.map(|(_, array)| *array)
}

/// The number of the array type of a type.
pub fn array_oid(logical: LogicalType) -> u32 {
    if let LogicalType::Opaque(opaque) = logical {
        return opaque.array_oid();
    }
    let element = oid(logical);
    let found = ARRAYS.iter().find(|(own, _)| *own == element);
    found.map_or(0, |(_, array)| *array)
}

/// The element type of an array type; `None` if it is not an array, or no protected column can have
/// the element type.
pub fn element(oid: u32) -> Option<LogicalType> {
    let (element, _) = ARRAYS.iter().find(|(_, array)| *array == oid)?;
    super::logical(*element, -1)
}

/// Reads an array; multidimensional arrays are flattened.
///
/// # Errors
///
/// If it is not an array of the type, or has too many elements.
pub fn read_array(
    bytes: &[u8],
    logical: LogicalType,
    format: Format,
    context: &TextContext,
) -> Result<Vec<Option<Value>>, ValueError> {
    let values = match format {
        Format::Text => {
            let elements = array_elements(utf8(bytes)?).ok_or_else(|| {
                error(
                    SqlState::INVALID_TEXT_REPRESENTATION,
                    "malformed array literal",
                )
            })?;
            check_count(elements.len())?;
            let values = elements.into_iter().map(|element| {
                let value = |text: String| Value::from_text(&text, logical, context);
                element.map(value).transpose()
            });
            values.collect::<Result<_, _>>()?
        }
        Format::Binary => read_binary(bytes, logical, context)?,
    };
    Ok(values)
}

fn check_count(count: usize) -> Result<(), ValueError> {
    if count <= ARRAY_ELEMENTS_MAX {
        return Ok(());
    }
    Err(ValueError {
        sqlstate: SqlState::PROGRAM_LIMIT_EXCEEDED,
        message: format!(
            "an array beside a protected column has at most {ARRAY_ELEMENTS_MAX} elements"
        ),
    })
}

/// The format of `array_send`: dimensions, a flag, the element type, sizes and lower bounds, then
/// each element with its size, -1 for NULL.
fn read_binary(
    bytes: &[u8],
    logical: LogicalType,
    context: &TextContext,
) -> Result<Vec<Option<Value>>, ValueError> {
    let mut rest = bytes;
    let dimensions = take_number(&mut rest)?;
    let dimensions = usize::try_from(dimensions).map_err(|_| malformed())?;
    if dimensions > DIMENSIONS_MAX {
        return Err(error(
            SqlState::PROGRAM_LIMIT_EXCEEDED,
            "number of array dimensions exceeds 6",
        ));
    }
    let _has_null = take_number(&mut rest)?;
    let own_type = take_number(&mut rest)? as u32;
    if own_type != oid(logical) {
        return Err(error(SqlState::DATATYPE_MISMATCH, "wrong element type"));
    }
    let mut count = usize::from(dimensions > 0);
    for _ in 0..dimensions {
        let size = usize::try_from(take_number(&mut rest)?).map_err(|_| malformed())?;
        let _lower_bound = take_number(&mut rest)?;
        count = count.saturating_mul(size);
    }
    check_count(count)?;
    let mut values = Vec::with_capacity(count.min(rest.len() / 4));
    for _ in 0..count {
        values.push(match usize::try_from(take_number(&mut rest)?) {
            // The only negative size that is written is -1.
            Err(_) => None,
            Ok(size) => {
                let (element, behind) = rest.split_at_checked(size).ok_or_else(too_short)?;
                rest = behind;
                Some(read(element, logical, Format::Binary, context)?)
            }
        });
    }
    match rest {
        [] => Ok(values),
        _ => Err(malformed()),
    }
}

fn take_number(rest: &mut &[u8]) -> Result<i32, ValueError> {
    let (number, behind) = rest.split_at_checked(4).ok_or_else(too_short)?;
    *rest = behind;
    Ok(i32::from_be_bytes(fixed(number)?))
}

/// Appends an array of elements of a type. `write` appends each element, or returns false for NULL.
///
/// # Errors
///
/// The first of `write`.
pub fn write_sealed_array<T, E>(
    element_type: u32,
    elements: &[T],
    mut write: impl FnMut(&T, &mut Vec<u8>) -> Result<bool, E>,
    out: &mut Vec<u8>,
) -> Result<(), E> {
    let dimensions = i32::from(!elements.is_empty());
    out.extend(dimensions.to_be_bytes());
    let flag_at = out.len();
    out.extend(0_i32.to_be_bytes());
    out.extend(element_type.to_be_bytes());
    if elements.is_empty() {
        return Ok(());
    }
    let count = i32::try_from(elements.len()).unwrap_or(i32::MAX);
    out.extend(count.to_be_bytes());
    out.extend(1_i32.to_be_bytes());
    for element in elements {
        let size_at = out.len();
        out.extend((-1_i32).to_be_bytes());
        if write(element, out)? {
            let size = i32::try_from(out.len() - size_at - 4).unwrap_or(i32::MAX);
            out[size_at..size_at + 4].copy_from_slice(&size.to_be_bytes());
        } else {
            out[flag_at..flag_at + 4].copy_from_slice(&1_i32.to_be_bytes());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binary(count: i32, of: u32, elements: &[Option<&[u8]>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in [1, 0, of as i32, count, 1] {
            bytes.extend(number.to_be_bytes());
        }
        for element in elements {
            let size = element.map_or(-1, |element| element.len() as i32);
            bytes.extend(size.to_be_bytes());
            bytes.extend(element.unwrap_or_default());
        }
        bytes
    }

    fn read_integers(bytes: &[u8], format: Format) -> Result<Vec<Option<Value>>, &'static str> {
        let read = read_array(bytes, LogicalType::Integer, format, &TextContext::default());
        read.map_err(|error| error.sqlstate.as_str())
    }

    #[test]
    fn both_forms_mean_the_same() {
        let both = Ok(vec![Some(Value::Integer(7)), None]);
        assert_eq!(read_integers(b"{7,NULL}", Format::Text), both);
        let bytes = binary(2, 23, &[Some(&[0, 0, 0, 7]), None]);
        assert_eq!(read_integers(&bytes, Format::Binary), both);
        assert_eq!(read_integers(&[0; 12], Format::Binary), Err("42804"));
        let empty = [&[0; 8][..], &23_u32.to_be_bytes()].concat();
        assert_eq!(read_integers(&empty, Format::Binary), Ok(vec![]));
    }

    #[test]
    fn malformed_or_too_large_values_are_refused() {
        let one = binary(1, 23, &[Some(&[0, 0, 0, 7])]);
        for end in 0..one.len() {
            assert!(read_integers(&one[..end], Format::Binary).is_err(), "{end}");
        }
        for (bytes, state) in [
            (binary(i32::MAX, 23, &[]), "54000"),
            (binary(-1, 23, &[]), "22P03"),
            (binary(0, 23, &[Some(&[])]), "22P03"),
            (binary(1, 23, &[Some(&[1])]), "08P01"),
            (binary(1, 20, &[Some(&[0; 8])]), "42804"),
        ] {
            assert_eq!(read_integers(&bytes, Format::Binary), Err(state));
        }
        assert_eq!(read_integers(b"{7", Format::Text), Err("22P02"));
        let many = format!("{{{}7}}", "7,".repeat(ARRAY_ELEMENTS_MAX));
        assert_eq!(read_integers(many.as_bytes(), Format::Text), Err("54000"));
    }

    #[test]
    fn every_type_has_an_array() {
        for (element_oid, array) in ARRAYS {
            let logical = super::super::logical(*element_oid, -1).expect("it can be protected");
            assert_eq!(array_oid(logical), *array);
            assert_eq!(element(*array), Some(logical));
        }
    }
}
