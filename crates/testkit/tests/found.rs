//! Defects found by the power cuts, each with the shortest run that shows it.

use page_codec::header::{COPY_SIZE, HeaderRegion, REGION_SIZE};
use rusqlite::Connection;
use testkit::database::{Side, check, key_token, open, run, text};
use testkit::disk::{Device, Disk, Effect, Image};
use testkit::fault::{Call, Fault, Kind};
use testkit::power::Replay;
use testkit::random::Random;

const NAME: &str = "/a.db";

fn connect() -> Result<Connection, String> {
    open(&Side::Strongroom.uri(NAME)).map_err(|error| error.to_string())
}

/// Runs statements on an empty disk, cuts the power at every point in many ways, and passes each
/// database that is then opened to the judge, together with whether all statements had returned.
fn cut_everywhere(
    device: Device,
    statements: &[&str],
    judge: impl Fn(&Connection, bool) -> Result<(), String>,
) {
    const VARIANTS: u64 = 40;
    let disk = Disk::new(device);
    disk.enter();
    let connection = connect().expect("opens");
    for sql in statements {
        run(&connection, sql).expect("runs");
    }
    let log = disk.take_log();
    drop(connection);
    let mut replay = Replay::new(device, &Image::default(), &log);
    loop {
        for variant in 0..VARIANTS {
            let place = replay.position();
            let image = replay.image(&mut Random::of(&[place as u64, variant]));
            Disk::with(device, &image).enter();
            let judged = connect().and_then(|connection| judge(&connection, place == log.len()));
            if let Err(what) = judged {
                panic!(
                    "after {place} of {} effects, variant {variant}: {what}",
                    log.len()
                );
            }
        }
        if !replay.advance() {
            return;
        }
    }
}

fn is_sound(connection: &Connection, _: bool) -> Result<(), String> {
    check(connection, Side::Strongroom, &["main"]).map(|_| ())
}

/// The header was not synced before the pages. Without it a file had pages that nobody could open,
/// and a journal that nobody could play back.
#[test]
fn a_creation_that_was_cut_short_leaves_a_file_that_opens() {
    let create = "CREATE TABLE t(a); INSERT INTO t VALUES(zeroblob(9000))";
    cut_everywhere(Device::UNIX, &[create], is_sound);
}

/// The copy of the header that finishes a creation is not synced. A change of keys assumed that it
/// was intact and wrote the other copy: both could be torn.
#[test]
fn a_change_of_keys_right_after_the_creation_leaves_one_copy_of_the_header_whole() {
    let add = format!("PRAGMA strongroom_key_add='token={}'", key_token(1));
    cut_everywhere(Device::UNIX, &["CREATE TABLE t(a)", &add], is_sound);
}

/// SQLite does not journal free pages that it reuses. Torn ones did not open after the rollback:
/// `strongroom_verify` complained, and copies and rotations of the key failed.
#[test]
fn a_free_page_that_was_torn_opens_after_the_rollback() {
    let statements = [
        "PRAGMA page_size=1024; PRAGMA cache_size=3",
        "CREATE TABLE t(a, b); INSERT INTO t VALUES(1, zeroblob(9000)); DELETE FROM t",
        "INSERT INTO t VALUES(2, zeroblob(9000))",
    ];
    cut_everywhere(Device::UNIX, &statements, |connection, all| {
        is_sound(connection, all)?;
        let copy = Connection::open_in_memory().expect("opens");
        let backup = rusqlite::backup::Backup::new(connection, &mut { copy })
            .and_then(|backup| backup.step(-1).map(|_| ()));
        backup.map_err(|error| format!("a copy: {error}"))
    });
}

/// The same after a write that failed in the commit: SQLite rolled back, but the torn page was
/// repaired only if another connection had left the journal.
#[test]
fn a_free_page_that_a_failed_write_tore_opens_after_the_rollback() {
    for mode in ["delete", "truncate", "persist", "memory"] {
        let mut failed = 0;
        for number in 1.. {
            let disk = Disk::new(Device::UNIX);
            disk.enter();
            let connection = connect().expect("opens");
            for sql in [
                "PRAGMA page_size=1024",
                &format!("PRAGMA journal_mode={mode}"),
                "CREATE TABLE t(a, b); INSERT INTO t VALUES(1, zeroblob(9000)); DELETE FROM t",
            ] {
                run(&connection, sql).expect("runs");
            }
            disk.set_fault(Some(Fault {
                kind: Kind::Full,
                call: Some(Call::Write),
                number,
                lasting: false,
            }));
            let insert = "BEGIN; INSERT INTO t VALUES(2, zeroblob(9000)); COMMIT";
            let outcome = run(&connection, insert);
            let struck = disk.struck();
            disk.set_fault(None);
            if struck == 0 {
                outcome.expect("no fault");
                break;
            }
            failed += u64::from(outcome.is_err());
            if !connection.is_autocommit() {
                run(&connection, "ROLLBACK").expect("rolls back");
            }
            is_sound(&connection, true).unwrap_or_else(|what| panic!("{mode}, {number}: {what}"));
        }
        assert!(failed > 0, "{mode}");
    }
}

/// The first write to the header of a database, with the log of a run that made it.
fn header_write(log: Vec<Effect>) -> (usize, Box<[u8]>) {
    let writes = log.into_iter().filter_map(|effect| match effect {
        Effect::Write {
            file: 0,
            offset,
            bytes,
        } => Some((offset, bytes)),
        _ => None,
    });
    let mut to_header = writes.filter(|(offset, _)| *offset < REGION_SIZE);
    to_header.next().expect("the header is written")
}

fn with_write(image: &Image, offset: usize, bytes: &[u8]) -> Image {
    let mut image = image.clone();
    let file = image.files.get_mut(NAME).expect("the database");
    file[offset..offset + bytes.len()].copy_from_slice(bytes);
    image
}

/// A process was killed between its write of a header and the sync. The next one sealed its
/// transaction under the key in that header, and synced the log alone; a power cut took the header.
#[test]
fn a_header_that_was_not_synced_is_synced_before_the_log_relies_on_it() {
    let disk = Disk::new(Device::UNIX);
    disk.enter();
    let connection = connect().expect("opens");
    run(&connection, "PRAGMA journal_mode=wal; CREATE TABLE t(a)").expect("runs");
    drop(connection);
    let before = disk.image();
    assert_eq!(before.files.len(), 1);
    let connection = connect().expect("opens");
    disk.take_log();
    for sql in ["SELECT * FROM t", "PRAGMA strongroom_rotate=start"] {
        run(&connection, sql).expect("runs");
    }
    let (offset, bytes) = header_write(disk.take_log());
    drop(connection);

    let disk = Disk::with(Device::UNIX, &with_write(&before, offset, &bytes));
    disk.enter();
    let connection = connect().expect("opens");
    let insert = "PRAGMA synchronous=full; INSERT INTO t VALUES(1)";
    run(&connection, insert).expect("runs");
    let unsynced = Effect::Write {
        file: 0,
        offset,
        bytes,
    };
    let log = [vec![unsynced], disk.take_log()].concat();
    drop(connection);
    let mut replay = Replay::new(Device::UNIX, &before, &log);
    while replay.advance() {}
    for variant in 0..40 {
        let image = replay.image(&mut Random::of(&[variant]));
        Disk::with(Device::UNIX, &image).enter();
        let connection = connect().expect("opens");
        is_sound(&connection, true).unwrap_or_else(|what| panic!("variant {variant}: {what}"));
        let rows = text(&connection, "SELECT group_concat(a) FROM t").expect("reads");
        assert_eq!(rows, "1", "variant {variant}");
    }
}

/// A process was killed that had just committed the transaction that creates the database, another
/// one between the two copies of a header with a new slot. The end of the creation then overwrote
/// the only copy that had the slot.
#[test]
fn the_end_of_a_creation_does_not_overwrite_the_copy_in_force() {
    let disk = Disk::new(Device::UNIX);
    disk.enter();
    let connection = connect().expect("opens");
    run(&connection, "CREATE TABLE t(a)").expect("runs");
    drop(connection);
    let created = disk.image();
    let unfinished = with_write(&created, COPY_SIZE, &created.files[NAME][..COPY_SIZE]);
    let disk = Disk::with(Device::UNIX, &unfinished);
    disk.enter();
    let connection = connect().expect("opens");
    let add = format!("PRAGMA strongroom_key_add='token={}'", key_token(1));
    run(&connection, &add).expect("runs");
    let (offset, bytes) = header_write(disk.take_log());
    assert_eq!(offset, COPY_SIZE);
    drop(connection);

    let before = with_write(&unfinished, offset, &bytes);
    let disk = Disk::with(Device::UNIX, &before);
    disk.enter();
    let connection = connect().expect("opens");
    run(&connection, "INSERT INTO t VALUES(1)").expect("runs");
    let log = disk.take_log();
    drop(connection);
    let mut replay = Replay::new(Device::UNIX, &before, &log);
    loop {
        for variant in 0..40 {
            let position = replay.position() as u64;
            let image = replay.image(&mut Random::of(&[position, variant]));
            let region = HeaderRegion::parse(&image.files[NAME][..REGION_SIZE]).expect("a header");
            let slots = region.header.slots.iter().flatten().count();
            assert_eq!(slots, 2, "after {position} effects, variant {variant}");
        }
        if !replay.advance() {
            return;
        }
    }
}

/// An interrupted checkpoint leaves torn pages in the file. They are intact in the log, and
/// `strongroom_verify` must not report them.
#[test]
fn pages_torn_by_a_checkpoint_are_not_reported_while_the_log_has_them() {
    let statements = [
        "PRAGMA journal_mode=wal",
        "CREATE TABLE t(a); INSERT INTO t VALUES(zeroblob(20000))",
        "UPDATE t SET a = randomblob(20000); PRAGMA wal_checkpoint",
    ];
    cut_everywhere(Device::UNIX, &statements, is_sound);
}

/// If a torn write may damage its whole sector, SQLite fills the sector after a commit before it
/// syncs. The frame that fills it was written after the sync, and could damage the commit.
#[test]
fn a_commit_in_the_log_is_safe_from_later_writes() {
    let device = Device {
        sector_size: 512,
        powersafe_overwrite: false,
        map: false,
    };
    let statements = [
        "PRAGMA page_size=512; PRAGMA journal_mode=wal; PRAGMA synchronous=full",
        "CREATE TABLE t(a)",
        "INSERT INTO t VALUES(1)",
        // Writes after the commit, and is never committed itself.
        "PRAGMA cache_size=2; BEGIN; INSERT INTO t VALUES(zeroblob(5000))",
    ];
    cut_everywhere(device, &statements, |connection, all| {
        match check(connection, Side::Strongroom, &["main"]) {
            Err(what) if !all && what.contains("not a Strongroom file") => return Ok(()),
            checked => checked?,
        };
        if !all {
            return Ok(());
        }
        let rows = text(connection, "SELECT group_concat(a) FROM t")?;
        (rows == "1").then_some(()).ok_or(format!("rows {rows}"))
    });
}
