//! Hints to the optimizer (`/*+ … */`): MySQL reads one right behind the first word of a statement
//! or query. MariaDB before 11.8 takes it for a comment.

use super::super::MySql;
use super::{Kind, Lexeme};

/// Hints of MySQL that change the plan alone, and a limit of time that the server itself keeps.
/// What may change a setting (`SET_VAR`, `RESOURCE_GROUP`) is not among them.
/// <https://dev.mysql.com/doc/refman/8.4/en/optimizer-hints.html>
const OF_MYSQL: &[&str] = &[
    "bka",
    "bnl",
    "derived_condition_pushdown",
    "group_index",
    "hash_join",
    "index",
    "index_merge",
    "join_fixed_order",
    "join_index",
    "join_order",
    "join_prefix",
    "join_suffix",
    "max_execution_time",
    "merge",
    "mrr",
    "no_bka",
    "no_bnl",
    "no_derived_condition_pushdown",
    "no_group_index",
    "no_hash_join",
    "no_icp",
    "no_index",
    "no_index_merge",
    "no_join_index",
    "no_merge",
    "no_mrr",
    "no_order_index",
    "no_range_optimization",
    "no_semijoin",
    "no_skip_scan",
    "order_index",
    "qb_name",
    "semijoin",
    "skip_scan",
    "subquery",
];
/// Hints of TiDB, of which its programs send some to MySQL, too. Others begin with `tidb_`.
/// <https://docs.pingcap.com/tidb/stable/optimizer-hints/>
const OF_TIDB: &[&str] = &[
    "agg_to_cop",
    "force_index",
    "hash_agg",
    "ignore_index",
    "inl_hash_join",
    "inl_join",
    "inl_merge_join",
    "leading",
    "limit_to_cop",
    "merge_join",
    "no_hash_join",
    "straight_join",
    "stream_agg",
    "use_index",
    "use_index_merge",
];
/// Words behind which the server looks for a hint.
const VERBS: &[&str] = &["select", "insert", "replace", "update", "delete"];

impl MySql {
    /// Whether this server reads hints in comments, or may.
    pub(super) fn reads_hints(self) -> bool {
        /// MariaDB 11.8, before the first that has them.
        const FIRST_OF_MARIADB: u32 = 110_800;
        !self.is_mariadb || self.version >= FIRST_OF_MARIADB
    }
}

/// The hint that a server reads between two lexemes of a text, as it came.
pub(super) fn between<'t>(
    text: &'t str,
    before: &Lexeme,
    behind: &Lexeme,
    dialect: MySql,
) -> Option<&'t str> {
    let is_verb = before.kind == Kind::Word && VERBS.contains(&before.value.as_str());
    if !is_verb || !dialect.reads_hints() {
        return None;
    }
    let gap = text
        .get(before.span.end..behind.span.start)?
        .trim_ascii_start();
    let inside = gap.strip_prefix("/*+")?;
    gap.get(.."/*+".len() + inside.find("*/")? + "*/".len())
}

/// Whether each hint of a comment, without its marks, is known to leave results and settings as
/// they are.
pub(super) fn are_known(inside: &str) -> bool {
    let (mut rest, mut depth) = (inside, 0_usize);
    while let Some(first) = rest.chars().next() {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let size = match first {
            _ if is_part(first) => {
                let size = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
                if depth == 0 && !is_known(&rest[..size]) {
                    return false;
                }
                size
            }
            '`' => match rest[1..].find('`') {
                Some(size) if depth > 0 => size + 2,
                _ => return false,
            },
            '(' => {
                depth += 1;
                1
            }
            ')' if depth > 0 => {
                depth -= 1;
                1
            }
            ' ' | '\t' | '\n' | '\r' | ',' => 1,
            '@' | '.' | '[' | ']' if depth > 0 => 1,
            _ => return false,
        };
        rest = &rest[size..];
    }
    depth == 0
}

fn is_known(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_in = |names: &[&str]| names.contains(&name.as_str());
    is_in(OF_MYSQL) || is_in(OF_TIDB) || name.starts_with("tidb_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_change_more_than_the_plan_is_not_known() {
        for known in [
            " TIDB_INLJ(order_line,stock) ",
            "JOIN_ORDER(a, b@qb) no_icp(`c d` PRIMARY), MAX_EXECUTION_TIME(1000)",
            "QB_NAME(qb) JOIN_FIXED_ORDER()",
            "",
        ] {
            assert!(are_known(known), "{known}");
        }
        for other in [
            " SET_VAR(sql_mode = '') ",
            "BKA(a) SET_VAR(x = 1)",
            "RESOURCE_GROUP(x)",
            "BKA(a",
            "BKA(a))",
            "BKA('a')",
            "BKA(\"a\")",
            "`SET_VAR`(a)",
            "BKA(`a) ",
            "BKA(é)",
            "BKA(a) /* b",
        ] {
            assert!(!are_known(other), "{other}");
        }
    }
}
