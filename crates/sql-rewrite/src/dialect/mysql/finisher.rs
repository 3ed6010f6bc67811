//! What a text for the finisher names and calls. The finisher evaluates the text as it came, so no
//! tree is needed: a name counts wherever it stands, and what more is fetched for it does no harm.

pub mod copies;
mod functions;
mod places;

use std::collections::BTreeSet;

use super::lexer::{self, Kind, Lexeme, Reading};
use super::{MySql, bytes};
use crate::{Literal, Refusal, Source};
use functions::{BEFORE_PARENTHESES, FUNCTIONS, OF_MOMENT, OF_SERVER, OF_ZONE};
pub(super) use places::is_alias;
use places::{ctes, is, is_list_of_columns, tables, target};
use sql_plan::unsupported;

/// Words of statements that do more than compute, or that depend on more than rows.
const OTHER_FORMS: &[&str] = &[
    "against",
    "default",
    "force",
    "into",
    "lock",
    "match",
    "procedure",
    "returning",
    "sql_calc_found_rows",
    "system_time",
    "use",
];

/// Databases of the server itself. Those of the finisher tell of other questions.
const OF_SYSTEM: [&str; 4] = ["information_schema", "mysql", "performance_schema", "sys"];

/// Words behind `SELECT` before a list of columns.
const BEFORE_COLUMNS: [&str; 12] = [
    "select",
    "distinct",
    "all",
    "distinctrow",
    "high_priority",
    "returning",
    "straight_join",
    "sql_big_result",
    "sql_buffer_result",
    "sql_cache",
    "sql_no_cache",
    "sql_small_result",
];

/// Words that change what a write does with rows that do not fit.
const OTHER_WRITES: &[&str] = &["ignore", "low_priority", "portion", "quick"];

/// The name of a table, and that of its database before it.
type Named = (Option<String>, String);

/// What a text does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Verb {
    /// It is a query.
    #[default]
    Select,
    /// It updates or deletes rows.
    Write,
    /// It inserts or replaces rows.
    Insert,
}

/// Where what follows `ON DUPLICATE KEY UPDATE` begins.
const UPDATE_BEHIND: usize = 4;

/// What a text names.
#[derive(Debug, Default)]
pub(crate) struct Scanned {
    /// What it does.
    pub verb: Verb,
    /// Names that may be those of tables: behind `FROM`, `JOIN`, or a comma there. The database
    /// comes first.
    pub tables: Vec<Named>,
    /// The table that gets rows.
    pub target: Option<Named>,
    /// How often `DEFAULT` stands in the place of a value.
    pub defaults: usize,
    /// Names of `WITH` queries.
    pub ctes: BTreeSet<String>,
    /// All names and words, in small letters.
    pub names: BTreeSet<String>,
    /// Whether it may mean all columns of its tables.
    pub is_whole: bool,
    /// Constants and parameters.
    pub constants: Vec<Source>,
    /// How many parameters there are.
    pub parameters: usize,
    /// Whether it computes with the rules of the session's time zone.
    pub uses_zone: bool,
    /// Whether it asks for the present moment.
    pub uses_moment: bool,
    /// Whether a tree shows where a condition ends: no operator is there that a parser may bind
    /// less or more than `AND`.
    pub has_plain_conditions: bool,
}

/// Whether a text is of a kind that the finisher evaluates.
pub(crate) fn is_known(text: &str, own: MySql) -> bool {
    lexer::read(text, own, Reading::Names).is_ok_and(|found| verb(&found).is_some())
}

fn verb(found: &[Lexeme]) -> Option<Verb> {
    let mut begin = found.iter().filter(|own| !is(own, "("));
    match begin.next()? {
        first if is(first, "select") || is(first, "with") => Some(Verb::Select),
        first if is(first, "update") || is(first, "delete") => Some(Verb::Write),
        first if is(first, "insert") || is(first, "replace") => Some(Verb::Insert),
        _ => None,
    }
}

/// What a text for the finisher names.
///
/// # Errors
/// It is of another kind, or calls what the finisher would evaluate otherwise than the server.
pub(crate) fn scan(text: &str, own: MySql) -> Result<Scanned, Refusal> {
    let read = lexer::read(text, own, Reading::Names);
    let mut found = read.map_err(|unread| unread.refusal())?;
    let is_end = |lexeme: &Lexeme| lexeme.kind == Kind::Symbol && lexeme.value == ";";
    while found.last().is_some_and(is_end) {
        found.pop();
    }
    let verb = verb(&found).ok_or_else(|| unsupported("a statement of this kind"))?;
    if found.iter().any(is_end) {
        return Err(unsupported("another statement in the same text"));
    }
    let mut scanned = Scanned {
        verb,
        has_plain_conditions: true,
        ..Scanned::default()
    };
    let mut begin = 0;
    if verb == Verb::Insert {
        let (target, end) = target(&found, text, own)?;
        (scanned.target, begin) = (Some(target), end);
    }
    for index in begin..found.len() {
        scanned.take(&found, index, (text, own))?;
    }
    // Behind it commas separate assignments.
    let is_duplicate = |three: &[Lexeme]| {
        is(&three[0], "on") && is(&three[1], "duplicate") && is(&three[2], "key")
    };
    let rows = found[begin..].windows(3).position(is_duplicate);
    let rows = rows.map_or(found.len(), |at| begin + at);
    scanned.tables = tables(&found[begin..rows], text, own);
    let behind = found.get(rows + UPDATE_BEHIND..).unwrap_or_default();
    scanned.tables.extend(tables(behind, text, own));
    scanned.ctes = ctes(&found, text, own);
    Ok(scanned)
}

impl Scanned {
    fn take(
        &mut self,
        found: &[Lexeme],
        index: usize,
        (text, own): (&str, MySql),
    ) -> Result<(), Refusal> {
        let lexeme = &found[index];
        let before = index.checked_sub(1).map(|before| &found[before]);
        let is_part = before.is_some_and(|before| is(before, "."));
        let is_call = found.get(index + 1).is_some_and(|next| is(next, "("));
        match lexeme.kind {
            Kind::Word | Kind::Name => {
                self.names.insert(lexeme.value.to_ascii_lowercase());
                let is_qualifier = found.get(index + 1).is_some_and(|next| is(next, "."));
                if is_qualifier && is_of_system(&lexeme.value) {
                    return Err(of_system(&lexeme.value));
                }
                let is_word = lexeme.kind == Kind::Word && !is_part;
                if is_word {
                    self.word(found, index)?;
                }
                if is_call && !is_list_of_columns(found, index) {
                    let name = is_word.then_some(lexeme.value.as_str());
                    self.call(name, (found, index), own)?;
                }
            }
            Kind::Symbol => match lexeme.value.as_str() {
                "*" => {
                    let is_factor = before.is_some_and(|before| match before.kind {
                        Kind::Symbol => before.value == ")" || before.value == "(",
                        Kind::Word => !BEFORE_COLUMNS.contains(&before.value.as_str()),
                        _ => true,
                    });
                    self.is_whole |= !is_factor;
                }
                "|" | "&" | "^" | "~" => self.has_plain_conditions = false,
                _ => {}
            },
            Kind::Text => self
                .constants
                .push(Source::Literal(Literal::Text(lexeme.value.clone()))),
            Kind::Number => {
                let digits = text[lexeme.span.clone()].to_owned();
                self.constants
                    .push(Source::Literal(Literal::Number(digits)));
            }
            Kind::Parameter => {
                self.constants.push(Source::Parameter(self.parameters));
                self.parameters += 1;
            }
            Kind::Bytes => self
                .constants
                .extend(text_of_bytes(lexeme).map(|own| Source::Literal(Literal::Text(own)))),
            Kind::Hole(_) => return Err(unsupported("the character U+0002")),
        }
        Ok(())
    }

    fn word(&mut self, found: &[Lexeme], index: usize) -> Result<(), Refusal> {
        let word = found[index].value.as_str();
        let follows = |wanted: &str| found.get(index + 1).is_some_and(|next| is(next, wanted));
        if word == "default" && self.verb == Verb::Insert && !follows("(") {
            self.defaults += 1;
            return Ok(());
        }
        let returns = word == "returning" && found.first().is_some_and(|own| is(own, "delete"));
        let is_other = (OTHER_FORMS.contains(&word) && !returns)
            || (word == "for" && (follows("update") || follows("share")))
            || (word == "partition" && !follows("by"))
            || (self.verb == Verb::Write && OTHER_WRITES.contains(&word))
            || (word == "ignore" && (follows("index") || follows("key")));
        if is_other {
            return Err(unsupported(&format!(
                "{} in a statement that the finisher evaluates",
                word.to_ascii_uppercase()
            )));
        }
        if OF_SERVER.contains(&word) || word.starts_with('@') {
            return Err(of_server(word));
        }
        self.uses_moment |= OF_MOMENT.split_whitespace().any(|own| own == word);
        self.is_whole |= word == "natural";
        self.has_plain_conditions &= word != "xor";
        Ok(())
    }

    /// A name before a parenthesis. None: it is in quotes, or has a database before it.
    fn call(
        &mut self,
        name: Option<&str>,
        (found, index): (&[Lexeme], usize),
        own: MySql,
    ) -> Result<(), Refusal> {
        let is_in = |list: &str, name: &str| list.split_whitespace().any(|own| own == name);
        let (more, lacking) = functions::of(own.is_mariadb);
        let name = name.filter(|name| {
            (is_in(FUNCTIONS, name) && !is_in(lacking, name))
                || is_in(more, name)
                || is_in(BEFORE_PARENTHESES, name)
        });
        let Some(name) = name else {
            return Err(unsupported(&format!(
                "function {} over protected columns that the server cannot compare",
                found[index].value
            ))
            .with_hint(
                "Only functions of the server itself that depend on their arguments alone are \
                 evaluated outside of the server.",
            ));
        };
        if name == "convert_tz" && !has_offsets(&found[index + 1..]) {
            return Err(unsupported(
                "CONVERT_TZ of zones with names, which the finisher does not know,",
            )
            .with_hint("Write both zones as constants that are offsets: '+01:00'."));
        }
        self.uses_zone |= is_in(OF_ZONE, name);
        Ok(())
    }
}

/// Whether a name may be that of a database of the server itself. These servers fold some letters
/// beyond ASCII to those of ASCII, so each may stand for any.
pub(crate) fn is_of_system(name: &str) -> bool {
    OF_SYSTEM.iter().any(|own| {
        let mut both = own.chars().zip(name.chars());
        own.chars().count() == name.chars().count()
            && both.all(|(own, other)| !other.is_ascii() || own == other.to_ascii_lowercase())
    })
}

/// Why a database of the server itself is not read by the finisher.
pub(crate) fn of_system(name: &str) -> Refusal {
    unsupported(&format!(
        "database {name} in a statement that the finisher evaluates"
    ))
    .with_hint("Read it by a query of its own; a table has no alias of this name.")
}

/// Whether the second and third arguments in these parentheses are constants that are offsets.
fn has_offsets(found: &[Lexeme]) -> bool {
    let mut depth = 0_usize;
    let mut arguments = vec![Vec::new()];
    for lexeme in found {
        match lexeme.value.as_str() {
            "(" if is(lexeme, "(") => depth += 1,
            ")" if is(lexeme, ")") => depth -= 1,
            "," if depth == 1 && is(lexeme, ",") => {
                arguments.push(Vec::new());
                continue;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
        if let Some(last) = arguments.last_mut() {
            last.push(lexeme);
        }
    }
    let is_offset = |own: &Vec<&Lexeme>| match own[..] {
        [one] => one.kind == Kind::Text && one.value.starts_with(['+', '-']),
        _ => false,
    };
    arguments.len() == 3 && arguments[1..].iter().all(is_offset)
}

/// The text that bytes in hexadecimal are. None: they are none.
pub(crate) fn text_of_bytes(lexeme: &Lexeme) -> Option<String> {
    let (prefix, digits) = lexeme.value.split_once(" X'")?;
    let bytes = bytes::of_digits(prefix, digits.trim_end_matches('\''));
    String::from_utf8(bytes?).ok()
}

fn of_server(name: &str) -> Refusal {
    unsupported(&format!(
        "{name}, which only the server knows, in a query that the finisher evaluates"
    ))
    .with_hint("Read it by a query of its own, and pass it as a parameter.")
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: MySql = MySql {
        is_mariadb: true,
        version: 101_119,
        ansi_quotes: false,
        plain_backslashes: false,
        folds_tables: false,
        is_lax: false,
        rounds_seconds: false,
        refuses_zero_dates: false,
        offset_s: None,
    };

    fn tables_of(text: &str) -> Vec<String> {
        let scanned = scan(text, OWN).expect("a query");
        let all = scanned.target.into_iter().chain(scanned.tables);
        let name = |(database, table): (Option<String>, String)| match database {
            Some(database) => format!("{database}.{table}"),
            None => table,
        };
        all.map(name).collect()
    }

    #[test]
    fn tables_are_found_at_their_places() {
        for (text, wanted) in [
            ("SELECT a FROM t", "t"),
            (
                "select a, b from `shop` . `T` as x, u y where c in (1, 2)",
                "shop.T u",
            ),
            ("SELECT 1 FROM (t JOIN u ON f = 1, v)", "t u v"),
            (
                "SELECT 1 FROM a LEFT JOIN b USING (x, y), c ORDER BY p, q",
                "a b c",
            ),
            ("SELECT (SELECT max(x) FROM b, c), d FROM e", "b c e"),
            (
                "SELECT 1 FROM (SELECT x, y FROM t GROUP BY x, y) s, u",
                "t u",
            ),
            (
                "WITH w AS (SELECT 1 FROM t) SELECT * FROM w UNION SELECT a, b FROM v",
                "t w v",
            ),
            ("(SELECT a FROM t) UNION (SELECT b FROM u)", "t u"),
            ("SELECT EXTRACT(YEAR FROM d), b FROM t", "t"),
            (
                "SELECT TRIM('x' FROM a), TRIM((SELECT b FROM u)), SUBSTRING(c FROM 2) FROM t, v",
                "u t v",
            ),
            ("SELECT 1 FROM DUAL WHERE EXISTS (SELECT 1 FROM t)", "t"),
            (
                "SELECT 1 FROM (WITH w AS (SELECT 1 FROM t), x AS (SELECT 2) SELECT 1 FROM w, x) y",
                "t w x",
            ),
            (
                "UPDATE t SET a = 1, b = c WHERE d IN (SELECT e FROM u)",
                "t u",
            ),
            (
                "DELETE FROM shop.t WHERE a LIKE 'x' ORDER BY b, c LIMIT 1",
                "shop.t",
            ),
            (
                "INSERT IGNORE INTO `shop`.t (a, b) SELECT c, d FROM u JOIN v ON DUPLICATE KEY \
                 UPDATE a = (SELECT MAX(x) FROM w), b = 2, c = VALUES(b)",
                "shop.t u v w",
            ),
            ("REPLACE t VALUES (1, UPPER(?)), (2, DEFAULT)", "t"),
            ("INSERT INTO t SET a = LOWER('x'), b = 1", "t"),
            (
                "SELECT if(a, b, c) FROM t STRAIGHT_JOIN u WHERE EXISTS (SELECT 1 FROM v)",
                "t u v",
            ),
        ] {
            assert_eq!(tables_of(text).join(" "), wanted, "{text}");
        }
    }

    #[test]
    fn all_columns_are_meant_by_a_star_that_is_no_factor() {
        for (text, wanted) in [
            ("SELECT * FROM t", true),
            ("SELECT t.* FROM t", true),
            ("SELECT a, * FROM t", true),
            ("SELECT DISTINCT * FROM t", true),
            ("SELECT SQL_NO_CACHE * FROM t", true),
            ("DELETE FROM t RETURNING *", true),
            ("SELECT HIGH_PRIORITY STRAIGHT_JOIN * FROM t", true),
            ("SELECT SQL_SMALL_RESULT SQL_BIG_RESULT * FROM t", true),
            ("SELECT SQL_BUFFER_RESULT SQL_CACHE * FROM t", true),
            ("SELECT a FROM t NATURAL JOIN u", true),
            ("SELECT COUNT(*) FROM t", false),
            ("SELECT a * 2, (a) * b, 'x' * 2, a*b FROM t", false),
        ] {
            assert_eq!(scan(text, OWN).expect("a query").is_whole, wanted, "{text}");
        }
    }

    #[test]
    fn what_does_more_than_compute_is_refused() {
        for text in [
            "INSERT LOW_PRIORITY INTO t VALUES (1)",
            "INSERT INTO t (a) VALUES (DEFAULT(b))",
            "INSERT INTO t (a) VALUES (1) RETURNING a",
            "INSERT INTO t (a) SELECT a FROM u FOR UPDATE",
            "INSERT INTO t PARTITION (p0) VALUES (1)",
            "UPDATE IGNORE t SET a = 1",
            "DELETE QUICK FROM t",
            "UPDATE t SET a = DEFAULT",
            "UPDATE t SET a = 1 RETURNING a",
            "SELECT 1; DROP TABLE t",
            "SELECT a INTO @x FROM t",
            "SELECT a FROM t FOR UPDATE",
            "SELECT a FROM t LOCK IN SHARE MODE",
            "SELECT load_file('/etc/passwd') FROM t",
            "SELECT sleep(1) FROM t",
            "SELECT shop.lower(a) FROM t",
            "SELECT `lower`(a) FROM t",
            "SELECT own_function(a) FROM t",
            "SELECT @x FROM t",
            "SELECT @@version FROM t",
            "SELECT current_user FROM t",
            "SELECT CURRENT_USER() FROM t",
            "SELECT last_insert_id() FROM t",
            "SELECT nextval(s) FROM t",
            "SELECT a FROM t PARTITION (p0)",
            "SELECT a FROM t FOR SYSTEM_TIME ALL",
            "SELECT a FROM t USE INDEX (x)",
            "SELECT MATCH (a) AGAINST ('x') FROM t",
            "SELECT a FROM t PROCEDURE analyse()",
            "SELECT /*!50000 a */ FROM t",
            "SELECT a FROM information_schema.PROCESSLIST, t",
            "SELECT a FROM { OJ `Information_Schema` . processlist LEFT JOIN t ON 1 }",
            "SELECT a FROM `İnformation_schema`.processlist, t",
            "SELECT a FROM t JOIN mysql.user",
            "SELECT a FROM t, /* of all */ sys.session",
            "SELECT (SELECT MAX(SQL_TEXT) FROM performance_schema.events) FROM t",
            "SELECT CONVERT_TZ(a, 'Europe/Berlin', '+00:00') FROM t",
            "SELECT CONVERT_TZ(a, '+00:00', ?) FROM t",
            "SELECT CONVERT_TZ(a, b, '+00:00') FROM t",
        ] {
            assert!(scan(text, OWN).is_err(), "{text}");
        }
        for text in [
            "SELECT LOWER(a), b REGEXP 'x|y', a || b FROM t WHERE NOT (a XOR b)",
            "WITH RECURSIVE w (a, b) AS (SELECT 1, 2) SELECT a FROM w",
            "SELECT ROW_NUMBER() OVER (PARTITION BY a ORDER BY b) FROM t",
            "SELECT CAST(a AS DECIMAL(10, 2)), a DIV 2, a COLLATE utf8mb4_bin FROM t",
            "SELECT a FROM t WHERE d > NOW() - INTERVAL 1 DAY AND e = CURRENT_DATE",
            "SELECT GROUP_CONCAT(DISTINCT a ORDER BY b SEPARATOR '; ') FROM t",
            r"SELECT 'it\'s' FROM t WHERE a LIKE '10\%'",
            "SELECT CONVERT_TZ(IF(a, b, c), '+00:00', '-05:30') FROM t",
            "DELETE FROM t WHERE a LIKE 'x' RETURNING UPPER(a), b",
        ] {
            scan(text, OWN).expect(text);
        }
    }

    #[test]
    fn every_constant_is_noted() {
        let query = "SELECT 'a', 2 FROM t WHERE x = ? AND y = 'b' AND z IN (x'4b61', _binary \
                     X'c3a9', 0x80)";
        let scanned = scan(query, OWN).expect("a query");
        let text = |own: &str| Source::Literal(Literal::Text(own.to_owned()));
        let two = Source::Literal(Literal::Number("2".to_owned()));
        assert_eq!(
            scanned.constants,
            [
                text("a"),
                two,
                Source::Parameter(0),
                text("b"),
                text("Ka"),
                text("é")
            ]
        );
    }
}
