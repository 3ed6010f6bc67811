//! The answer to `SHOW WARNINGS` where the server would tell of an older statement: behind a
//! refusal, and behind an answer of the finisher.

use std::sync::Arc;

use wire_mysql::Capabilities;
use wire_mysql::answer::{EOF, EofPacket, OkPacket};
use wire_mysql::column::Column;
use wire_mysql::packet;
use wire_mysql::row::write_text;
use wire_mysql::value::FieldType;
use zeroize::Zeroizing;

use super::Reach;
use super::warned::WarnedOf;
use crate::refusal::Refusal;

/// What was said of the last statement.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// The proxy refused it.
    pub(super) refused: Option<Refusal>,
    /// The statement, if the server has warnings of it and it had sealed values.
    pub(super) warned_of: Option<Arc<WarnedOf>>,
    /// Rows of `SHOW WARNINGS`, where the finisher has answered it.
    pub(super) rows: Vec<Zeroizing<Vec<u8>>>,
    /// The server counts other rows than it has found or changed.
    pub(super) has_other_counts: bool,
}

/// `utf8mb3_general_ci`, which both servers have.
const UTF8: u16 = 33;

/// Writes one row: the refusal.
pub(super) fn write(refused: &Refusal, sequence: u8, reach: &mut Reach<'_>) {
    let (code, _) = refused.reason.code();
    let message = format!("strongroom: {}", refused.message);
    let mut row = Vec::new();
    write_text(Some(b"Error"), &mut row);
    write_text(Some(code.to_string().as_bytes()), &mut row);
    write_text(Some(message.as_bytes()), &mut row);
    write_rows(&[row], sequence, reach);
}

/// Writes rows.
pub(super) fn write_rows(rows: &[impl AsRef<[u8]>], mut sequence: u8, reach: &mut Reach<'_>) {
    let (capabilities, status) = (reach.capabilities, *reach.status);
    let has_eof = !capabilities.has(Capabilities::DEPRECATE_EOF);
    let out = &mut *reach.to_client;
    let eof = EofPacket {
        warnings: 0,
        status,
    };
    packet::write_bytes(&[3], &mut sequence, out);
    for name in ["Level", "Code", "Message"] {
        let column = Column {
            catalog: b"def",
            schema: b"",
            table: b"",
            original_table: b"",
            name: name.as_bytes(),
            original_name: b"",
            character_set: UTF8,
            length: 1536,
            kind: FieldType::VAR_STRING,
            flags: 0,
            decimals: 0,
        };
        packet::write(&mut sequence, out, |out| column.write(out));
    }
    if has_eof {
        packet::write(&mut sequence, out, |out| eof.write(out));
    }
    for row in rows {
        packet::write_bytes(row.as_ref(), &mut sequence, out);
    }
    packet::write(&mut sequence, out, |out| match has_eof {
        true => eof.write(out),
        false => OkPacket::new(0, status).write(EOF, capabilities, out),
    });
}
