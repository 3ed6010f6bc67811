//! A transaction over two databases, of which the second may be new: each call of the base VFS
//! fails once, and afterwards both databases have the transaction or neither has.

use rusqlite::Connection;
use testkit::database::{Side, check, open, run};
use testkit::disk::{Device, Disk, Image};
use testkit::fault::{Call, Fault, Kind};
use testkit::random::{Random, seeds};
use testkit::record::{MAIN, OTHER};

const SCHEMAS: [&str; 2] = ["main", "other"];
const FILL: &str = "INSERT INTO t WITH n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<24)
    SELECT i, printf('%.*c', 500, 'a') FROM n;";

/// What a test does; the first file exists, the second may.
#[derive(Clone, Copy, Debug)]
struct Case {
    side: Side,
    mode: &'static str,
    second_is_new: bool,
}

impl Case {
    fn transaction(self) -> String {
        let second = match self.second_is_new {
            true => "CREATE TABLE other.u AS SELECT * FROM t",
            false => "UPDATE other.u SET b = printf('%.*c', 600, 'b')",
        };
        format!("BEGIN; UPDATE t SET b = printf('%.*c', 600, 'b'); {second}; COMMIT")
    }

    fn attached(self) -> Result<Connection, String> {
        let uri = |name| self.side.uri(name);
        let connection = open(&uri(MAIN)).map_err(|error| error.to_string())?;
        run(&connection, &format!("ATTACH '{}' AS other", uri(OTHER)))?;
        // Small caches, so that pages reach both files before the commit.
        let settings = format!(
            "PRAGMA main.journal_mode={0}; PRAGMA other.journal_mode={0};
             PRAGMA main.cache_size=3; PRAGMA other.cache_size=3",
            self.mode
        );
        run(&connection, &settings)?;
        Ok(connection)
    }

    /// The files before the transaction.
    fn image(self) -> Image {
        let disk = Disk::new(Device::UNIX);
        disk.enter();
        let connection = self.attached().expect("opens");
        run(
            &connection,
            "PRAGMA main.page_size=1024; PRAGMA other.page_size=1024",
        )
        .expect("set");
        run(&connection, &format!("CREATE TABLE main.t(a, b); {FILL}")).expect("fills");
        if !self.second_is_new {
            run(&connection, "CREATE TABLE other.u AS SELECT * FROM t").expect("fills");
        }
        drop(connection);
        disk.image()
    }

    fn content(self) -> Result<u64, String> {
        check(&self.attached()?, self.side, &SCHEMAS)
    }

    /// Runs the transaction repeatedly, each time with a later fault of a kind, until one comes too
    /// late to take effect.
    fn run_each(
        self,
        image: &Image,
        states: [u64; 2],
        (call, kind): (Call, Kind),
        random: &mut Random,
    ) {
        let mut fault = Fault {
            kind,
            call: Some(call),
            number: 1,
            lasting: false,
        };
        loop {
            match self.run(image, states, fault) {
                Ok(true) => fault.number += 1 + random.below(2),
                Ok(false) => return,
                Err(message) => panic!("{self:?}, {fault:?}: {message}"),
            }
        }
    }

    /// Runs the transaction with a fault; returns whether it took effect.
    fn run(self, image: &Image, states: [u64; 2], fault: Fault) -> Result<bool, String> {
        let disk = Disk::with(Device::UNIX, image);
        disk.enter();
        let connection = self.attached()?;
        disk.set_fault(Some(fault));
        let result = run(&connection, &self.transaction());
        if !connection.is_autocommit() {
            let _ = run(&connection, "ROLLBACK");
        }
        let struck = disk.struck() > 0;
        disk.set_fault(None);
        // The connection's own view, as long as it has one, and what the next connection finds.
        let own = check(&connection, self.side, &SCHEMAS);
        drop(connection);
        let found = self
            .content()
            .map_err(|message| format!("afterwards: {message}"))?;
        if !states.contains(&found) || (result.is_ok() && found != states[1]) {
            return Err("one file has the transaction without the other".to_owned());
        }
        match own {
            Ok(own) if own != found => Err("the connection saw something else".to_owned()),
            Err(message) if message.contains("malformed") => Err(message),
            Ok(_) | Err(_) => Ok(struck),
        }
    }
}

fn each_call_fails(side: Side) {
    for seed in seeds([1]) {
        let mut random = Random::of(&[seed, 7]);
        for (mode, second_is_new) in [
            ("delete", false),
            ("delete", true),
            ("truncate", false),
            ("truncate", true),
            ("persist", false),
            ("persist", true),
        ] {
            let case = Case {
                side,
                mode,
                second_is_new,
            };
            let image = case.image();
            let before = Disk::with(Device::UNIX, &image);
            before.enter();
            let first = case.content().expect("before");
            run(&case.attached().expect("opens"), &case.transaction()).expect("commits");
            let states = [first, case.content().expect("after")];
            for call in [Call::Write, Call::Sync, Call::Size, Call::Truncate] {
                for kind in [Kind::Device, Kind::Full] {
                    if kind.code(call).is_some() {
                        case.run_each(&image, states, (call, kind), &mut random);
                    }
                }
            }
        }
    }
}

#[test]
fn both_have_a_transaction_or_none_has() {
    each_call_fails(Side::Strongroom);
}

/// If this fails, the harness expects more than SQLite guarantees.
#[test]
fn stock_sqlite_bears_the_same() {
    each_call_fails(Side::Stock);
}
