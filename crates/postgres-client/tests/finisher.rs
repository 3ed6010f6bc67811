//! Queries that a finisher of this program answers.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

use strongroom_postgres::tokio_postgres::error::SqlState;
use strongroom_postgres::{Connector, Options};

use crate::common::{RULES, Setup};

#[tokio::test]
async fn a_finisher_answers_and_ends() {
    let Some(setup) = Setup::start().await else {
        return;
    };
    let place = tempfile::tempdir().expect("a folder");
    let mode = fs::Permissions::from_mode(0o711);
    fs::set_permissions(place.path(), mode).expect("own folder");
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("key"), [0x5a; 32]).expect("written");
    let mut text = format!(
        "[keys]\nfile = \"key\"\n[finish]\nengine = \"postgres\"\nfolder = \"{}\"\n",
        place.path().display()
    );
    // PostgreSQL does not run as root.
    if fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0) {
        chown(place.path(), Some(65534), Some(65534)).expect("root gives away");
        text.push_str("run_as = \"nobody\"\n");
    }
    write!(text, "{RULES}").expect("a String takes everything");
    let file = folder.path().join("strongroom.toml");
    fs::write(&file, text).expect("written");
    let connector = Connector::new(Options::read(&file).expect("options")).expect("a connector");
    let (client, connection) = connector.connect(&setup.config).await.expect("connected");
    tokio::spawn(connection);
    client
        .batch_execute(
            "INSERT INTO customer VALUES (1, 'CANARYone', NULL, 10, '2001-02-03'), \
             (2, 'CANARYtwo', NULL, 20, '2002-02-03')",
        )
        .await
        .expect("inserted");
    let count = || fs::read_dir(place.path()).expect("a folder").count();
    assert_eq!(count(), 0);
    let query = "SELECT extract(year FROM born)::integer, reverse(name) FROM customer \
                 WHERE length(reverse(name)) > $1 ORDER BY born DESC";
    for round in 0..2 {
        let rows = client.query(query, &[&3]).await.expect("answered");
        let rows: Vec<(i32, String)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
        let wanted = [(2002, "owtYRANAC"), (2001, "enoYRANAC")];
        let wanted = wanted.map(|(year, name)| (year, name.to_owned()));
        assert_eq!(rows, wanted, "{round}");
    }
    assert_eq!(count(), 1);
    let error = client
        .query(
            "SELECT 1 / (extract(year FROM born) - 2001) FROM customer",
            &[],
        )
        .await
        .expect_err("by zero");
    assert_eq!(error.code(), Some(&SqlState::DIVISION_BY_ZERO));
    let changed = client.execute("UPDATE customer SET name = upper(reverse(name))", &[]);
    assert_eq!(changed.await.expect("changed"), 2);
    connector.end_finishers().await;
    assert_eq!(count(), 0);
    assert_eq!(client.query(query, &[&3]).await.expect("anew").len(), 2);
    setup.assert_unseen(&["CANARY", "YRANAC"]);
    connector.end_finishers().await;
}
