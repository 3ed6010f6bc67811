//! The setting of a session that has the moment of a write while its rows are written.

use wire_mysql::capabilities::Status;
use wire_mysql::row::TextRow;
use wire_mysql::{Capabilities, Malformed};

use super::super::fetching::Fetching;
use super::writing::query;
use super::{Filling, Stage, Taken, moment};
use crate::refusal::Refusal;

impl Filling {
    /// Begins to write what is due.
    pub(super) fn write(&mut self) -> Result<Taken, Refusal> {
        let plan = super::tables_of(&self.plan).ok_or(Malformed)?;
        let writing = self.writing.as_ref().ok_or(Malformed)?;
        if !moment::is_setting(plan, self.kind.series, writing.due.len()) {
            return Ok(self.next());
        }
        // No two statements begin in the same microsecond, unless the client has set the time.
        let own = &writing.moment;
        let asked = format!("SELECT UNIX_TIMESTAMP(NOW(6)) = {own} LIMIT 1");
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
        let own = moment::exact(&writing.moment, self.kind.series);
        self.stage = Stage::Setting;
        Ok(Taken::Sends(query(&format!("SET timestamp = {own}"))))
    }

    /// The session's time goes on.
    pub(super) fn went_on(&mut self, of: (Capabilities, Status)) -> Result<Taken, Refusal> {
        let writing = self.writing.as_mut().ok_or(Malformed)?;
        writing.is_timed = false;
        Ok(self.inserted(of))
    }
}
