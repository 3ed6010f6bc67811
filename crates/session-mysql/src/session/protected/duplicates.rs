//! The server's message that a row with the same key is there (1062), with the values of the client
//! in the place of sealed ones.
//!
//! The server says what is stored, and cuts it. What it says is compared with what the statement
//! has stored; if that is a row of the statement, its message is written anew with the values of
//! the row.

use session_core::plans::TextPlan;
use session_core::{Loaded, OpenedGroup, TOKEN_PREFIX_SIZE};
use sql_plan::{Form, Mode, Plan, Purpose, Source, Translated};
use sql_rewrite::Dialect;
use sql_rewrite::mysql::entries::{Stored, stored};
use wire_mysql::answer::ErrorPacket;

use super::fill::{self, Bound, Values};
use super::settings::Settings;
use super::statements::Bindings;
use super::values::Opened;

/// Letters of values in a message, at most.
const LETTERS_MAX: usize = 64;
/// What MariaDB writes behind values that it has cut.
const CUT: &str = "...";

/// `ER_DUP_ENTRY`
const DUPLICATE: u16 = 1062;

/// What the client is told of a statement and the values that it was executed with, one or more
/// times. None: it is another error, or its values are not known.
pub(super) fn said(
    error: &ErrorPacket<'_>,
    (plan, bindings): (&TextPlan, Option<&[Bindings]>),
    settings: &Settings,
) -> Option<Vec<u8>> {
    if error.code != DUPLICATE {
        return None;
    }
    let told = |values: &Values<'_>| message(error, plan, values, settings);
    match bindings {
        None => told(&(Vec::new(), Vec::new())),
        Some(rows) => rows.iter().find_map(|row| told(&row.values().ok()?)),
    }
}

/// The message for the client. None: its values are not known.
fn message(
    error: &ErrorPacket<'_>,
    plan: &TextPlan,
    values: &Values<'_>,
    settings: &Settings,
) -> Option<Vec<u8>> {
    let (entry, key) = entry_of(error)?;
    let translated = match plan.planned.first().map(|one| &one.plan) {
        Some(Plan::One(translated, _)) => translated,
        _ => return None,
    };
    let Dialect::MySql(own) = plan.loaded.schema.dialect else {
        return None;
    };
    let rows = stored(translated, key, &plan.loaded.schema);
    let rows = rows.iter().map(|row| {
        let parts = row.iter();
        let parts = parts.map(|part| both(part, translated, (plan, values, settings)));
        parts.collect()
    });
    told((entry, key), rows, own.is_mariadb)
}

/// What the client is told of rows of an `INSERT` whose values the finisher has computed: their
/// texts, by the numbers of these values. None: it is another error, or its values are not known.
pub(super) fn said_of_rows(
    error: &ErrorPacket<'_>,
    (translated, loaded): (&Translated, &Loaded),
    rows: &[Vec<Option<&[u8]>>],
) -> Option<Vec<u8>> {
    if error.code != DUPLICATE {
        return None;
    }
    let (entry, key) = entry_of(error)?;
    let Dialect::MySql(own) = loaded.schema.dialect else {
        return None;
    };
    let stored = stored(translated, key, &loaded.schema);
    let [row] = &stored[..] else {
        return None;
    };
    let rows = rows.iter().map(|values| {
        let parts = row.iter();
        let parts = parts.map(|part| computed(part, values, (translated, loaded)));
        parts.collect()
    });
    told((entry, key), rows, own.is_mariadb)
}

/// The values and the key that a message names.
fn entry_of<'e>(error: &ErrorPacket<'e>) -> Option<(&'e str, &'e str)> {
    let said = std::str::from_utf8(error.message).ok()?;
    let behind = said.strip_prefix("Duplicate entry '")?;
    let (entry, key) = behind.rsplit_once("' for key '")?;
    Some((entry, key.strip_suffix('\'')?))
}

/// The message with the values of the row whose sealed ones the server names.
fn told(
    (entry, key): (&str, &str),
    rows: impl Iterator<Item = Option<Vec<Option<Part>>>>,
    is_mariadb: bool,
) -> Option<Vec<u8>> {
    let mut found: Option<String> = None;
    for parts in rows {
        let parts = parts?;
        // NULL is never there twice.
        let Some(parts) = parts.into_iter().collect::<Option<Vec<Part>>>() else {
            continue;
        };
        let sent = parts.iter().map(|part| part.sent.as_str());
        let sent = sent.collect::<Vec<_>>().join("-");
        if cut(&sent, is_mariadb)? != entry {
            continue;
        }
        // What is plain is only known to be written so where the server has said it.
        let said = entry.strip_suffix(CUT).unwrap_or(entry).len();
        let mut end = 0;
        for part in &parts {
            end += part.sent.len();
            if !part.is_sealed && end > said {
                return None;
            }
            end += 1;
        }
        let given = parts.iter().map(|part| part.given.as_str());
        let given = given.collect::<Vec<_>>().join("-");
        let given = cut(&given, is_mariadb)?;
        if found.as_ref().is_some_and(|other| *other != given) {
            return None;
        }
        found = Some(given);
    }
    let entry = found?;
    Some(format!("Duplicate entry '{entry}' for key '{key}'").into_bytes())
}

/// Values as the server cuts them. None: it is not known where it does.
fn cut(text: &str, is_mariadb: bool) -> Option<String> {
    if text.len() <= LETTERS_MAX {
        return Some(text.to_owned());
    }
    match (text.is_ascii(), is_mariadb) {
        (false, _) => None,
        (true, true) => Some(format!("{}{CUT}", &text[..LETTERS_MAX - CUT.len()])),
        (true, false) => Some(text[..LETTERS_MAX].to_owned()),
    }
}

/// A value of a key.
struct Part {
    /// As the server has it, in its message.
    sent: String,
    /// As the client has it.
    given: String,
    is_sealed: bool,
}

/// A value that the finisher has computed.
fn computed(
    part: &Stored,
    values: &[Option<&[u8]>],
    (translated, loaded): (&Translated, &Loaded),
) -> Option<Option<Part>> {
    let Stored::Hole(number) = part else {
        return None;
    };
    let hole = translated.holes.get(*number)?;
    let Source::Computed(number) = hole.source else {
        return None;
    };
    let Some(value) = *values.get(number)? else {
        return Some(None);
    };
    let given = String::from_utf8(value.to_vec()).ok()?;
    let sent = match hole.form {
        Form::Plain => given.clone(),
        Form::Sealed(column, Purpose::Store) => {
            if loaded.schema.column(column).mode == Mode::Random {
                return None;
            }
            printed(&fill::sealed(loaded, column, value).ok()?)
        }
        _ => return None,
    };
    Some(Some(Part {
        sent,
        given,
        is_sealed: hole.form != Form::Plain,
    }))
}

/// A value of a row. None: it is not known. None within: it is NULL.
fn both(
    part: &Stored,
    translated: &Translated,
    (plan, values, settings): (&TextPlan, &Values<'_>, &Settings),
) -> Option<Option<Part>> {
    let plain = |text: String| {
        Some(Part {
            sent: text.clone(),
            given: text,
            is_sealed: false,
        })
    };
    let hole = match part {
        Stored::Whole(digits) => return Some(plain(digits.clone())),
        Stored::Hole(number) => translated.holes.get(*number)?,
    };
    let bound = match hole.source {
        Source::Parameter(number) => Some(Bound::find(values, number).ok()?),
        _ => None,
    };
    let Form::Sealed(column, Purpose::Store) = hole.form else {
        let whole = bound.filter(|_| hole.form == Form::Plain)?.whole()?;
        return Some(plain(whole.to_string()));
    };
    let loaded = &plan.loaded;
    let own = loaded.schema.column(column);
    let has_tokens = own.form.tokens.is_some();
    if own.mode == Mode::Random && !has_tokens {
        return None;
    }
    // The same value has the same form.
    let sealed = match bound {
        None => fill::literal(hole, loaded),
        Some(bound) => fill::parameter(&bound, (column, Purpose::Store), settings, loaded),
    };
    let Some(sealed) = sealed.ok()? else {
        return Some(None);
    };
    let mut together = OpenedGroup::default();
    let opened = Opened::in_row(loaded, (column, &sealed), settings.results, &mut together);
    let opened = opened.ok()??;
    Some(Some(Part {
        sent: printed(match has_tokens {
            // The key is over the token.
            true => sealed.get(..TOKEN_PREFIX_SIZE)?,
            false => &sealed,
        }),
        given: String::from_utf8(opened.text().to_vec()).ok()?,
        is_sealed: true,
    }))
}

/// Bytes as servers write them in messages.
fn printed(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        match byte {
            b' '..=b'~' => text.push(char::from(*byte)),
            byte => text.push_str(&format!("\\x{byte:02X}")),
        }
    }
    text
}
