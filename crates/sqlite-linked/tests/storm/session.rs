//! A worker from the scheduler's side.

use crate::common::children::Player;
use crate::oracle::Transaction;

/// An answer of a worker.
#[derive(Debug)]
pub struct Answer {
    /// SQLite's extended code.
    pub code: i32,
    pub inside: bool,
    pub said: String,
}

impl Answer {
    fn parse(line: &str) -> Option<Self> {
        let mut parts = line.splitn(3, ' ');
        Some(Answer {
            code: parts.next()?.parse().ok()?,
            inside: parts.next()? == "inside",
            said: parts.next()?.to_owned(),
        })
    }

    pub fn is_ok(&self) -> bool {
        self.code == 0
    }

    /// Whether another connection was in the way.
    pub fn is_busy(&self) -> bool {
        use rusqlite::ffi::{SQLITE_BUSY, SQLITE_LOCKED};
        [SQLITE_BUSY, SQLITE_LOCKED].contains(&(self.code & 0xff))
    }
}

pub struct Session {
    pub player: Option<Player>,
    pub open: bool,
    pub attached: bool,
    /// Locking mode EXCLUSIVE was requested.
    pub exclusive: bool,
    pub transaction: Option<Transaction>,
    /// The slot whose key opened the database.
    pub slot: usize,
}

impl Session {
    pub fn new() -> Self {
        Session {
            player: None,
            open: false,
            attached: false,
            exclusive: false,
            transaction: None,
            slot: 0,
        }
    }

    /// Starts the process if there is none.
    pub fn start(&mut self, path: &str) {
        if self.player.is_none() {
            let mut player = Player::start("worker", "storm", path, "");
            while player.line().expect("starts") != "ready" {}
            self.player = Some(player);
        }
    }

    /// Gives an order and waits for the answer; panics with the message of a dying worker.
    pub fn ask(&mut self, order: &str) -> Answer {
        let player = self.player.as_mut().expect("alive");
        player.send(order);
        let mut reported = Vec::new();
        while let Some(line) = player.line() {
            if let Some(answer) = Answer::parse(&line) {
                return answer;
            }
            reported.push(line);
        }
        panic!("the worker died of {order:?}: {reported:#?}");
    }

    /// Kills the process while it executes an order, or idles. Returns the answer, if it still
    /// came.
    pub fn kill(&mut self, order: Option<&str>, spins: u64) -> Option<Answer> {
        let mut player = self.player.take().expect("alive");
        if let Some(order) = order {
            player.send(order);
            (0..spins).for_each(|_| std::hint::spin_loop());
        }
        let reported = player.kill();
        assert!(
            !reported.iter().any(|line| line.contains("panicked")),
            "{reported:#?}"
        );
        *self = Session::new();
        reported.iter().find_map(|line| Answer::parse(line))
    }
}
