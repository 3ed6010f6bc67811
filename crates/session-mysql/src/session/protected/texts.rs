//! Texts that need no plan, and what becomes of the others.

use std::sync::Arc;

use column_value::LogicalType;
use session_core::plans::TextPlan;
use session_core::{Loaded, Protection, StatementError};
use sql_plan::{Effects, Form, Output, Plan, Source, Translated};
use sql_rewrite::mysql::bytes::in_hexadecimal;
use sql_rewrite::mysql::calculated;
use sql_rewrite::mysql::load::{Load, load};
use sql_rewrite::mysql::shown::{Described, described};
use sql_rewrite::mysql::statement::{effects_of_unread, may_name};
use sql_rewrite::mysql::zone;

use super::asked;
use super::settings::{Letters, Settings};

/// What becomes of a text.
#[derive(Debug)]
pub(super) enum Decision {
    /// It passes as it came.
    Passes(Effects),
    /// The server gets another one.
    Planned(Arc<TextPlan>),
    /// It passes, and its answer shows declared types.
    Described(Box<Described>),
    /// It reads a file of the client.
    Loads(Box<Load>, Effects),
}

/// Texts that pass in every session, whatever is known of it: they are about the session alone.
const FRAMES: [&str; 11] = [
    "begin",
    "begin work",
    "start transaction",
    "start transaction read only",
    "start transaction read write",
    "start transaction with consistent snapshot",
    "commit",
    "commit work",
    "rollback",
    "rollback work",
    "select row_count()",
];
/// Bytes of a text that may be one of them.
const FRAME_SIZE_MAX: usize = 256;

/// Whether a text passes before anything is asked about the session. A question would change what
/// it gives.
pub(super) fn is_frame(text: &[u8]) -> bool {
    let text = trimmed(text);
    let is_in = |own: &&str| {
        let words = text.split(u8::is_ascii_whitespace);
        let words = words.filter(|word| !word.is_empty());
        let wanted = own.split(' ').map(str::as_bytes);
        words.map(<[u8]>::to_ascii_lowercase).eq(wanted)
    };
    let is_frame = text.len() <= FRAME_SIZE_MAX && FRAMES.iter().any(is_in);
    is_frame || is_of_xa(text) || asked::read(text).is_some()
}

/// Whether a text begins a transaction, or ends one. What a session sees is not fixed then.
pub(super) fn begins_or_ends(text: &[u8]) -> bool {
    let text = trimmed(text);
    if text.contains(&b';') {
        return false;
    }
    let mut words = text
        .split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
        .filter(|word| !word.is_empty());
    let mut next = || words.next().unwrap_or_default().to_ascii_lowercase();
    let (first, second, third) = (next(), next(), next());
    let has_snapshot = || {
        text.to_ascii_lowercase()
            .windows(8)
            .any(|own| own == b"snapshot")
    };
    match first.as_slice() {
        b"begin" | b"commit" => true,
        b"start" => !has_snapshot(),
        b"rollback" => second != b"to" && third != b"to",
        b"xa" => matches!(second.as_slice(), b"start" | b"begin"),
        _ => false,
    }
}

/// Whether a text is about a distributed transaction. Between `XA END` and the end of it, the
/// server carries out nothing else.
fn is_of_xa(text: &[u8]) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b" _,.:'-".contains(byte);
    let mut words = text
        .split(|byte| *byte == b' ')
        .filter(|word| !word.is_empty());
    let is_xa = words
        .next()
        .is_some_and(|word| word.eq_ignore_ascii_case(b"xa"));
    is_xa && words.next().is_some() && text.iter().all(is_plain)
}

/// Whether a text shows what the server has said, in any of the forms, and does nothing else.
pub(super) fn shows_warnings(text: &[u8]) -> bool {
    let text = trimmed(text);
    if text.contains(&b';') {
        return false;
    }
    let mut starts = [&b"show warnings"[..], b"show errors"].into_iter();
    starts.any(|start| {
        text.get(..start.len())
            .is_some_and(|own| own.eq_ignore_ascii_case(start))
    })
}

/// Whether a text locks tables, or ends that. None: it does neither. One that may do both locks
/// them.
pub(super) fn locks_tables(text: &[u8]) -> Option<bool> {
    let begins = |own: &str| trimmed(text).eq_ignore_ascii_case(own.as_bytes());
    if ["begin", "start transaction"].into_iter().any(begins) {
        return Some(false);
    }
    let lower = text.to_ascii_lowercase();
    let words: Vec<&[u8]> = lower
        .split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
        .filter(|word| !word.is_empty())
        .collect();
    let has = |first: &[u8], second: &[u8]| {
        let mut pairs = words.windows(2);
        pairs.any(|pair| pair[0] == first && pair[1].starts_with(second))
    };
    let flushes = words.contains(&&b"flush"[..]);
    if has(b"lock", b"table") || (flushes && (has(b"read", b"lock") || has(b"for", b"export"))) {
        return Some(true);
    }
    has(b"unlock", b"table").then_some(false)
}

/// Whether a text may ask how many rows the last statement has found or changed.
pub(super) fn asks_for_counts(text: &[u8]) -> bool {
    let text = text.to_ascii_lowercase();
    let has = |name: &[u8]| text.windows(name.len()).any(|own| own == name);
    has(b"row_count") || (has(b"found_rows") && !has(b"calc_found_rows"))
}

/// Whether a text only sets the character set of the session: the way out of one that is not
/// understood.
pub(super) fn sets_names(text: &[u8]) -> bool {
    let text = trimmed(text);
    let Some((start, name)) = text.split_at_checked(10) else {
        return false;
    };
    let name = name
        .strip_prefix(b"'")
        .and_then(|name| name.strip_suffix(b"'"))
        .unwrap_or(name);
    start.eq_ignore_ascii_case(b"set names ")
        && name
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// Whether a text may only change the password of an account: a single `SET PASSWORD` or `ALTER
/// USER`.
pub(super) fn changes_password(text: &[u8]) -> bool {
    let lower = trimmed(text).to_ascii_lowercase();
    let mut words = lower
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    let is_change = match (words.next(), words.next()) {
        (Some(b"set"), Some(word)) => word.starts_with(b"password"),
        (Some(b"alter"), Some(word)) => word == b"user",
        _ => false,
    };
    // A query would be one in parentheses behind SELECT, and a second variable behind a comma.
    is_change && !lower.contains(&b';') && !lower.windows(6).any(|part| part == b"select")
}

fn trimmed(text: &[u8]) -> &[u8] {
    let text = text.trim_ascii();
    text.strip_suffix(b";").unwrap_or(text).trim_ascii()
}

/// What becomes of a text in a session with these settings.
///
/// # Errors
/// It is refused.
pub(super) fn decide(
    text: &[u8],
    settings: &Settings,
    loaded: &Arc<Loaded>,
    shared: &Protection,
) -> Result<Decision, StatementError> {
    let unread = |why: &dyn Fn() -> StatementError| match may_name(text, &loaded.schema) {
        true => Err(why()),
        false => Ok(Decision::Passes(effects_of_unread(text))),
    };
    if let Err(error) = &settings.own {
        return unread(&|| StatementError::unsupported(error.to_string()));
    }
    let read = match &settings.own {
        Ok((own, _)) => in_hexadecimal(text, *own),
        Err(_) => None,
    };
    let read = read.filter(|text| settings.client.has(text));
    let Some(text) = read.as_deref() else {
        return unread(&|| {
            StatementError::unsupported(
                "a text over a protected table with letters that are not UTF-8, or not of the \
                 character set of the session,",
            )
            .hint("Use SET NAMES utf8mb4, and send UTF-8.")
        });
    };
    if let Some(described) = described(text, &loaded.schema) {
        return Ok(Decision::Described(Box::new(described)));
    }
    let loads = match &settings.own {
        Ok((own, _)) => load(text, &loaded.schema, *own).transpose()?,
        Err(_) => None,
    };
    let plan = shared.plan(loaded, text)?;
    if let Some(load) = loads {
        let is_read = load.rows.is_some();
        return match &plan.planned[..] {
            [one] if is_read != matches!(one.plan, Plan::Pass(_)) => {
                Ok(Decision::Loads(Box::new(load), one.plan.effects().clone()))
            }
            _ => Err(StatementError::other_plan()),
        };
    }
    let [one] = &plan.planned[..] else {
        return Err(StatementError::other_plan());
    };
    if let Plan::Pass(effects) = &one.plan {
        return Ok(Decision::Passes(effects.clone()));
    }
    let parts = statements(&one.plan).ok_or_else(StatementError::other_plan)?;
    check_sorting(&plan, text.as_bytes(), settings)?;
    if !settings.connection.has(text) {
        return Err(StatementError::unsupported(
            "the server would change letters of the text on their way (character_set_connection)",
        )
        .hint("Use SET NAMES utf8mb4."));
    }
    for translated in parts {
        check_plan(translated, settings, loaded)?;
    }
    Ok(Decision::Planned(plan))
}

/// Refuses a statement that may sort, where the server compares few bytes.
pub(super) fn check_sorting(
    plan: &TextPlan,
    text: &[u8],
    settings: &Settings,
) -> Result<(), StatementError> {
    let may_sort = || {
        let text = String::from_utf8_lossy(text);
        let mut planned = plan.planned.iter();
        planned.any(|one| may_sort(&one.plan, &text))
    };
    if !settings.sorts_short || !may_sort() {
        return Ok(());
    }
    Err(StatementError::unsupported(
        "a statement over a protected table that sorts or groups, in a session with \
         max_sort_length below 1024,",
    )
    .hint("SET max_sort_length = DEFAULT."))
}

/// Whether the server, or the proxy in its place, may sort or group rows by sealed values. The
/// finisher has the session's setting.
fn may_sort(plan: &Plan, text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let mut words = text.split(|letter: char| !letter.is_ascii_alphanumeric());
    !matches!(plan, Plan::FinisherTables(_))
        && words.any(|word| matches!(word, "order" | "group" | "distinct"))
}

/// The statements that a plan sends. None: it is none that is carried out here.
pub(super) fn statements(plan: &Plan) -> Option<Vec<&Translated>> {
    Some(match plan {
        Plan::One(translated, _) => vec![translated],
        Plan::ReadModifyWrite(modify) => vec![&modify.read, &modify.write],
        Plan::Finish(finish) => vec![&finish.fetch],
        Plan::FinisherTables(query) => {
            let tables = query.tables.iter();
            let fetches = tables.flat_map(|table| [table.fetch.as_ref(), table.fetch_all.as_ref()]);
            let write = query.write.iter().map(|own| &own.write);
            let insert = query.insert.iter().map(|own| &own.write);
            fetches.flatten().chain(write).chain(insert).collect()
        }
        _ => return None,
    })
}

/// Checks that a statement's texts are still written in the character set of the results, which may
/// be another one than when it was prepared.
pub(super) fn check_results(plan: &TextPlan, settings: &Settings) -> Result<(), StatementError> {
    if settings.results.letters != Letters::Bytes {
        return Ok(());
    }
    let parts = plan.planned.iter().filter_map(|one| statements(&one.plan));
    for translated in parts.flatten() {
        check_plan(translated, settings, &plan.loaded)?;
    }
    Ok(())
}

/// Checks that a plan has only what is carried out here.
fn check_plan(
    translated: &Translated,
    settings: &Settings,
    loaded: &Loaded,
) -> Result<(), StatementError> {
    let is_known = |output: &Output| output.shown_as.is_none();
    let fills = |source: &Source| match source {
        Source::Calculated(value, _) => calculated::is_sum(value),
        _ => true,
    };
    let holes = translated.holes.iter();
    let mut holes = holes.map(|hole| match hole.form {
        Form::Plain => matches!(
            hole.source,
            Source::Parameter(_) | Source::Locator(_) | Source::Computed(_)
        ),
        Form::Sealed(..) => fills(&hole.source),
        Form::SealedArray(..) => false,
    });
    if !translated.outputs.iter().all(is_known) || !holes.all(|is_known| is_known) {
        return Err(StatementError::other_plan());
    }
    let sealed = translated.outputs.iter().filter_map(super::columns::sealed);
    let mut has_texts = false;
    for logical in sealed.map(|id| loaded.schema.column(id).logical) {
        has_texts |= logical.is_text();
        if matches!(logical, LogicalType::TimestampTz(_)) {
            zone::offset(&loaded.schema)?;
        }
    }
    match has_texts && settings.results.letters == Letters::Bytes {
        false => Ok(()),
        true => Err(StatementError::unsupported(
            "a protected text is not written in the character set of the session's results",
        )
        .hint("Use SET NAMES utf8mb4.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_may_lock_tables_is_known() {
        for (text, locks) in [
            ("LOCK TABLES person READ", Some(true)),
            ("unlock tables", Some(false)),
            ("UNLOCK TABLES; LOCK TABLE person WRITE", Some(true)),
            ("LOCK TABLES a READ; UNLOCK TABLES", Some(true)),
            ("FLUSH TABLES person WITH READ LOCK", Some(true)),
            ("FLUSH LOCAL TABLES WITH READ  LOCK", Some(true)),
            ("flush table person for export", Some(true)),
            ("FLUSH TABLES person", None),
            (" BEGIN; ", Some(false)),
            ("start transaction", Some(false)),
            ("SELECT * FROM tables LOCK IN SHARE MODE", None),
        ] {
            assert_eq!(locks_tables(text.as_bytes()), locks, "{text}");
        }
    }

    #[test]
    fn warnings_are_shown_by_one_statement() {
        for text in ["show warnings", " SHOW ERRORS limit 1; "] {
            assert!(shows_warnings(text.as_bytes()), "{text}");
        }
        for text in ["show warnings; set names gbk", "show tables"] {
            assert!(!shows_warnings(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn transactions_begin_and_end_by_one_statement() {
        for text in [
            "BEGIN",
            "start transaction read only;",
            "COMMIT AND CHAIN",
            "rollback work",
            "xa start 'a'",
        ] {
            assert!(begins_or_ends(text.as_bytes()), "{text}");
        }
        for text in [
            "START TRANSACTION WITH CONSISTENT SNAPSHOT",
            "rollback to a",
            "ROLLBACK WORK TO SAVEPOINT a",
            "begin; select 1",
            "xa end 'a'",
            "select 'begin'",
        ] {
            assert!(!begins_or_ends(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn only_exact_texts_need_no_plan() {
        for text in [
            "COMMIT",
            " show Warnings ; ",
            "begin",
            "XA END 'a'",
            "xa commit 'a-1','b',1 one phase;",
            "BEGIN  Work;",
            "start\ttransaction read only",
        ] {
            assert!(is_frame(text.as_bytes()), "{text}");
        }
        for text in [
            "commit; select 1",
            "show warnings limit x",
            "commit -- x",
            "xa end 'a'; select 1",
            "xa end /*! 'a' */",
            "xa",
            "begin work x",
            "begin; work",
            "",
        ] {
            assert!(!is_frame(text.as_bytes()), "{text}");
        }
        for text in ["set names utf8mb4", "SET NAMES 'latin1';"] {
            assert!(sets_names(text.as_bytes()), "{text}");
        }
        for text in [
            "set names",
            "set names utf8; x",
            "set names 'a' 'b'",
            "set namesx",
        ] {
            assert!(!sets_names(text.as_bytes()), "{text}");
        }
    }
}
