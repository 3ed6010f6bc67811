//! The server's message that a row with the same key is there (1062), with the values of the client
//! in the place of sealed ones.
//!
//! The server says what is stored, and cuts it. What it says is compared with what the statement
//! has stored; if that is a row of the statement, its message is written anew with the values of
//! the row.

use session_core::TOKEN_PREFIX_SIZE;
use session_core::plans::TextPlan;
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
    let said = std::str::from_utf8(error.message).ok()?;
    let behind = said.strip_prefix("Duplicate entry '")?;
    let (entry, key) = behind.rsplit_once("' for key '")?;
    let key = key.strip_suffix('\'')?;
    let translated = match plan.planned.first().map(|one| &one.plan) {
        Some(Plan::One(translated, _)) => translated,
        _ => return None,
    };
    let Dialect::MySql(own) = plan.loaded.schema.dialect else {
        return None;
    };
    let mut found: Option<String> = None;
    for row in stored(translated, key, &plan.loaded.schema) {
        let parts = row.iter();
        let parts = parts.map(|part| both(part, translated, (plan, values, settings)));
        let parts: Vec<Option<Part>> = parts.collect::<Option<_>>()?;
        // NULL is never there twice.
        let Some(parts) = parts.into_iter().collect::<Option<Vec<Part>>>() else {
            continue;
        };
        let sent = parts.iter().map(|part| part.sent.as_str());
        let sent = sent.collect::<Vec<_>>().join("-");
        if cut(&sent, own.is_mariadb)? != entry {
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
        let given = cut(&given, own.is_mariadb)?;
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
    let opened = Opened::new(loaded, column, &sealed, settings.results).ok()?;
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
