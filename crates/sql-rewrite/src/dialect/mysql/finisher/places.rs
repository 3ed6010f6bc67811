//! Where a text for the finisher names tables, and `WITH` queries.

use std::collections::BTreeSet;
use std::ops::Range;

use super::super::lexer::{Kind, Lexeme};
use super::super::{MySql, names};
use super::Named;
use crate::Refusal;
use sql_plan::unsupported;

/// Functions that have a `FROM` before an argument.
const WITH_FROM: [&str; 5] = ["extract", "mid", "substr", "substring", "trim"];

/// Whether a lexeme is a word without quotes or a symbol.
pub(super) fn is(lexeme: &Lexeme, value: &str) -> bool {
    matches!(lexeme.kind, Kind::Word | Kind::Symbol) && lexeme.value == value
}

/// The table that an `INSERT` names first, and where what follows it begins.
pub(super) fn target(found: &[Lexeme], text: &str, own: MySql) -> Result<(Named, usize), Refusal> {
    let other = || unsupported("an INSERT of this form in what the finisher evaluates");
    let mut index = 1;
    for word in ["ignore", "into"] {
        index += usize::from(found.get(index).is_some_and(|own| is(own, word)));
    }
    let part = |index: usize| {
        let found = found.get(index).and_then(|lexeme| name(lexeme, text));
        found.map(|name| names::table(name, own)).ok_or_else(other)
    };
    let first = part(index)?;
    let is_database = found.get(index + 1).is_some_and(|own| is(own, "."));
    let (named, end) = match is_database {
        true => ((Some(first), part(index + 2)?), index + 3),
        false => ((None, first), index + 1),
    };
    // Another word before the name would be taken for it: `LOW_PRIORITY`, `DELAYED`.
    let follows = ["(", "values", "select", "set", "with"];
    let is_name = found
        .get(end)
        .is_some_and(|own| follows.iter().any(|word| is(own, word)));
    match is_name {
        true => Ok((named, end)),
        false => Err(other()),
    }
}

/// Names that may be those of `WITH` queries: before `AS (`, also behind a list of columns.
pub(super) fn ctes(found: &[Lexeme], text: &str, own: MySql) -> BTreeSet<String> {
    let mut ctes = BTreeSet::new();
    for (index, lexeme) in found.iter().enumerate() {
        let begins = index.checked_sub(1).is_some_and(|before| {
            let before = &found[before];
            is(before, "with") || is(before, "recursive") || is(before, ",")
        });
        let behind = (found.get(index + 1), found.get(index + 2));
        let is_named =
            matches!(behind, (Some(word), Some(open)) if is(word, "as") && is(open, "("));
        if begins
            && (is_named || is_list_of_columns(found, index))
            && let Some(name) = name(lexeme, text)
        {
            ctes.insert(names::table(name, own).to_lowercase());
        }
    }
    ctes
}

/// Whether names in parentheses follow that are those of columns: `WITH t (a, b) AS (…)`.
pub(super) fn is_list_of_columns(found: &[Lexeme], index: usize) -> bool {
    let begins = index.checked_sub(1).is_some_and(|before| {
        let before = &found[before];
        is(before, "with") || is(before, "recursive") || is(before, ",")
    });
    let inside = found.get(index + 2..).unwrap_or_default();
    let is_inside = |own: &&Lexeme| matches!(own.kind, Kind::Word | Kind::Name) || is(own, ",");
    let count = inside.iter().take_while(is_inside).count();
    let behind: Vec<&Lexeme> = inside.iter().skip(count).take(3).collect();
    begins
        && matches!(behind[..], [close, word, open]
            if is(close, ")") && is(word, "as") && is(open, "("))
}

/// Whether a parenthesis at this index is of a function that has a `FROM` before an argument.
fn is_function_with_from(found: &[Lexeme], index: usize) -> bool {
    let before = index.checked_sub(1).map(|before| &found[before]);
    let is_query = |next: &Lexeme| is(next, "select") || is(next, "with") || is(next, "(");
    before.is_some_and(|own| own.kind == Kind::Word && WITH_FROM.contains(&own.value.as_str()))
        && !found.get(index + 1).is_some_and(is_query)
}

/// A name at the place of a table.
pub(super) struct Place {
    /// What it names.
    pub(super) named: Named,
    /// Where it stands in the text, with its database.
    pub(super) span: Range<usize>,
    /// The index of the lexeme behind it.
    pub(super) behind: usize,
}

/// Names at the places of tables.
pub(super) fn tables(found: &[Lexeme], text: &str, own: MySql) -> Vec<Named> {
    let places = places(found, text, own).into_iter();
    places.map(|place| place.named).collect()
}

/// Words that end a `FROM`.
const ENDS: [&str; 14] = [
    "set",
    "values",
    "with",
    "where",
    "group",
    "having",
    "order",
    "limit",
    "union",
    "except",
    "intersect",
    "window",
    "select",
    "for",
];

/// The same, with where they stand.
pub(super) fn places(found: &[Lexeme], text: &str, own: MySql) -> Vec<Place> {
    let mut tables = Vec::new();
    // For each open parenthesis, whether commas separate tables in it. None: it has none.
    let mut is_from = vec![Some(false)];
    let mut is_due = false;
    let mut index = 0;
    while let Some(lexeme) = found.get(index) {
        let is_table = std::mem::take(&mut is_due);
        if is(lexeme, "(") {
            let is_function = is_function_with_from(found, index);
            is_from.push((!is_function).then_some(is_table));
            is_due = is_table;
        } else if is(lexeme, ")") {
            is_from.pop();
        } else if ["from", "join", "straight_join", "update"]
            .iter()
            .any(|word| is(lexeme, word))
        {
            if let Some(Some(last)) = is_from.last_mut() {
                *last = true;
                is_due = true;
            }
        } else if is(lexeme, ",") {
            is_due = is_from.last().copied().flatten().unwrap_or_default();
        } else if lexeme.kind == Kind::Word && ENDS.contains(&lexeme.value.as_str()) {
            if let Some(Some(last)) = is_from.last_mut() {
                *last = false;
            }
        } else if is_table && let Some(place) = place(found, index, text, own) {
            index = place.behind;
            tables.push(place);
            continue;
        }
        index += 1;
    }
    tables
}

/// The name of a table at an index, perhaps with its database.
fn place(found: &[Lexeme], index: usize, text: &str, own: MySql) -> Option<Place> {
    let first = found.get(index).filter(|own| !is(own, "dual"))?;
    let part = |lexeme: &Lexeme| Some(names::table(name(lexeme, text)?, own));
    let alone = part(first)?;
    let has_database = found.get(index + 1).is_some_and(|own| is(own, "."));
    let second = found.get(index + 2).filter(|_| has_database);
    let second = second.and_then(|own| Some((part(own)?, own.span.end)));
    Some(match second {
        Some((table, end)) => Place {
            named: (Some(alone), table),
            span: first.span.start..end,
            behind: index + 3,
        },
        None => Place {
            named: (None, alone),
            span: first.span.clone(),
            behind: index + 1,
        },
    })
}

/// Words that may follow a table and are no alias.
const NO_ALIAS: &[&str] = &[
    "cross",
    "except",
    "for",
    "force",
    "group",
    "having",
    "ignore",
    "inner",
    "intersect",
    "into",
    "join",
    "left",
    "limit",
    "lock",
    "natural",
    "on",
    "order",
    "partition",
    "procedure",
    "right",
    "set",
    "straight_join",
    "union",
    "use",
    "using",
    "values",
    "where",
    "window",
    "with",
];

/// Whether what follows a table gives it an alias, perhaps behind `AS`.
pub(in crate::dialect::mysql) fn is_alias(next: Option<&Lexeme>) -> bool {
    next.is_some_and(|next| match next.kind {
        Kind::Name => true,
        Kind::Word => !NO_ALIAS.contains(&next.value.as_str()),
        _ => false,
    })
}

/// A name as it is written.
fn name<'t>(lexeme: &'t Lexeme, text: &'t str) -> Option<&'t str> {
    match lexeme.kind {
        Kind::Word => text.get(lexeme.span.clone()),
        Kind::Name => Some(&lexeme.value),
        _ => None,
    }
}
