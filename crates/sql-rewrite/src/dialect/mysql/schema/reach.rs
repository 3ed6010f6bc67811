//! What reaches protected tables without naming them: views, routines and triggers, which run with
//! the rights of whoever made them. What the account may not see may do all of it.

use std::collections::HashSet;

use super::{Builder, Name};
use crate::RelationKind;
use crate::dialect::lexeme::{is_word, lower, names_word};
use crate::dialect::mysql::lexer;
use crate::dialect::mysql::readings::readings;
use crate::schema::Answer;
use crate::schema::cells::text;

/// A body as servers may read the words in it, in small letters.
struct Body {
    text: String,
    words: HashSet<String>,
    /// Whether it may reach any table: it cannot be read, runs texts, or calls what is not known.
    is_open: bool,
}

impl Body {
    fn new(text: &str, known: &HashSet<String>) -> Self {
        let text = lower(&readings(text).join("\n"));
        let words = text.split(|letter: char| !stands_in_word(letter));
        Self {
            words: words.map(str::to_owned).collect(),
            is_open: text.is_empty() || runs_texts(&text) || calls_unseen(&text, known),
            text,
        }
    }

    /// As [`names_word`]: there are many names, and few bodies.
    fn names(&self, word: &str) -> bool {
        match word.chars().all(stands_in_word) {
            true => !word.is_empty() && self.words.contains(word),
            false => names_word(&self.text, word),
        }
    }

    fn names_any(&self, words: &[String]) -> bool {
        words.iter().any(|word| self.names(word))
    }
}

fn stands_in_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// All that runs with the rights of others, by name.
struct Bodies {
    routines: Vec<(String, Body)>,
    views: Vec<(Name, Body)>,
    triggers: Vec<(Name, Body)>,
}

impl Builder {
    /// Notes views, routines and triggers that reach a protected table. Each may use the others.
    pub(super) fn reached_by(&mut self, views: &Answer, routines: &Answer, triggers: &Answer) {
        let known: HashSet<String> = routines.iter().map(|row| lower(&text(row, 0))).collect();
        let body = |row: &[Option<String>], index| Body::new(&text(row, index), &known);
        let bodies = Bodies {
            routines: routines
                .iter()
                .map(|row| (text(row, 0), body(row, 1)))
                .collect(),
            views: views
                .iter()
                .map(|row| (self.name(row), body(row, 2)))
                .collect(),
            triggers: triggers
                .iter()
                .map(|row| (self.name(row), body(row, 2)))
                .collect(),
        };
        loop {
            let reaching = self.reaching();
            self.routines(&bodies);
            self.triggers(&bodies.triggers);
            self.views(&bodies.views);
            if self.reaching() == reaching {
                return;
            }
        }
    }

    /// Names of all that shows or reaches a protected table, in small letters.
    fn marked(&self) -> Vec<String> {
        let tables = self.schema.tables.values();
        let tables = tables.filter(|table| table.is_protected());
        let tables = tables.map(|table| &table.name);
        let closed = self.schema.closed.keys().map(|(_, table)| table);
        let all = tables.chain(closed).chain(&self.schema.suspect_functions);
        all.map(|name| lower(name)).collect()
    }

    /// Routines that name a protected table, a view of one, or run texts; and what calls those, or
    /// what the account does not see. A body that it may not see may do all of it.
    fn routines(&mut self, bodies: &Bodies) {
        let Bodies {
            routines, views, ..
        } = bodies;
        let mut marked = self.marked();
        let mut found: Vec<String> = Vec::new();
        loop {
            let before = found.len();
            let all = routines.iter().map(|(name, body)| (name, body));
            for (name, body) in all.chain(views.iter().map(|((_, name), body)| (name, body))) {
                let is_suspect = body.is_open || body.names_any(&marked);
                if is_suspect && !found.contains(name) {
                    found.push(name.clone());
                    marked.push(lower(name));
                }
            }
            if found.len() == before {
                break;
            }
        }
        let is_view = |name: &String| views.iter().any(|((_, own), _)| own == name);
        let is_routine = |name: &String| routines.iter().any(|(own, _)| own == name);
        found.retain(|name| !is_view(name) || is_routine(name));
        self.schema.suspect_functions = found;
    }

    /// Views that show a protected table, or that the user may not read.
    fn views(&mut self, views: &[(Name, Body)]) {
        loop {
            let marked = self.marked();
            let mut is_done = true;
            for (name, body) in views {
                let shows = body.text.is_empty() || body.names_any(&marked);
                if let Some(view) = self.schema.tables.get_mut(name) {
                    is_done &= view.opaque || !shows;
                    view.opaque |= shows;
                    // What it shows in other cases is not known, either.
                    view.columns.clear();
                }
            }
            if is_done {
                return;
            }
        }
    }

    /// A table whose triggers reach a protected table is not written, nor is a protected one with
    /// triggers, which would see ciphertext.
    fn triggers(&mut self, triggers: &[(Name, Body)]) {
        let marked = self.marked();
        for (name, body) in triggers {
            if body.is_open || body.names_any(&marked) || self.is_protected(name) {
                self.close(
                    name,
                    "has triggers that see or may write protected columns: drop them at the server",
                );
            }
        }
    }

    /// How many tables and routines are known to reach protected tables.
    fn reaching(&self) -> (usize, usize) {
        (
            self.schema.closed.len(),
            self.schema.suspect_functions.len(),
        )
    }

    /// Closes tables on which there may be triggers that the account does not see.
    pub(super) fn privileges(&mut self, grants: &Answer, partial: &Answer) {
        let revokes = partial
            .iter()
            .any(|row| text(row, 1).eq_ignore_ascii_case("on"));
        let sees = |name: &Name| {
            grants.iter().any(|row| {
                let (database, table) = (text(row, 0), text(row, 1));
                match (database.as_str(), table.as_str()) {
                    ("%", "%") => !revokes,
                    // A `_` of a pattern also stands for itself.
                    (pattern, "%") => pattern.replace("\\_", "_") == name.0,
                    own => own == (name.0.as_str(), name.1.as_str()),
                }
            })
        };
        let tables = self.schema.tables.iter();
        let tables =
            tables.filter(|(_, table)| table.oid != 0 && table.kind == RelationKind::Table);
        let unseen: Vec<Name> = tables
            .map(|(name, _)| name.clone())
            .filter(|name| !sees(name))
            .collect();
        for name in unseen {
            self.close(
                &name,
                "may have triggers that this account does not see, and that see or write \
                 protected columns: grant the account itself (no role) TRIGGER on the table",
            );
        }
    }

    fn is_protected(&self, name: &Name) -> bool {
        let table = self.schema.tables.get(name);
        table.is_some_and(|table| table.columns.iter().any(|own| own.protected.is_some()))
    }

    /// Refuses statements that write a table, and all statements on a protected one.
    fn close(&mut self, name: &Name, why: &str) {
        let is_protected = self.is_protected(name);
        if let Some(table) = self.schema.tables.get_mut(name) {
            table.opaque |= is_protected;
            let why = format!("table {}.{} {why}", name.0, name.1);
            self.schema.closed.entry(name.clone()).or_insert(why);
        }
    }
}

/// Whether a body runs texts as SQL.
fn runs_texts(body: &str) -> bool {
    let mut words = lexer::RUNNING_FUNCTIONS.into_iter();
    names_word(body, "prepare")
        || names_word(body, "immediate")
        || words.any(|word| names_word(body, word))
}

/// Words before a parenthesis in bodies that are no functions of users, and functions of the
/// server's own, which no function of a user hides.
const BEFORE_PARENTHESES: &str = "\
    abs all and any as avg begin between bigint binary by call case cast ceil ceiling char \
    char_length check coalesce concat concat_ws convert count curdate current_date \
    current_timestamp current_user curtime date date_add date_format date_sub datediff datetime \
    day decimal declare default distinct div do double else elseif end exists float floor for \
    from from_unixtime function greatest group_concat having hour if ifnull in int integer \
    interval is isnull join json_array json_extract json_object json_unquote key last_insert_id \
    least left length like limit locate loop lower ltrim max md5 min minute mod month not now \
    nullif numeric on or procedure rand repeat replace return returns right round row_count \
    rtrim second select set sha1 sha2 smallint substr substring sum then time timestamp \
    timestampdiff tinyint trim truncate union unix_timestamp until update upper user using \
    utc_date utc_timestamp uuid values varbinary varchar when where while with year";

/// Functions that both products have had in all versions that are supported. They read no tables,
/// and run no texts.
const OF_BOTH: &str = "\
    acos adddate addtime aes_decrypt aes_encrypt ascii asin atan atan2 bin bit_and bit_count \
    bit_length bit_or bit_xor character_length charset coercibility collation compress \
    connection_id conv convert_tz cos cot crc32 dayname dayofmonth dayofweek dayofyear degrees elt \
    exp export_set extract extractvalue field find_in_set format found_rows from_base64 from_days \
    hex inet6_aton inet6_ntoa inet_aton inet_ntoa insert instr json_array_append \
    json_array_insert json_contains json_contains_path json_depth json_insert json_keys \
    json_length json_merge json_quote json_remove json_replace json_search json_set json_type \
    json_valid last_day lcase ln localtime localtimestamp log log10 log2 lpad make_set makedate \
    maketime microsecond mid monthname oct octet_length ord period_add period_diff pi position \
    pow power quarter quote radians reverse rpad sec_to_time sha sign sin soundex space sqrt std \
    stddev stddev_pop stddev_samp str_to_date strcmp subdate substring_index subtime sysdate tan \
    time_format time_to_sec timediff timestampadd to_base64 to_days to_seconds ucase uncompress \
    unhex updatexml utc_time uuid_short var_pop var_samp variance week weekday weekofyear \
    weight_string yearweek";

/// Functions that are the server's own only where the parenthesis follows at once (the manual's
/// list for `IGNORE_SPACE`). Behind a blank, the name may be that of a function of a user.
const AT_ONCE: &str = "\
    adddate bit_and bit_or bit_xor cast count curdate curtime date_add date_sub extract \
    group_concat max mid min now position session_user std stddev stddev_pop stddev_samp subdate \
    substr substring sum sysdate system_user trim var_pop var_samp variance";

/// Words behind which a name is that of a table, and a parenthesis begins its columns.
const BEFORE_TABLES: &[&str] = &["into", "ignore", "replace", "table", "references"];

/// Whether a body may call a routine that is not known: the account does not see all of them, and
/// bodies run with the rights of others.
fn calls_unseen(body: &str, known: &HashSet<String>) -> bool {
    let body = body.replace('`', " ");
    // The word before, and the one before the name that this one is a part of.
    let (mut before, mut first) = ("", "");
    let mut rest = body.as_str();
    while let Some(at) = rest.find(|letter: char| letter.is_alphanumeric() || letter == '_') {
        let is_qualified = rest[..at].trim() == ".";
        rest = &rest[at..];
        let end = rest
            .bytes()
            .position(|byte| !is_word(byte))
            .unwrap_or(rest.len());
        // A mark of another script is no byte of a name, and no letter either.
        let end = end.max(rest.chars().next().map_or(1, char::len_utf8));
        let word = &rest[..end];
        rest = &rest[end..];
        if !is_qualified {
            first = before;
        }
        let next = rest.trim_start();
        let is_called = ["(", "/*", "--", "#"]
            .iter()
            .any(|mark| next.starts_with(mark))
            || (first == "call" && !next.starts_with('.'));
        let has = |all: &str| all.split(' ').any(|own| own == word);
        let is_own = !is_qualified
            && [BEFORE_PARENTHESES, OF_BOTH].into_iter().any(has)
            && (rest.starts_with('(') || !has(AT_ONCE))
            && first != "call";
        let is_table = BEFORE_TABLES.contains(&first);
        if is_called && !is_own && !is_table && !known.contains(word) {
            return true;
        }
        before = word;
    }
    false
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::calls_unseen;

    #[test]
    fn calls_of_what_is_not_known_are_found() {
        let known = HashSet::from(["known".to_owned()]);
        for body in [
            "begin call hidden(1); end",
            "call hidden",
            "call shop.hidden(1)",
            "call `shop`.`hidden` (1)",
            "call /* now */ hidden(1)",
            "set new.id = hidden(2)",
            "set new.id = shop . hidden (2)",
            "set new.id = shop.abs(2)",
            "call abs(1)",
            "call lpad(1)",
            "set new.id = now (2)",
            "set new.id = shop.lpad(2)",
            "set new.x = sys_eval(new.x)",
            "set new.id = hidden /* here */ (2)",
            "set new.id = hidden -- here\n (2)",
            "set new.id = hidden # here\n (2)",
            "call known(1); call hidden(2)",
        ] {
            assert!(calls_unseen(body, &known), "{body}");
        }
        for body in [
            "begin call known(1); set new.id = shop.known(2); end",
            "insert into log (id, at) values (new.id, now())",
            "insert into shop.log (id) values (concat('a', upper(new.x)))",
            "set new.id = 1, new.x = 'hidden'",
            "if (new.id = 1) then set new.id = (select max(id) from log where id in (1)); end if",
            "set new.x = lpad(substring_index(new.x, '-', 1), 9, '0'), new.at = last_day(now())",
            "insert into log (x) values (json_insert(new.x, '$.a', hex(new.id)))",
            "call known",
            "",
        ] {
            assert!(!calls_unseen(body, &known), "{body}");
        }
    }
}
