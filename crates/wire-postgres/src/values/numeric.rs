//! `numeric` in binary format: number of digits, weight of the first, sign, display scale, and the
//! base-10,000 digits, two bytes each.

use bigdecimal::BigDecimal;
use bigdecimal::num_bigint::{BigInt, BigUint, Sign};
use bigdecimal::num_traits::{ToPrimitive, Zero};
use column_value::{NumericSpecial, Value, ValueError};
use sqlstate::SqlState;

use super::{error, malformed, special_of_sign, too_short};

const BASE: u32 = 10_000;
const NEGATIVE: u16 = 0x4000;
/// The bits of the scale field that the server uses.
const SCALE_MAX: u16 = 0x3fff;
/// Decimal digits per base-10,000 digit.
const GROUP: i64 = 4;

fn invalid(what: &str) -> ValueError {
    error(
        SqlState::INVALID_BINARY_REPRESENTATION,
        &format!("invalid {what} in external \"numeric\" value"),
    )
}

/// Reads a number; digits beyond the scale are truncated, as in the server.
pub(super) fn read(bytes: &[u8]) -> Result<Value, ValueError> {
    let (head, rest) = bytes.split_first_chunk::<8>().ok_or_else(too_short)?;
    let [a, b, c, d, e, f, g, h] = *head;
    let count = usize::from(u16::from_be_bytes([a, b]));
    let weight = i64::from(i16::from_be_bytes([c, d]));
    let sign = u16::from_be_bytes([e, f]);
    let scale = u16::from_be_bytes([g, h]);
    if rest.len() < 2 * count {
        return Err(too_short());
    }
    if rest.len() > 2 * count {
        return Err(malformed());
    }
    if let Some(special) = special_of_sign(sign) {
        return Ok(Value::NumericSpecial(special));
    }
    if sign != 0 && sign != NEGATIVE {
        return Err(invalid("sign"));
    }
    if scale > SCALE_MAX {
        return Err(invalid("scale"));
    }
    let mut small = 0_u128;
    let mut large = BigUint::zero();
    for (index, group) in rest.as_chunks::<2>().0.iter().enumerate() {
        let digit = u16::from_be_bytes(*group);
        if u32::from(digit) >= BASE {
            return Err(invalid("digit"));
        }
        // Nine groups are 36 digits, which fit in 128 bits.
        if index < 9 {
            small = small * u128::from(BASE) + u128::from(digit);
        } else {
            if index == 9 {
                large = BigUint::from(small);
            }
            large = large * BASE + u32::from(digit);
        }
    }
    let magnitude = if count <= 9 {
        BigUint::from(small)
    } else {
        large
    };
    let sign = match sign {
        _ if magnitude.is_zero() => Sign::NoSign,
        NEGATIVE => Sign::Minus,
        _ => Sign::Plus,
    };
    let last_weight = weight - count as i64 + 1;
    let number = BigDecimal::new(BigInt::from_biguint(sign, magnitude), -GROUP * last_weight);
    // Truncates, or appends zeros.
    Ok(Value::Numeric(number.with_scale(i64::from(scale))))
}

/// Writes a number; `None` if the format does not support its scale.
pub(super) fn write(number: &BigDecimal, out: &mut Vec<u8>) -> Option<()> {
    let (digits, scale) = number.as_bigint_and_scale();
    let shown = u16::try_from(scale)
        .ok()
        .filter(|scale| *scale <= SCALE_MAX)?;
    // The decimal point must be at a group boundary.
    let missing = (-scale).rem_euclid(GROUP);
    let groups_behind = (scale + missing) / GROUP;
    let padding = 10_u32.pow(u32::try_from(missing).ok()?);
    let start = out.len();
    out.extend([0; 8]);
    let magnitude = digits.magnitude();
    // Groups from the last to the first, without trailing zeros.
    let mut dropped = 0;
    let mut group = |group: u16, out: &mut Vec<u8>| {
        if group == 0 && out.len() == start + 8 {
            dropped += 1;
        } else {
            out.extend(group.to_le_bytes());
        }
    };
    match magnitude
        .to_u128()
        .and_then(|small| small.checked_mul(padding.into()))
    {
        Some(mut small) => {
            while small > 0 {
                group((small % u128::from(BASE)) as u16, out);
                small /= u128::from(BASE);
            }
        }
        None => {
            let mut large = magnitude * padding;
            while !large.is_zero() {
                group((&large % BASE).to_u16()?, out);
                large /= BASE;
            }
        }
    }
    // The bytes of each group were written in reverse, too.
    out[start + 8..].reverse();
    let count = (out.len() - start - 8) / 2;
    let weight = match count {
        0 => 0,
        _ => i64::try_from(count).ok()? + dropped - 1 - groups_behind,
    };
    let sign = if digits.sign() == Sign::Minus {
        NEGATIVE
    } else {
        0
    };
    let head = [
        u16::try_from(count).ok()?,
        i16::try_from(weight).ok()? as u16,
        sign,
        shown,
    ];
    for (place, word) in out[start..].as_chunks_mut::<2>().0.iter_mut().zip(head) {
        *place = word.to_be_bytes();
    }
    Some(())
}

/// Writes NaN and infinities.
pub(super) fn write_special(special: NumericSpecial, out: &mut Vec<u8>) {
    let sign: u16 = match special {
        NumericSpecial::Nan => 0xc000,
        NumericSpecial::Infinity => 0xd000,
        NumericSpecial::NegativeInfinity => 0xf000,
    };
    out.extend([0; 4]);
    out.extend(sign.to_be_bytes());
    out.extend([0; 2]);
}
