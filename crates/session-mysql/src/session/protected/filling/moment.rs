//! The moment of a statement that the finisher evaluates: what the server stores by itself has the
//! one that was fetched with the rows.

use sql_plan::FinisherTables;

use crate::finisher::is_mariadb;

/// A text that the server executes at a moment, in seconds. MySQL is told of whole seconds alone:
/// where fractions are asked for, it takes its own moment ([`takes_own`]).
pub(super) fn at(moment: &str, query: &FinisherTables, series: u16, text: &str) -> String {
    if is_mariadb(series) {
        return format!("SET STATEMENT timestamp = {moment} FOR {text}");
    }
    if takes_own(query, series) {
        return text.to_owned();
    }
    let seconds = moment.split('.').next().unwrap_or(moment);
    let (verb, rest) = text.split_once(' ').unwrap_or((text, ""));
    format!("{verb} /*+ SET_VAR(timestamp = {seconds}) */ {rest}")
}

/// Whether each text that is written has a moment of its own.
pub(super) fn takes_own(query: &FinisherTables, series: u16) -> bool {
    query.has_fractions && !is_mariadb(series)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_product_is_told_in_its_own_way() {
        let mut query = FinisherTables::default();
        let told = |query: &FinisherTables, series| at("12.5", query, series, "DELETE FROM t");
        assert_eq!(
            told(&query, 1011),
            "SET STATEMENT timestamp = 12.5 FOR DELETE FROM t"
        );
        assert_eq!(
            told(&query, 800),
            "DELETE /*+ SET_VAR(timestamp = 12) */ FROM t"
        );
        query.has_fractions = true;
        assert_eq!(told(&query, 804), "DELETE FROM t");
        assert!(takes_own(&query, 804) && !takes_own(&query, 1011));
    }
}
