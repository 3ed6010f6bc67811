//! Texts that are found by a collation: the finisher gives their collation keys before a statement
//! with them is carried out.
//!
//! Invariants:
//! 1. Nothing of a statement is sent before the token of each of its texts is known.
//! 2. No key of the finisher is used before its weights have been compared with those of the
//!    client's server, by a digest over the first 65,536 letters.
//! 3. A command is carried out anew once keys have come: it sees the settings and the schema that
//!    are valid then.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use column_value::Collation;
use session_core::plans::TextPlan;
use session_core::{KeylessText, Loaded, StatementError, TEXTS_MAX};
use sql_plan::{Form, Hole, Source};
use sql_rewrite::mysql::MySql;
use sql_rewrite::{ProtectedColumn, Schema, SchemaError};
use wire_mysql::row::TextRow;
use zeroize::Zeroizing;

use super::fill::{self, Bound, Values};
use super::settings::Settings;
use super::texts::statements;
use super::{Pending, Protected, Reach, Work};
use crate::finisher::{FinisherAnswer, FinisherKind, FinisherRequest, FinisherStatement};
use crate::refusal::Refusal;

/// Texts of a question to the finisher.
const TEXTS_OF_QUESTION: usize = 500;
/// Bytes of their letters.
const BYTES_OF_QUESTION: usize = 1 << 20;
/// What the answer may have. A collation key has at most some weights for each letter.
const ANSWER_SIZE_MAX: usize = 64 << 20;
/// Questions for one command. Each has new texts, unless other sessions use up the room for them.
const QUESTIONS_MAX: u16 = 1000;

/// A command that waits for collation keys.
#[derive(Debug)]
pub(super) struct Weighing {
    pub(super) pending: Pending,
    loaded: Arc<Loaded>,
    collation: Collation,
    texts: Vec<KeylessText>,
    /// The digest that the client's server has given, which the finisher's is compared with.
    wanted: Option<String>,
    finisher: String,
}

/// The name of a server's program, by which its weights are remembered.
fn name_of(own: MySql) -> String {
    let product = if own.is_mariadb { "MariaDB" } else { "MySQL" };
    format!("{product} {}", own.version)
}

/// The name of a finisher's.
fn finisher_name(own: MySql) -> String {
    format!("finisher {}", own.series())
}

/// The expression of the digest of the weights of a collation. What is no letter (a surrogate) is
/// left out: MySQL gives it a weight or none, as the SQL mode is.
fn digest_of(collation: Collation) -> String {
    let digit = |factor: u32, name: &str| {
        let rest: String = (1..16)
            .map(|own| format!(" UNION ALL SELECT {}", own * factor))
            .collect();
        format!("(SELECT 0 AS d{rest}) AS {name}")
    };
    format!(
        "(SELECT CONCAT(COUNT(w), '-', BIT_XOR(CAST(CONV(LEFT(MD5(CONCAT(n, ':', w)), 16), 16, 10) \
         AS UNSIGNED))) FROM (SELECT n, HEX(WEIGHT_STRING(CONVERT(CONVERT(UNHEX(LPAD(HEX(n), 8, \
         '0')) USING utf32) USING utf8mb4) COLLATE {collation})) AS w FROM (SELECT a.d + b.d + c.d \
         + e.d AS n FROM {}, {}, {}, {}) AS numbers WHERE n NOT BETWEEN 55296 AND 57343) AS \
         weights)",
        digit(1, "a"),
        digit(16, "b"),
        digit(256, "c"),
        digit(4096, "e"),
    )
}

/// What the client's server is asked: the digest of a collation of which it has told none.
pub(super) fn question(
    loaded: &Loaded,
    server: &str,
    known: &session_core::Weights,
) -> Option<(Collation, String)> {
    let collation = collations(loaded).find(|own| known.of(server, *own).is_none())?;
    Some((collation, format!("SELECT {}", digest_of(collation))))
}

/// The digest of the weights of a collation that a server does not have.
pub(super) const NOT_THERE: &str = "none";

fn collations(loaded: &Loaded) -> impl Iterator<Item = Collation> {
    let schema = &loaded.schema;
    // Nothing is found in a table that does not fit.
    let is_fit = |rule: &&ProtectedColumn| {
        let mut unfit = schema.unfit.iter();
        unfit.all(|own| (&own.schema, &own.table) != (&rule.schema, &rule.table))
    };
    let rules = schema.protected.iter().filter(is_fit);
    rules.filter_map(|rule| rule.form.tokens)
}

/// The name under which the digests of a server are remembered.
pub(super) fn server_name(address: &str, own: MySql) -> String {
    format!("{address} {}", name_of(own))
}

/// The texts of a plan whose tokens are not known.
pub(super) fn keyless(
    plan: &TextPlan,
    values: Option<&Values<'_>>,
    settings: &Settings,
) -> Vec<KeylessText> {
    let mut found = Vec::new();
    note_keyless((plan, values, settings), &mut Seen::default(), &mut found);
    found
}

/// Hashes of texts. Two texts of one hash are asked for one after the other.
#[derive(Default)]
struct Seen {
    hashes: RandomState,
    found: HashSet<u64>,
}

fn note_keyless(
    (plan, values, settings): (&TextPlan, Option<&Values<'_>>, &Settings),
    seen: &mut Seen,
    found: &mut Vec<KeylessText>,
) {
    if !plan.loaded.schema.has_tokens() {
        return;
    }
    let parts = plan
        .planned
        .iter()
        .filter_map(|one| statements(&one.plan))
        .flatten();
    for hole in parts.flat_map(|part| &part.holes) {
        // What else is wrong with a value is said where it is filled in.
        if let Err(StatementError {
            keyless: Some(text),
            ..
        }) = filled(hole, &plan.loaded, values, settings)
        {
            let hash = seen.hashes.hash_one((text.column, text.text.as_bytes()));
            if seen.found.insert(hash) {
                found.push(*text);
            }
        }
    }
}

/// Notes rules that need a finisher, where there is none for the server.
pub(super) fn check_finisher(schema: &mut Schema) {
    if schema.has_finisher() {
        return;
    }
    let rules = schema.protected.iter();
    let errors: Vec<SchemaError> = rules
        .filter(|rule| rule.form.tokens.is_some())
        .map(|rule| SchemaError {
            schema: rule.schema.clone(),
            table: rule.table.clone(),
            column: rule.column.clone(),
            problem: "is found by a collation, whose keys a finisher of the server's own version \
                      gives, and there is none: set [finish] engine to \"mariadb\" or \
                      \"mysql\", as the server is, and install that version, or write \
                      collation = \"binary\""
                .to_owned(),
            is_own: true,
        })
        .collect();
    schema.unfit.extend(errors);
}

fn filled(
    hole: &Hole,
    loaded: &Loaded,
    values: Option<&Values<'_>>,
    settings: &Settings,
) -> Result<(), StatementError> {
    let Form::Sealed(column, purpose) = hole.form else {
        return Ok(());
    };
    if loaded.schema.column(column).form.tokens.is_none() {
        return Ok(());
    }
    match (&hole.source, values) {
        (Source::Literal(_), _) => fill::literal(hole, loaded).map(drop),
        (Source::Parameter(number), Some(values)) => {
            let bound = Bound::find(values, *number)?;
            fill::parameter(&bound, (column, purpose), settings, loaded).map(drop)
        }
        _ => Ok(()),
    }
}

impl Protected {
    /// Asks the finisher for the collation keys of texts. The command is carried out anew once they
    /// are there.
    pub(super) fn weigh(
        &mut self,
        texts: Vec<KeylessText>,
        pending: &Pending,
        reach: &mut Reach<'_>,
    ) {
        match self.weighing(texts, pending) {
            Err(error) => self.refuse(&error, pending.sequence, reach),
            Ok((weighing, request)) => {
                self.request = Some(Box::new(request));
                self.work = Work::Weighing(Box::new(weighing));
            }
        }
    }

    fn weighing(
        &self,
        texts: Vec<KeylessText>,
        pending: &Pending,
    ) -> Result<(Weighing, FinisherRequest), StatementError> {
        if texts.len() > TEXTS_MAX {
            return Err(StatementError::limit(format!(
                "the statement has more than {TEXTS_MAX} texts for columns that are found by a \
                 collation"
            ))
            .hint("Split it."));
        }
        if pending.weighings >= QUESTIONS_MAX {
            let message = "other sessions use up the room for collation keys";
            return Err(StatementError::limit(message).hint("Send the statement again."));
        }
        let (Some(settings), Some(loaded)) = (&self.settings, self.view.loaded()) else {
            return Err(StatementError::defect("nothing is known of the session"));
        };
        let own = settings.own.clone();
        let (own, _) = own.map_err(|error| StatementError::unsupported(error.to_string()))?;
        let of_text = |text: &KeylessText| loaded.schema.column(text.column).form.tokens;
        let collation = texts.first().and_then(of_text);
        let collation = collation.ok_or_else(StatementError::other_plan)?;
        let texts = of_question(texts, |text| of_text(text) == Some(collation));
        let weights = self.view.shared().weights();
        let finisher = finisher_name(own);
        let server = weights.of(&self.view.server_name(own), collation);
        let server = server.ok_or_else(|| {
            StatementError::defect("the server has not told the weights of a collation")
        })?;
        if server == NOT_THERE {
            return Err(StatementError::rules(format!(
                "the server has no collation {collation}, by which a rule finds texts"
            ))
            .hint("Name a collation in the rule that the server has."));
        }
        let wanted = match weights.of(&finisher, collation) {
            Some(known) if known == server => None,
            Some(_) => return Err(other_weights(collation)),
            None => Some(server),
        };
        let request = FinisherRequest {
            kind: FinisherKind {
                series: own.series(),
                folds_tables: own.folds_tables,
            },
            databases: Vec::new(),
            database: None,
            tables: Vec::new(),
            settings: "SET NAMES utf8mb4".to_owned(),
            statement: FinisherStatement::Text(asked(collation, &texts, wanted.is_some())),
            read_back: None,
            answer_size_max: ANSWER_SIZE_MAX,
        };
        let weighing = Weighing {
            pending: Pending {
                weighings: pending.weighings + 1,
                ..pending.again()
            },
            loaded: Arc::clone(loaded),
            collation,
            texts,
            wanted,
            finisher,
        };
        Ok((weighing, request))
    }

    /// Takes the finisher's answer, and goes on with the command.
    ///
    /// # Errors
    /// The session cannot go on.
    pub(super) fn weighed(
        &mut self,
        weighing: Weighing,
        answer: FinisherAnswer,
        reach: &mut Reach<'_>,
    ) -> Result<(), Refusal> {
        let noted = weighing.note(answer, self.view.shared().weights());
        match noted {
            Ok(()) => {
                self.pending = Some(weighing.pending);
                self.advance(reach)
            }
            Err(error) => {
                self.refuse(&error, weighing.pending.sequence, reach);
                Ok(())
            }
        }
    }
}

impl Weighing {
    /// Notes the keys of an answer.
    fn note(
        &self,
        answer: FinisherAnswer,
        weights: &session_core::Weights,
    ) -> Result<(), StatementError> {
        let rows = match answer {
            FinisherAnswer::Rows(rows) => rows.rows,
            FinisherAnswer::Failed(error) => return Err(error),
            _ => return Err(no_keys(self.collation)),
        };
        let columns = self.texts.len() + 2;
        let row = match &rows[..] {
            [row] => TextRow::read(row, columns).map_err(|_| no_keys(self.collation))?,
            _ => return Err(no_keys(self.collation)),
        };
        let mut values = row.iter();
        let digest = values.next().flatten();
        if let Some(wanted) = &self.wanted {
            let digest = digest.and_then(|own| std::str::from_utf8(own).ok());
            let digest = digest.ok_or_else(|| no_keys(self.collation))?;
            weights.note(&self.finisher, self.collation, digest.to_owned());
            if digest != wanted {
                return Err(other_weights(self.collation));
            }
        }
        let blank = values.next().flatten();
        let blank = blank.ok_or_else(|| no_keys(self.collation))?;
        for (text, weights) in self.texts.iter().zip(values) {
            let key = weights.and_then(|own| self.collation.key_of(own, blank));
            let key = key.ok_or_else(|| no_keys(self.collation))?;
            let sealer = &self.loaded.sealer;
            sealer.note_key(text.column, &text.text, key);
        }
        Ok(())
    }
}

/// The first texts, as many as a question may have.
fn of_question(
    texts: Vec<KeylessText>,
    is_alike: impl Fn(&KeylessText) -> bool,
) -> Vec<KeylessText> {
    let mut room = BYTES_OF_QUESTION;
    let texts = texts.into_iter().filter(is_alike).take(TEXTS_OF_QUESTION);
    let fits = |text: &KeylessText| {
        let fits = room > 0;
        room = room.saturating_sub(text.text.len());
        fits
    };
    texts.take_while(fits).collect()
}

/// The question for the keys of texts.
fn asked(collation: Collation, texts: &[KeylessText], with_digest: bool) -> Zeroizing<Vec<u8>> {
    let sizes = texts.iter().map(|text| 2 * text.text.len() + 80);
    let mut out = Zeroizing::new(Vec::with_capacity(4096 + sizes.sum::<usize>()));
    let digest = match with_digest {
        true => digest_of(collation),
        false => "NULL".to_owned(),
    };
    out.extend_from_slice(b"SELECT ");
    out.extend_from_slice(digest.as_bytes());
    let mut weigh = |text: &str| {
        out.extend_from_slice(b", WEIGHT_STRING(_utf8mb4 x'");
        for byte in text.bytes() {
            const DIGITS: &[u8; 16] = b"0123456789abcdef";
            out.push(DIGITS[usize::from(byte >> 4)]);
            out.push(DIGITS[usize::from(byte & 15)]);
        }
        out.extend_from_slice(b"' COLLATE ");
        out.extend_from_slice(collation.name().as_bytes());
        out.extend_from_slice(b") AS w");
    };
    weigh(" ");
    texts.iter().for_each(|text| weigh(&text.text));
    out
}

fn no_keys(collation: Collation) -> StatementError {
    StatementError::rules(format!(
        "the proxy's finisher does not tell which texts are equal by {collation}"
    ))
    .hint("The log of the proxy has what the finisher lacks.")
}

fn other_weights(collation: Collation) -> StatementError {
    StatementError::rules(format!(
        "{collation} is not the same in the server and in the proxy's finisher: texts that are \
         equal there need not be equal here"
    ))
    .hint("Install the server's own version beside the proxy.")
}

/// Whether the rows of a bulk execution, or the values of one, have texts without tokens.
pub(super) fn keyless_rows<'a>(
    plan: &TextPlan,
    rows: impl Iterator<Item = Result<Values<'a>, wire_mysql::Malformed>>,
    settings: &Settings,
) -> Result<Vec<KeylessText>, wire_mysql::Malformed> {
    let (mut seen, mut found) = (Seen::default(), Vec::new());
    if !plan.loaded.schema.has_tokens() {
        return Ok(found);
    }
    for values in rows {
        note_keyless((plan, Some(&values?), settings), &mut seen, &mut found);
    }
    Ok(found)
}
