//! Streams without a server: what is read, and that it does not matter where they are cut.

use sql_plan::CopyForced;
use sqlstate::SqlState;

use super::*;

fn text() -> CopyFormat {
    CopyFormat::Text {
        delimiter: '\t',
        null: "\\N".to_owned(),
        header: false,
    }
}

fn csv() -> CopyFormat {
    CopyFormat::Csv {
        delimiter: ',',
        null: String::new(),
        header: false,
        quote: '"',
        escape: '"',
        forced: CopyForced::default(),
    }
}

fn layout(into_server: bool) -> Layout {
    let column = |(name, is_protected): (&str, bool)| Column {
        name: name.to_owned(),
        is_protected,
        is_kept: false,
    };
    Layout {
        columns: [("a", false), ("b", true)].map(column).to_vec(),
        added: Vec::new(),
        into_server,
        field_size_max: 100,
        marker_ends_csv: true,
    }
}

/// Puts a content between angles, and does not like `bad`.
fn between(_: usize, content: &[u8], out: &mut Vec<u8>) -> Result<bool, ValueError> {
    if content == b"bad" {
        return Err(ValueError {
            sqlstate: SqlState::INVALID_TEXT_REPRESENTATION,
            message: "invalid input syntax".to_owned(),
        });
    }
    out.extend([b"<", content, b">"].concat());
    Ok(true)
}

fn run(
    format: &CopyFormat,
    layout: Layout,
    pieces: &[&[u8]],
    convert: &mut Convert<'_>,
) -> Result<Vec<u8>, CopyError> {
    let mut stream = Stream::new(format, layout).expect("the format is known");
    let mut out = Vec::new();
    for piece in pieces {
        stream.push(piece, convert, &mut out)?;
    }
    stream.end(convert, &mut out)?;
    Ok(out)
}

fn turned(format: &CopyFormat, stream: &str) -> String {
    let out = run(format, layout(true), &[stream.as_bytes()], &mut between);
    String::from_utf8(out.expect("a good stream")).expect("UTF-8")
}

fn failed(format: &CopyFormat, stream: &str) -> CopyError {
    let out = run(format, layout(true), &[stream.as_bytes()], &mut between);
    out.expect_err("a bad stream")
}

#[test]
fn text_fields_are_converted_without_escapes() {
    for (stream, wanted) in [
        ("1\tx\n2\ty\n", "1\t<x>\n2\t<y>\n"),
        ("1\tx", "1\t<x>\n"),
        ("\\N\t\\N\n", "\\N\t\\N\n"),
        ("\t\n", "\t<>\n"),
        ("a\\tb\tc\\td\n", "a\\tb\t<c\\td>\n"),
        ("a\\\tb\tc\\\nd\n", "a\\tb\t<c\\nd>\n"),
        ("\\101\\x42\\q\t\\7\\x4g\\xg\n", "ABq\t<\u{7}\u{4}gxg>\n"),
        ("1\t\\\\N\n", "1\t<\\\\N>\n"),
        ("1\tx\r\n2\ty\r\n", "1\t<x>\n2\t<y>\n"),
        ("1\tx\r2\ty\r", "1\t<x>\n2\t<y>\n"),
        ("1\tx\n\\.\nbad\tbad", "1\t<x>\n"),
        ("1\tx\n\\.", "1\t<x>\n"),
        ("", ""),
    ] {
        assert_eq!(turned(&text(), stream), wanted, "{stream:?}");
    }
}

#[test]
fn a_text_that_would_read_as_null_is_written_otherwise() {
    let format = CopyFormat::Text {
        delimiter: '|',
        null: "nil".to_owned(),
        header: true,
    };
    let stream = "secrets|in the header\nnil|nil\nni\\l|x\n";
    assert_eq!(turned(&format, stream), "\nnil|nil\n\\156il|<x>\n");
    assert_eq!(turned(&format, "\n\\156il|x\n"), "\n\\156il|<x>\n");
}

#[test]
fn csv_fields_are_converted_without_quotes() {
    for (stream, wanted) in [
        ("1,x\n", "1,<x>\n"),
        ("1,\n", "1,\n"),
        ("1,\"\"\n", "1,<>\n"),
        ("\"\",x\n", "\"\",<x>\n"),
        ("\"a,b\",\"c\"\"d\ne\"\n", "\"a,b\",\"<c\"\"d\ne>\"\n"),
        ("a\"b\"c,x\"y\"\n", "abc,<xy>\n"),
        ("1,\\.\n\\.\nbad,bad\n", "1,<\\.>\n"),
        ("1,x\r\n2,\"\r\"\r\n", "1,<x>\n2,\"<\r>\"\n"),
    ] {
        assert_eq!(turned(&csv(), stream), wanted, "{stream:?}");
    }
    let other = CopyFormat::Csv {
        delimiter: ';',
        null: "NULL".to_owned(),
        header: true,
        quote: '\'',
        escape: '\\',
        forced: CopyForced::default(),
    };
    let stream = "a;'b\nc'\nNULL;'NULL'\n'it\\'s \\\\ \\n';NULL\n";
    assert_eq!(
        turned(&other, stream),
        "\nNULL;<NULL>\n'it\\'s \\\\ \\\\n';NULL\n"
    );
}

#[test]
fn fields_are_null_and_quoted_where_options_force_it() {
    let turned = |into_server: bool, forced: CopyForced, stream: &str| {
        let format = CopyFormat::Csv {
            delimiter: ',',
            null: "n".to_owned(),
            header: false,
            quote: '"',
            escape: '"',
            forced,
        };
        let out = run(
            &format,
            layout(into_server),
            &[stream.as_bytes()],
            &mut between,
        );
        String::from_utf8(out.expect(stream)).expect("UTF-8")
    };
    let stream = "n,n\n\"n\",\"n\"\n";
    let forced = CopyForced::default();
    assert_eq!(turned(true, forced, stream), "n,n\n\"n\",<n>\n");
    let forced = CopyForced {
        not_null: vec![0, 1],
        ..CopyForced::default()
    };
    assert_eq!(turned(true, forced, stream), "\"n\",<n>\n\"n\",<n>\n");
    let forced = CopyForced {
        null: vec![0, 1],
        ..CopyForced::default()
    };
    assert_eq!(turned(true, forced, stream), "n,n\nn,n\n");
    let forced = CopyForced {
        not_null: vec![1],
        null: vec![1],
        ..CopyForced::default()
    };
    assert_eq!(turned(true, forced, stream), "n,<n>\n\"n\",n\n");
    let forced = CopyForced {
        quote: vec![0, 1],
        ..CopyForced::default()
    };
    let stream = "1,x\nn,n\n";
    assert_eq!(turned(false, forced, stream), "\"1\",\"<x>\"\nn,n\n");
}

/// As PostgreSQL 15 reads them, asked with NULL '', 'a' and 'x'.
#[test]
fn a_backslash_at_the_end_of_a_stream_does_not_keep_its_field_from_being_null() {
    let turned = |null: &str, stream: &str| {
        let format = CopyFormat::Text {
            delimiter: ',',
            null: null.to_owned(),
            header: false,
        };
        let out = run(&format, layout(true), &[stream.as_bytes()], &mut between);
        String::from_utf8(out.expect(stream)).expect("UTF-8")
    };
    assert_eq!(turned("", "1,b\n2,\\"), "1,<b>\n2,\n");
    assert_eq!(turned("a", "2,a\\"), "2,a\n");
    assert_eq!(turned("x", "2,x\\\\"), "2,<x\\\\>\n");
    assert_eq!(turned("a", "2,b\\"), "2,<b>\n");
}

/// PostgreSQL 18 reads on: what stands behind such a line is not lost.
#[test]
fn a_line_of_backslash_and_dot_ends_csv_if_it_does_at_the_server() {
    let turned = |marker_ends_csv: bool, count: usize, stream: &str| {
        let mut layout = layout(true);
        layout.columns.truncate(count);
        layout.marker_ends_csv = marker_ends_csv;
        let out = run(&csv(), layout, &[stream.as_bytes()], &mut between);
        out.map(|out| String::from_utf8(out).expect("UTF-8"))
    };
    let stream = "a\n\\.\nb\n";
    assert_eq!(turned(true, 1, stream).as_deref(), Ok("a\n"));
    // In quotes, that no version takes it for the end.
    let wanted = "a\n\"\\.\"\nb\n";
    assert_eq!(turned(false, 1, stream).as_deref(), Ok(wanted));
    for marker_ends_csv in [true, false] {
        let again = turned(marker_ends_csv, 1, wanted);
        assert_eq!(again.as_deref(), Ok(wanted), "{marker_ends_csv}");
    }
    let stream = "1,x\n\\.\n2,y\n";
    assert_eq!(turned(true, 2, stream).as_deref(), Ok("1,<x>\n"));
    let error = turned(false, 2, stream).expect_err("one field of two");
    assert_eq!(error.message, "missing data for column \"b\"");
    assert_eq!(error.line, 2);
}

#[test]
fn a_header_of_the_server_goes_to_the_client() {
    let header = |format: CopyFormat| match format {
        CopyFormat::Csv {
            delimiter,
            null,
            quote,
            escape,
            forced,
            ..
        } => CopyFormat::Csv {
            delimiter,
            null,
            header: true,
            quote,
            escape,
            forced,
        },
        other => other,
    };
    let stream: &[u8] = b"a,b\n1,x\n";
    let out = run(&header(csv()), layout(false), &[stream], &mut between);
    assert_eq!(out.expect("a good stream"), b"a,b\n1,<x>\n");
}

fn binary(rows: &[&[Option<&[u8]>]]) -> Vec<u8> {
    let mut stream = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0".to_vec();
    for row in rows {
        stream.extend((row.len() as i16).to_be_bytes());
        for field in *row {
            match field {
                None => stream.extend((-1_i32).to_be_bytes()),
                Some(field) => {
                    stream.extend((field.len() as i32).to_be_bytes());
                    stream.extend_from_slice(field);
                }
            }
        }
    }
    stream.extend((-1_i16).to_be_bytes());
    stream
}

#[test]
fn binary_fields_are_converted() {
    let stream = binary(&[
        &[Some(b"1"), Some(b"x")],
        &[None, None],
        &[Some(b""), Some(b"")],
    ]);
    let wanted = binary(&[
        &[Some(b"1"), Some(b"<x>")],
        &[None, None],
        &[Some(b""), Some(b"<>")],
    ]);
    let turned = |stream: &[u8]| run(&CopyFormat::Binary, layout(true), &[stream], &mut between);
    assert_eq!(turned(&stream), Ok(wanted));
    let without_trailer = &stream[..stream.len() - 2];
    assert!(turned(without_trailer).is_ok());
    let mut extended = stream.clone();
    extended[18] = 3;
    extended.splice(19..19, *b"ext");
    assert_eq!(turned(&extended), turned(&stream));

    for (wrong, message) in [
        (&stream[..30], "unexpected EOF in COPY data"),
        (b"PGCOPY\n".as_slice(), "COPY file signature not recognized"),
        (&[b'x'; 30], "COPY file signature not recognized"),
        (
            &[&stream[..], b"x"].concat(),
            "received copy data after EOF marker",
        ),
        (
            &binary(&[&[Some(b"1")]]),
            "row field count is 1, expected 2",
        ),
    ] {
        assert_eq!(turned(wrong).expect_err(message).message, message);
    }
    let large = turned(&binary(&[&[Some(&[b'x'; 101]), None]]));
    assert_eq!(large.expect_err("too large").sqlstate, "54000");
}

#[test]
fn errors_name_line_and_column_as_the_servers_do() {
    let error = failed(&text(), "1\tx\n2\tbad\n");
    assert_eq!((error.sqlstate.as_str(), error.line), ("22P02", 2));
    assert_eq!(error.column.as_deref(), Some("b"));
    for (format, stream, message, line) in [
        (text(), "1\tx\n2\n", "missing data for column \"b\"", 2),
        (text(), "\n", "missing data for column \"b\"", 1),
        (
            text(),
            "1\t2\t3\n",
            "extra data after last expected column",
            1,
        ),
        (text(), "1\tx\ry\n", "literal newline found in data", 2),
        (
            text(),
            "1\tx\n2\ty\r\n",
            "literal carriage return found in data",
            2,
        ),
        (text(), "1\tx\\.\n", "end-of-copy marker corrupt", 1),
        (text(), "\\.x\n", "end-of-copy marker corrupt", 1),
        (csv(), "1,\"x\ny\n", "unterminated CSV quoted field", 1),
        (csv(), "1,2,3\n", "extra data after last expected column", 1),
        (
            csv(),
            "1,x\n2,y\r\n",
            "unquoted carriage return found in data",
            2,
        ),
    ] {
        let error = failed(&format, stream);
        assert_eq!(
            (error.sqlstate.as_str(), &*error.message),
            ("22P04", message),
            "{stream:?}"
        );
        assert_eq!(error.line, line, "{stream:?}");
    }
    let long = format!("{}\tx\n", "a".repeat(101));
    assert_eq!(failed(&text(), &long).sqlstate, "54000");
    assert_eq!(failed(&csv(), &long).sqlstate, "54000");
}

/// SplitMix64.
fn below(state: &mut u64, limit: usize) -> usize {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) % limit as u64) as usize
}

fn number(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(default, |text| text.parse().expect("a number"))
}

/// Streams that hold much of what is special.
fn drawn(state: &mut u64, format: &CopyFormat) -> Vec<u8> {
    if *format == CopyFormat::Binary {
        let content = b"abc".as_slice();
        let rows = (0..below(state, 4))
            .map(|_| [(); 2].map(|()| (below(state, 4) > 0).then(|| &content[..below(state, 4)])));
        let rows: Vec<_> = rows.collect();
        let rows: Vec<&[Option<&[u8]>]> = rows.iter().map(|row| row.as_slice()).collect();
        let mut stream = binary(&rows);
        if below(state, 3) == 0 {
            let at = below(state, stream.len());
            stream[at] = below(state, 256) as u8;
        }
        return stream;
    }
    let alphabet: &[&str] = match format {
        CopyFormat::Text { .. } => &[
            "a", "bad", "\t", "\t", "\\", "\\N", "\\.", "\n", "\n", "\r", "1", "x", "é", "\\x4",
            "\\12",
        ],
        _ => &[
            "a", "bad", ",", ",", "\"", "\"\"", "\\.", "\n", "\n", "\r", "\\", "é", "\"a\"",
        ],
    };
    let mut stream = Vec::new();
    for _ in 0..below(state, 6) {
        // Rows of the right count are rare among what is drawn freely.
        let good = match format {
            CopyFormat::Text { .. } => "a\\tb\t\\N\n",
            _ => "\"a,\",\"\"\n",
        };
        match below(state, 2) {
            0 => stream.extend(good.bytes()),
            _ => {
                for _ in 0..below(state, 8) {
                    stream.extend(alphabet[below(state, alphabet.len())].bytes());
                }
            }
        }
    }
    stream
}

#[test]
fn it_does_not_matter_where_a_stream_is_cut() {
    let seed = number("STRONGROOM_TEST_SEED", 1);
    let mut state = seed;
    let (mut good, count) = (0, number("STRONGROOM_TEST_CASES", 3000));
    for case in 0..count {
        for format in [text(), csv(), CopyFormat::Binary] {
            let stream = drawn(&mut state, &format);
            let into_server = below(&mut state, 2) == 0;
            let whole = run(&format, layout(into_server), &[&stream], &mut between);
            good += u64::from(whole.is_ok());
            let mut pieces = Vec::new();
            let mut rest = stream.as_slice();
            while !rest.is_empty() {
                let (piece, behind) = rest.split_at(1 + below(&mut state, rest.len().min(5)));
                pieces.push(piece);
                rest = behind;
            }
            let cut = run(&format, layout(into_server), &pieces, &mut between);
            assert_eq!(
                cut,
                whole,
                "seed {seed}, case {case}: {:?}",
                String::from_utf8_lossy(&stream)
            );
            let bytes: Vec<&[u8]> = stream.chunks(1).collect();
            let single = run(&format, layout(into_server), &bytes, &mut between);
            assert_eq!(single, whole, "seed {seed}, case {case}, byte by byte");
        }
    }
    assert!(good > count / 3, "{good} of {} are good", 3 * count);
}

/// What is written reads as the same contents, and is written as the same again.
#[test]
fn written_fields_are_read_back_unchanged() {
    let seed = number("STRONGROOM_TEST_SEED", 2);
    let mut state = seed;
    for case in 0..number("STRONGROOM_TEST_CASES", 3000) {
        for format in [text(), csv(), CopyFormat::Binary] {
            let stream = drawn(&mut state, &format);
            let (mut first, mut second) = (Vec::new(), Vec::new());
            let mut keep = |field: usize, content: &[u8], out: &mut Vec<u8>| {
                first.push((field, content.to_vec()));
                out.extend_from_slice(content);
                Ok(true)
            };
            let Ok(once) = run(&format, layout(true), &[&stream], &mut keep) else {
                continue;
            };
            let mut keep = |field: usize, content: &[u8], out: &mut Vec<u8>| {
                second.push((field, content.to_vec()));
                out.extend_from_slice(content);
                Ok(true)
            };
            let twice = run(&format, layout(true), &[&once], &mut keep);
            assert_eq!(twice.as_ref(), Ok(&once), "seed {seed}, case {case}");
            assert_eq!(first, second, "seed {seed}, case {case}");
        }
    }
}
