//! A stream of COPY, in any format and cut anywhere.

use column_value::ValueError;
use session_postgres::copy::{Column, CopyError, Layout, Stream};
use sql_plan::{CopyForced, CopyFormat};

use crate::input::Input;

/// Characters that stand for delimiters, quotes and escapes.
const MARKS: &[char] = &['\t', ',', ';', '|', '"', '\'', '\\', 'a', '.'];
const NULLS: &[&str] = &["\\N", "", "NULL", "a", "\\."];

/// Takes a stream: it does not matter where it is cut; what is written reads as what was meant.
pub fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let format = format(&mut input);
    let columns = (0..input.byte() % 4).map(|number| Column {
        name: format!("c{number}"),
        is_protected: number % 2 == 0,
        is_kept: false,
    });
    let columns = columns.collect();
    let flags = input.byte();
    let layout = Layout {
        columns,
        added: Vec::new(),
        into_server: flags & 1 == 0,
        field_size_max: 64,
        marker_ends_csv: flags & 2 == 0,
    };
    let cuts: [u8; 8] = input.array();
    let stream = input.rest();
    let whole = turned(&format, &layout, &[stream]);
    let mut pieces = Vec::new();
    let mut rest = stream;
    for cut in cuts {
        let (piece, behind) = rest.split_at(rest.len().min(usize::from(cut)));
        pieces.push(piece);
        rest = behind;
    }
    pieces.push(rest);
    assert_eq!(
        turned(&format, &layout, &pieces),
        whole,
        "it matters where the stream is cut"
    );
    let Ok((contents, written)) = whole else {
        return;
    };
    // A text that reads as NULL has no other form in what the server writes.
    if layout.into_server && !is_ambiguous(&format) {
        let again = turned(&format, &layout, &[&written]);
        assert_eq!(again, Ok((contents, written)), "it is read as another");
    }
}

type Turned = Result<(Vec<(usize, Vec<u8>)>, Vec<u8>), CopyError>;

fn turned(format: &CopyFormat, layout: &Layout, pieces: &[&[u8]]) -> Turned {
    let mut contents = Vec::new();
    let mut keep = |field: usize, content: &[u8], out: &mut Vec<u8>| {
        contents.push((field, content.to_vec()));
        out.extend_from_slice(content);
        Ok::<bool, ValueError>(true)
    };
    let mut out = Vec::new();
    let mut stream = Stream::new(format, layout.clone()).expect("all marks are one byte");
    for piece in pieces {
        stream.push(piece, &mut keep, &mut out)?;
    }
    stream.end(&mut keep, &mut out)?;
    Ok((contents, out))
}

fn format(input: &mut Input<'_>) -> CopyFormat {
    let mut mark = || input.one_of(MARKS);
    let (delimiter, quote, escape) = (mark(), mark(), mark());
    let null = input.one_of(NULLS).to_owned();
    let header = input.byte() & 1 == 1;
    match input.byte() % 3 {
        0 => CopyFormat::Text {
            delimiter,
            null,
            header,
        },
        1 => CopyFormat::Csv {
            delimiter,
            null,
            header,
            quote,
            escape,
            forced: CopyForced::default(),
        },
        _ => CopyFormat::Binary,
    }
}

/// Characters that the server refuses for what they shall mean.
fn is_ambiguous(format: &CopyFormat) -> bool {
    match format {
        CopyFormat::Text {
            delimiter, null, ..
        } => matches!(delimiter, '\\' | 'a' | '.') || null.contains(*delimiter) || null == "\\.",
        CopyFormat::Csv {
            delimiter,
            null,
            quote,
            ..
        } => {
            delimiter == quote
                || null.contains(*delimiter)
                || null.contains(*quote)
                || null == "\\."
        }
        CopyFormat::Binary => false,
    }
}
