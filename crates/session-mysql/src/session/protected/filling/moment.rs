//! The moment of a statement that the finisher evaluates: what the server computes while rows are
//! written has the one that was fetched with them.
//!
//! MariaDB is told with each text. MySQL has no such form: behind its hint for a setting
//! (`SET_VAR`) the session's time stands still for good. So it is a setting of the session there
//! while rows are written, unless the client has set the time itself.

use sql_plan::FinisherTables;

use crate::finisher::is_mariadb;

/// The session's time goes on.
pub(super) const GOES_ON: &str = "SET timestamp = DEFAULT";

/// A text that the server executes at a moment, in seconds.
pub(super) fn at(moment: &str, series: u16, text: &str) -> String {
    match is_mariadb(series) {
        true => format!("SET STATEMENT timestamp = {moment} FOR {text}"),
        false => text.to_owned(),
    }
}

/// A moment as `SET timestamp` takes it. MySQL cuts what it has made of the digits: another one
/// behind the microseconds keeps these.
pub(super) fn exact(moment: &str, series: u16) -> String {
    match moment.contains('.') && !is_mariadb(series) {
        true => format!("{moment}5"),
        false => moment.to_owned(),
    }
}

/// Whether it is a setting while so many texts are executed. A single one has a moment of its own,
/// which matters where the finisher has used another.
pub(super) fn is_setting(query: &FinisherTables, series: u16, texts: usize) -> bool {
    !is_mariadb(series) && texts > 0 && (query.uses_moment || texts > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_product_is_told_in_its_own_way() {
        assert_eq!(
            at("12.5", 1011, "DELETE FROM t"),
            "SET STATEMENT timestamp = 12.5 FOR DELETE FROM t"
        );
        assert_eq!(at("12.5", 800, "DELETE FROM t"), "DELETE FROM t");
        assert_eq!(exact("12.000001", 800), "12.0000015");
        assert_eq!(exact("12.000001", 1011), "12.000001");
        assert_eq!(exact("12", 800), "12");
    }

    #[test]
    fn a_moment_is_a_setting_where_texts_could_differ_in_it() {
        let mut plan = FinisherTables::default();
        let is = |plan: &FinisherTables| [0, 1, 2].map(|texts| is_setting(plan, 804, texts));
        assert_eq!(is(&plan), [false, false, true]);
        plan.uses_moment = true;
        assert_eq!(is(&plan), [false, true, true]);
        assert!(!is_setting(&plan, 1011, 2));
    }
}
