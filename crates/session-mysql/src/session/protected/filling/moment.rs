//! The moment of a statement that the finisher evaluates: what the server computes while rows are
//! written has the one that was fetched with them.
//!
//! MariaDB is told with each text. MySQL has no such form: its hint for a setting (`SET_VAR`) leaves
//! the time of the session where it is. There it is a setting of the session while rows are
//! written, where one of the client's own is not in its place.

use sql_plan::FinisherTables;
use wire_mysql::capabilities::Status;
use wire_mysql::row::TextRow;
use wire_mysql::{Capabilities, Malformed};

use super::super::fetching::Fetching;
use super::writing::query;
use super::{Filling, Stage, Taken};
use crate::finisher::is_mariadb;
use crate::refusal::Refusal;

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
fn is_setting(query: &FinisherTables, series: u16, texts: usize) -> bool {
    !is_mariadb(series) && texts > 0 && (query.uses_moment || texts > 1)
}

impl Filling {
    /// Begins to write what is due.
    pub(super) fn write(&mut self) -> Result<Taken, Refusal> {
        let plan = super::tables_of(&self.plan).ok_or(Malformed)?;
        let writing = self.writing.as_ref().ok_or(Malformed)?;
        if !is_setting(plan, self.kind.series, writing.due.len()) {
            return Ok(self.next());
        }
        // No two statements begin in the same microsecond, unless the client has set the time.
        let moment = &writing.moment;
        let asked = format!("SELECT UNIX_TIMESTAMP(NOW(6)) = {moment} LIMIT 1");
        self.stage = Stage::Asking(Box::new(Fetching::new(1, 1 << 10)));
        Ok(Taken::Sends(query(&asked)))
    }

    /// The server has told whether its time is the client's.
    pub(super) fn told_moment(&mut self) -> Result<Taken, Refusal> {
        let stage = std::mem::replace(&mut self.stage, Stage::Waiting);
        let Stage::Asking(fetching) = stage else {
            return Err(Malformed.into());
        };
        let row = TextRow::read(fetching.rows.first().ok_or(Malformed)?, 1)?;
        if row.iter().next() == Some(Some(&b"1"[..])) {
            return Ok(self.next());
        }
        let writing = self.writing.as_ref().ok_or(Malformed)?;
        let moment = exact(&writing.moment, self.kind.series);
        self.stage = Stage::Setting;
        Ok(Taken::Sends(query(&format!("SET timestamp = {moment}"))))
    }

    /// The session's time goes on.
    pub(super) fn went_on(&mut self, of: (Capabilities, Status)) -> Result<Taken, Refusal> {
        let writing = self.writing.as_mut().ok_or(Malformed)?;
        writing.is_timed = false;
        Ok(self.inserted(of))
    }
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
