//! The gale: workers that run in parallel, some killed at random times, while others read,
//! checkpoint, change keys and rotate.
//!
//! Every transaction is determined by a seed that it writes, with its number, into the table
//! `history`. So at the end the oracle replays the history and knows every state there ever was.
//! What a reader saw must be the state of the number that it read in the same transaction, and
//! every acknowledged transaction must be in the history.

use std::collections::HashMap;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};

use crate::common::children::{Part, Player, report};
use crate::common::random::Random;
use crate::common::{Room, last_error, open_uri, text};
use crate::content::{Change, State, TABLES, read_digest};
use crate::rotation::epochs;
use crate::schedule::Tally;
use crate::worker::{ask, key_pragma};

const PAGE_SIZE: usize = 1024;
const MODES: [&str; 4] = ["delete", "truncate", "persist", "wal"];
/// The roles of the workers; the first two live to the end.
const ROLES: [&str; 5] = ["reader", "keeper", "writer", "writer", "keeper"];
/// How many workers a gale kills.
const VICTIMS: u64 = 8;

/// The changes of a transaction, from its seed, with versions unique to it.
fn changes_of(seed: u64, sequence: u64) -> Vec<Change> {
    let mut random = Random::new(seed);
    let count = 1 + random.below(5);
    let changes = (0..count).map(|index| Change::random(&mut random, sequence * 8 + index));
    changes.collect()
}

/// One process of a gale: `ROLE SEED MODE`.
pub fn blow(part: &Part) {
    sqlite_linked::register().expect("registers");
    let seed = part.detail[0].parse().expect("a number");
    let connection = open_uri(&part.uri);
    let settings = format!(
        "PRAGMA busy_timeout=60000; PRAGMA journal_mode={}; PRAGMA synchronous=OFF;
         PRAGMA cache_size=8; PRAGMA wal_autocheckpoint=30",
        part.detail[1]
    );
    insist(&connection, &settings);
    report("ready");
    let mut random = Random::new(seed);
    let mut known = (u64::MAX, String::new());
    let (sender, over) = std::sync::mpsc::channel::<()>();
    std::thread::spawn(move || {
        // Ends when the orders end.
        let _ = std::io::stdin().read_line(&mut String::new());
        drop(sender);
    });
    while over.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
        match part.name.as_str() {
            "writer" => write(&connection, &mut random),
            "keeper" => keep(&connection, &mut random),
            _ => {}
        }
        look(&connection, &mut known);
    }
}

/// Runs statements one by one, retrying while another connection is in the way.
fn insist(connection: &Connection, sql: &str) {
    for statement in sql.split(';') {
        while let Err(error) = connection.execute_batch(statement) {
            assert_busy(connection, statement, &error);
        }
    }
}

fn assert_busy(connection: &Connection, what: &str, error: &rusqlite::Error) {
    let busy = [ErrorCode::DatabaseBusy, ErrorCode::DatabaseLocked];
    match error.sqlite_error_code() {
        Some(code) if busy.contains(&code) => std::thread::yield_now(),
        _ => panic!("{what}: {error}; {}", last_error(connection)),
    }
}

fn write(connection: &Connection, random: &mut Random) {
    insist(connection, "BEGIN IMMEDIATE");
    let sequence = "SELECT coalesce(max(sequence), 0) + 1 FROM history";
    let sequence: u64 = text(connection, sequence).parse().expect("a number");
    let seed = random.next() >> 1;
    let discarded = random.once_in(5);
    let nested = random.once_in(4);
    if nested {
        let other = Change::random(random, u64::from(u32::MAX));
        insist(connection, "SAVEPOINT discarded");
        other.run(connection, "main").expect("the lock is held");
        insist(connection, "ROLLBACK TO discarded; RELEASE discarded");
    }
    for change in changes_of(seed, sequence) {
        change.run(connection, "main").expect("the lock is held");
    }
    let history = format!("INSERT INTO history VALUES({sequence}, 0, {seed})");
    insist(connection, &history);
    if discarded {
        return insist(connection, "ROLLBACK");
    }
    insist(connection, "COMMIT");
    report(&format!("committed {sequence} {seed}"));
}

/// Statements that may be busy, and change no content.
fn keep(connection: &Connection, random: &mut Random) {
    let kind = random.pick(&["PASSIVE", "FULL", "RESTART", "TRUNCATE"]);
    let key = 0x40 + random.below(100) as u8;
    let sql = match random.below(10) {
        0..3 => format!("PRAGMA wal_checkpoint({kind})"),
        3 => key_pragma("strongroom_key_add", key),
        4 => format!("PRAGMA strongroom_key_remove='{}'", 1 + random.below(7)),
        5 => "PRAGMA strongroom_rotate='start'".to_owned(),
        6..9 => format!("PRAGMA strongroom_rotate='{}'", 1 + random.below(60)),
        _ => "VACUUM".to_owned(),
    };
    if let Err((code, said)) = ask(connection, &sql) {
        let none = ["there is no key in slot", "all 8 key slots are in use"];
        let expected = none.iter().any(|text| said.contains(text))
            || [rusqlite::ffi::SQLITE_BUSY, rusqlite::ffi::SQLITE_LOCKED].contains(&(code & 0xff));
        assert!(expected, "{sql}: {code} {said}");
    }
}

/// Reports the last transaction and a digest of the rows, unless it equals `known`.
fn look(connection: &Connection, known: &mut (u64, String)) {
    insist(connection, "BEGIN");
    let seen = loop {
        let last = "SELECT coalesce(max(sequence), 0) FROM history";
        match ask(connection, last) {
            Ok(last) => break last,
            Err((code, said)) if code & 0xff != rusqlite::ffi::SQLITE_BUSY => panic!("{said}"),
            Err(_) => std::thread::yield_now(),
        }
    };
    let digest = read_digest(connection, "main")
        .unwrap_or_else(|error| panic!("{error}; {}", last_error(connection)));
    insist(connection, "COMMIT");
    let found = (seen.parse().expect("a number"), digest);
    if known.0 == found.0 {
        assert_eq!(*known, found, "the same transaction, and other rows");
        return;
    }
    report(&format!("saw {} {}", found.0, found.1));
    *known = found;
}

/// What the workers reported.
#[derive(Default)]
struct Reports {
    /// Seeds of acknowledged transactions by number.
    committed: HashMap<u64, u64>,
    seen: Vec<(u64, String)>,
}

impl Reports {
    fn take(&mut self, lines: Vec<String>) {
        let mut newest = 0;
        for line in &lines {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |index: usize| words[index].parse::<u64>().expect("a number");
            match words[0] {
                "committed" => {
                    let twice = self.committed.insert(number(1), number(2));
                    assert_eq!(twice, None, "{line}: a number is given once");
                    newest = number(1);
                }
                "saw" => {
                    assert!(number(1) >= newest, "{line}: {newest} was there before");
                    newest = number(1);
                    self.seen.push((number(1), words[2].to_owned()));
                }
                "ready" => {}
                _ => panic!("{lines:#?}"),
            }
        }
    }
}

/// Runs one gale in one journal mode, and returns its counts.
pub fn gale(seed: u64, mode: &str) -> Tally {
    let mut random = Random::new(seed);
    let room = Room::new();
    let made = format!(
        "PRAGMA page_size={PAGE_SIZE}; PRAGMA journal_mode={mode}; PRAGMA synchronous=OFF; {TABLES}"
    );
    room.open("gale.db").execute_batch(&made).expect("made");
    let uri = room.uri("gale.db", random.pick(&["", "&mmap=off"]));
    let start = |role: &str, random: &mut Random| {
        let detail = format!("{} {mode}", random.next());
        let mut player = Player::start("gale_worker", role, &uri, &detail);
        if player.line().as_deref() != Some("ready") {
            // It has died; its report says why.
            let said = player.finish();
            panic!("not ready: {said:#?}");
        }
        player
    };
    let mut players: Vec<Player> = ROLES.iter().map(|role| start(role, &mut random)).collect();
    let mut reports = Reports::default();
    for _ in 0..VICTIMS {
        std::thread::sleep(Duration::from_micros(random.below(60_000)));
        let victim = 2 + random.below(3) as usize;
        let next = start(ROLES[victim], &mut random);
        let dead = std::mem::replace(&mut players[victim], next);
        reports.take(dead.kill());
    }
    players.iter_mut().for_each(|player| player.send("enough"));
    for player in players {
        reports.take(player.finish());
    }
    let (commits, reads) = (reports.committed.len() as u64, reports.seen.len() as u64);
    judge(&room, reports);
    Tally {
        schedules: 1,
        steps: commits + reads,
        commits,
        reads,
        kills: VICTIMS,
        rotations: 1,
        ..Tally::default()
    }
}

pub fn gales(seed: u64) -> Tally {
    let mut all = Tally::default();
    for mode in MODES {
        println!("seed {seed}, {mode}");
        all.add(gale(seed, mode));
    }
    all
}

/// Replays the history and compares it with the reports.
fn judge(room: &Room, mut reports: Reports) {
    let connection = room.open("gale.db");
    let mut statement = connection
        .prepare("SELECT sequence, seed FROM history ORDER BY sequence")
        .expect("prepares");
    let rows = statement.query_map([], |row| {
        Ok((row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64))
    });
    let mut state = State::default();
    let mut digests = vec![state.digest()];
    for row in rows.expect("reads") {
        let (sequence, seed) = row.expect("a row");
        assert_eq!(sequence, digests.len() as u64, "history has no gaps");
        if let Some(acknowledged) = reports.committed.remove(&sequence) {
            assert_eq!(acknowledged, seed, "{sequence} is another's");
        }
        for change in changes_of(seed, sequence) {
            state.apply(&change);
        }
        digests.push(state.digest());
    }
    drop(statement);
    assert!(
        reports.committed.is_empty(),
        "lost: {:?}",
        reports.committed
    );
    for (sequence, digest) in &reports.seen {
        assert_eq!(&digests[*sequence as usize], digest, "seen as {sequence}");
    }
    crate::schedule::assert_holds(&connection, &state);
    for _ in 0..2 {
        text(&connection, "PRAGMA wal_checkpoint(TRUNCATE)");
        text(&connection, "PRAGMA strongroom_rotate");
    }
    crate::schedule::assert_holds(&connection, &state);
    let (current, found) = epochs(&room.path("gale.db"), PAGE_SIZE);
    assert!(current > 1, "the key was rotated");
    let others = found.iter().filter(|(_, epoch)| *epoch != current);
    assert_eq!(others.count(), 0, "{found:?}, but the epoch is {current}");
}
