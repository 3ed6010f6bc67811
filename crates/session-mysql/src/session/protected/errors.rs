//! Errors of statements over protected columns, as clients of MySQL get them.

use session_core::{Fault, StatementError};
use sqlstate::SqlState;
use wire_mysql::answer::ErrorPacket;
use wire_mysql::{Malformed, packet};

use crate::refusal::{Reason, Refusal};

/// What stands in the place of a sealed value in a message of the server.
const SEALED: &[u8] = b"'(a protected value)'";

/// The packet of an error. It names what can be done, since these servers have no other place for
/// that.
pub(super) fn refusal(error: &StatementError) -> Refusal {
    let (number, state) = match error.fault {
        Fault::Rules | Fault::Server | Fault::Proxy => (1105, *b"HY000"),
        Fault::Limit => (1153, *b"08S01"),
        // `ER_DATA_OUT_OF_RANGE`
        Fault::Range => (1690, *b"22003"),
        Fault::Statement | Fault::Value => code(error.sqlstate),
    };
    let mut message = error.message.clone();
    if let Some(hint) = &error.hint {
        message.push_str(". ");
        message.push_str(hint);
    }
    Refusal::new(Reason::Statement(number, state), message)
}

/// The server's own number and state of what PostgreSQL has a state for (`mysqld_error.h`).
fn code(state: SqlState) -> (u16, [u8; 5]) {
    match state {
        SqlState::FEATURE_NOT_SUPPORTED => (1235, *b"42000"),
        SqlState::SYNTAX_ERROR => (1064, *b"42000"),
        SqlState::UNDEFINED_TABLE => (1146, *b"42S02"),
        SqlState::UNDEFINED_COLUMN => (1054, *b"42S22"),
        SqlState::AMBIGUOUS_COLUMN => (1052, *b"23000"),
        SqlState::PROGRAM_LIMIT_EXCEEDED => (1153, *b"08S01"),
        SqlState::STATEMENT_TOO_COMPLEX => (1436, *b"HY000"),
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE => (1264, *b"22003"),
        SqlState::STRING_DATA_RIGHT_TRUNCATION => (1406, *b"22001"),
        // `WARN_DATA_TRUNCATED`
        SqlState::INVALID_PARAMETER_VALUE => (1265, *b"01000"),
        // `ER_TRUNCATED_WRONG_VALUE`
        SqlState::INVALID_DATETIME_FORMAT => (1292, *b"22007"),
        SqlState::INVALID_TEXT_REPRESENTATION | SqlState::DATETIME_FIELD_OVERFLOW => {
            (1366, *b"22007")
        }
        SqlState::NOT_NULL_VIOLATION => (1048, *b"23000"),
        SqlState::CONFIG_FILE_ERROR | SqlState::DATA_CORRUPTED => (1105, *b"HY000"),
        _ => (1235, *b"42000"),
    }
}

/// An error of the server about a statement that has sealed values, without those.
///
/// # Errors
/// It is no error.
pub(super) fn without_sealed(payload: &[u8]) -> Result<Vec<u8>, Malformed> {
    let error = ErrorPacket::read(payload)?;
    let message = without_values(&error);
    let shown = ErrorPacket {
        message: &message,
        ..error
    };
    let mut out = Vec::new();
    shown.write(&mut out);
    Ok(out)
}

/// Writes an error of the server about a statement that has sealed values, without those.
///
/// # Errors
/// It is no error.
pub(super) fn write_without_values(
    payload: &[u8],
    sequence: &mut u8,
    out: &mut Vec<u8>,
) -> Result<(), Malformed> {
    packet::write_bytes(&without_sealed(payload)?, sequence, out);
    Ok(())
}

/// The message of an error without sealed values: 1062, 1366 and others quote what is stored.
pub(super) fn without_values(error: &ErrorPacket<'_>) -> Vec<u8> {
    /// `ER_DUP_ENTRY`: the values of a whole key, joined by `-`.
    const DUPLICATE: u16 = 1062;
    /// `ER_PARSE_ERROR`: the text from the place of the error on.
    const SYNTAX: u16 = 1064;
    let message = error.message;
    let cut = match error.code {
        DUPLICATE => find(message, b"entry '").zip(find_last(message, b"' for key")),
        SYNTAX => find(message, b"near '").map(|at| (at, message.len() - 1)),
        _ => None,
    };
    match cut {
        // Both marks end with, or begin with, the quote.
        Some((start, end)) if start + 7 <= end + 1 => {
            let from = start + if error.code == DUPLICATE { 6 } else { 5 };
            [
                &message[..from],
                SEALED,
                &message[(end + 1).min(message.len())..],
            ]
            .concat()
        }
        _ => without_unreadable(message),
    }
}

/// Whether a message has something that no text of letters is written as.
pub(super) fn may_be_sealed(message: &[u8]) -> bool {
    match std::str::from_utf8(message) {
        Ok(text) => text.contains("\\x") || text.contains(char::is_control),
        Err(_) => true,
    }
}

/// Replaces each quoted part that has something that is no plain text: a sealed value always has
/// some, since its first bytes name its form.
fn without_unreadable(message: &[u8]) -> Vec<u8> {
    let is_plain = |part: &[u8]| {
        !part.windows(2).any(|pair| pair == b"\\x")
            && part.iter().all(|byte| (b' '..0x7f).contains(byte))
    };
    let Some(first) = message.iter().position(|&byte| byte == b'\'') else {
        return message.to_vec();
    };
    if is_plain(message) {
        return message.to_vec();
    }
    // A sealed value may have quotes itself, so everything up to the last one goes.
    let last = message
        .iter()
        .rposition(|&byte| byte == b'\'')
        .unwrap_or(first);
    let end = match last > first {
        true => last + 1,
        false => message.len(),
    };
    [&message[..first], SEALED, &message[end..]].concat()
}

fn find(message: &[u8], part: &[u8]) -> Option<usize> {
    message.windows(part.len()).position(|own| own == part)
}

fn find_last(message: &[u8], part: &[u8]) -> Option<usize> {
    message.windows(part.len()).rposition(|own| own == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_said(code: u16, message: &[u8], wanted: &str) {
        let error = ErrorPacket {
            code,
            state: None,
            message,
        };
        let said = without_values(&error);
        assert_eq!(String::from_utf8_lossy(&said), wanted);
    }

    #[test]
    fn messages_of_the_server_have_no_sealed_values() {
        let sealed = b"Duplicate entry '\x02\x01a' for key 'b\xff-7' for key 'person.number'";
        let wanted = "Duplicate entry '(a protected value)' for key 'person.number'";
        assert_said(1062, sealed, wanted);
        let written = b"Duplicate entry '\\x02\\x01\\xFF' for key 'PRIMARY'";
        let wanted = "Duplicate entry '(a protected value)' for key 'PRIMARY'";
        assert_said(1062, written, wanted);
        let value = b"Incorrect string value: '\\x02\\x01' for column 'n' at row 1";
        let wanted = "Incorrect string value: '(a protected value)' at row 1";
        assert_said(1366, value, wanted);
        let plain = b"Unknown column 'x' in 'field list'";
        assert_said(1054, plain, "Unknown column 'x' in 'field list'");
        let syntax = b"syntax to use near 'x'0201ff')' at line 1";
        assert_said(1064, syntax, "syntax to use near '(a protected value)'");
        for (code, cut) in [
            (1062, &b"Duplicate entry '"[..]),
            (1064, b"near '"),
            (1366, b"'\xff"),
        ] {
            let error = ErrorPacket {
                code,
                state: None,
                message: cut,
            };
            without_values(&error);
        }
    }
}
