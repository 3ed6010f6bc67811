//! Kills in a schedule: of an idle worker, and in the middle of a step.

use std::sync::Arc;

use rusqlite::Connection;

use crate::common::files;
use crate::content::{State, read_digest};
use crate::oracle::SCHEMAS;
use crate::schedule::Schedule;
use crate::session::Session;

impl Schedule {
    pub fn kill_idle(&mut self, index: usize) {
        self.log.push(format!("{index}: killed"));
        self.sessions[index].kill(None, 0);
        self.tally.kills += 1;
    }

    /// Whether a separate connection could read what a kill left.
    pub fn others_are_out_of_the_way(&self, index: usize) -> bool {
        let out = |session: &Session| session.transaction.is_none() && !session.exclusive;
        let mut others = self.sessions.iter().enumerate();
        others.all(|(other, session)| other == index || out(session))
    }

    /// Killed while it commits: the transaction is there or not, equally in both databases unless
    /// one has a log.
    pub fn kill_in_commit(&mut self, index: usize) {
        if !self.others_are_out_of_the_way(index) {
            return self.kill_idle(index);
        }
        let transaction = self.sessions[index].transaction.clone().expect("inside");
        let outcome = transaction.outcome(&self.committed);
        self.kill_and_settle(index, "sql COMMIT", outcome);
    }

    /// Killed in a statement outside a transaction.
    pub fn kill_in_step(&mut self, index: usize) {
        if !self.others_are_out_of_the_way(index) {
            return self.kill_idle(index);
        }
        let mut outcome = self.committed.clone();
        let order = match self.random.below(10) {
            0..5 => {
                let change = self.some_change();
                Arc::make_mut(&mut outcome[0]).apply(&change);
                format!("change main {}", change.to_order())
            }
            5 => "sql VACUUM".to_owned(),
            6 => "sql PRAGMA wal_checkpoint(TRUNCATE)".to_owned(),
            7 => "sql PRAGMA wal_checkpoint(PASSIVE)".to_owned(),
            8 if self.random.once_in(3) => "close".to_owned(),
            8 => "sql PRAGMA strongroom_rotate".to_owned() + self.random.pick(&["", "=3"]),
            _ => "sql PRAGMA journal_mode=".to_owned() + self.random.pick(&["delete", "wal"]),
        };
        self.kill_and_settle(index, &order, outcome);
    }

    /// A process that finds no other on a log recovers it. Recovery may include a transaction whose
    /// frames were complete when its writer was killed, although it was never acknowledged.
    pub fn look_for_ghosts(&mut self) {
        if self.ghosts.iter().flatten().next().is_none() {
            return;
        }
        let main = self.open_with_key(|room| files::open(room, "storm.db", ""));
        let side = self.open_side();
        for (database, connection) in [&main, &side].into_iter().enumerate() {
            let Some(ghost) = self.ghosts[database].clone() else {
                continue;
            };
            if read_digest(connection, "main").is_ok_and(|digest| digest == ghost.digest()) {
                self.log
                    .push(format!("   {} is one further", SCHEMAS[database]));
                self.committed[database] = ghost;
                self.ghosts[database] = None;
            }
        }
    }

    fn kill_and_settle(&mut self, index: usize, order: &str, outcome: [Arc<State>; 2]) {
        let spins = 1 << self.random.below(18);
        self.log.push(format!("{index}: {order}, killed meanwhile"));
        let answer = self.sessions[index].kill(Some(order), spins);
        self.tally.kills += 1;
        let acknowledged = answer.is_some_and(|answer| answer.is_ok());
        let main = self.open_with_key(|room| files::open(room, "storm.db", ""));
        let side = self.open_side();
        let mut found = [false; 2];
        let before = std::mem::replace(&mut self.committed, outcome.clone());
        for (database, connection) in [&main, &side].into_iter().enumerate() {
            let digest = read_digest(connection, "main").expect("nobody is in the way");
            let changed = before[database] != outcome[database];
            found[database] = digest == outcome[database].digest();
            if !found[database] {
                let before = &before[database];
                assert!(!acknowledged, "an acknowledged commit is lost");
                assert_eq!(digest, before.digest(), "{} is neither", SCHEMAS[database]);
                self.committed[database] = before.clone();
                self.ghosts[database] = changed.then(|| outcome[database].clone());
            }
            found[database] |= !changed;
            self.wal[database] = mode_of(connection) == "wal";
        }
        let changed = [0, 1].map(|database| before[database] != outcome[database]);
        if changed == [true, true] && self.wal == [false, false] {
            assert_eq!(found[0], found[1], "a transaction is in one database only");
        }
        let line = format!("   {found:?} of {changed:?}, acknowledged: {acknowledged}");
        self.log.push(line);
    }
}

fn mode_of(connection: &Connection) -> String {
    crate::common::text(connection, "PRAGMA journal_mode")
}
