//! Finishers of the installed MariaDB and MySQL, and questions to them.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use finisher_mysql::{FinisherOptions, Finishers, Product};

use session_mysql::finisher::{
    FinisherAnswer, FinisherKind, FinisherRequest, FinisherRows, FinisherStatement,
};
use tempfile::TempDir;
use wire_mysql::row::TextRow;
use zeroize::Zeroizing;

/// What a busy machine may need for anything.
const PATIENCE: Duration = Duration::from_secs(60);

/// Options for a machine of tests.
pub fn options() -> FinisherOptions {
    FinisherOptions {
        // The server does not run as root.
        run_as: is_root().then(|| "nobody".to_owned()),
        ..FinisherOptions::default()
    }
}

/// Finishers of each product that is installed, and the kind of its newest version.
pub fn each(options: &FinisherOptions) -> Vec<(Finishers, FinisherKind)> {
    let products = [Product::MariaDb, Product::MySql].into_iter();
    products
        .filter_map(|product| of(product, options))
        .collect()
}

/// None: it is not installed.
fn of(product: Product, options: &FinisherOptions) -> Option<(Finishers, FinisherKind)> {
    let folder = std::env::var_os("STRONGROOM_TEST_MYSQL").map(PathBuf::from);
    let finishers = Finishers::new(FinisherOptions {
        product,
        programs: match product {
            Product::MariaDb => None,
            Product::MySql => folder.map(|folder| folder.join("bin")),
        },
        ..options.clone()
    });
    let mut all = (800..1300).rev();
    let series = all.find(|series| finishers.offers(*series));
    let Some(series) = series else {
        let may_lack = product == Product::MySql;
        assert!(
            may_lack || std::env::var_os("STRONGROOM_TEST_SERVERS").is_none(),
            "STRONGROOM_TEST_SERVERS is set, and {product:?} is not installed"
        );
        println!("left out: {product:?} is not installed");
        return None;
    };
    let kind = FinisherKind {
        series,
        folds_tables: false,
    };
    Some((finishers, kind))
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// A folder in memory for the folders of servers, which their user can enter. None: the machine
/// has none.
pub fn place() -> Option<TempDir> {
    let place = tempfile::Builder::new().tempdir_in("/dev/shm").ok()?;
    if is_root() {
        let nobody = (Some(65534), Some(65534));
        std::os::unix::fs::chown(place.path(), nobody.0, nobody.1).expect("root gives away");
    }
    Some(place)
}

/// A question with statements that make tables in the database `shop`.
pub fn question(kind: FinisherKind, tables: &[&str], query: &str) -> FinisherRequest {
    let bytes = |text: &&str| Zeroizing::new(text.as_bytes().to_vec());
    FinisherRequest {
        kind,
        databases: vec!["shop".to_owned()],
        database: Some("shop".to_owned()),
        tables: tables.iter().map(bytes).collect(),
        settings: "SET NAMES utf8mb4, sql_mode = 'STRICT_TRANS_TABLES'".to_owned(),
        statement: FinisherStatement::Text(bytes(&query)),
        read_back: None,
        answer_size_max: 1 << 20,
    }
}

/// The rows of an answer, values separated by `|` and NULL as `-`.
pub async fn rows(finishers: &Finishers, request: FinisherRequest) -> Vec<String> {
    match finishers.ask(request).await {
        FinisherAnswer::Rows(rows) => texts(&rows),
        other => panic!("{other:?}"),
    }
}

pub fn texts(rows: &FinisherRows) -> Vec<String> {
    let count = rows.columns.len();
    let texts = rows.rows.iter().map(|row| {
        let row = TextRow::read(row, count).expect("a row");
        let text = |value: Option<&[u8]>| match value {
            Some(value) => String::from_utf8_lossy(value).into_owned(),
            None => "-".to_owned(),
        };
        row.iter().map(text).collect::<Vec<_>>().join("|")
    });
    texts.collect()
}

/// The folders of servers in a place.
pub fn folders(place: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(place).expect("a folder");
    entries
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

/// The number of the server's process in a folder.
pub fn process(folder: &Path) -> i32 {
    let text = fs::read_to_string(folder.join("pid")).expect("a server");
    text.trim().parse().expect("a number")
}

/// Whether a process is there, and has not ended.
pub fn lives(process: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(") ")
        .next()
        .and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

/// Waits until something is so.
pub fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < PATIENCE, "not {what}");
        thread::sleep(Duration::from_millis(10));
    }
}
