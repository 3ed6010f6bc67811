//! Workload `pinger`: round-trip times of a month between hosts, loaded and queried.
//!
//! A published comparison of MySQL 4.1 with SQLite 3.3 ran these steps on data of December 2001.
//! That data was not published. The rows here are synthetic: made by the rules of [`month`], with
//! as many rows as the original had and the five that were shown.
//!
//! The original had SQLite's two tables in two files; here they are in one. Each statement is on
//! one line but for those that create tables and the queries.

mod month;
pub mod published;
mod schema;

use std::fmt::Write;

use crate::{Dialect, Fact, Script, Test, Workload};
use month::{Measurement, Pair, ROWS};

/// SHA-256 of the two loads: 210 lines and 325,720 lines.
pub const SHA256_PAIRS: &str = "107ec1e3ed4cd4db308a62dcc1bc8507e8d7eab773029b1ce4c49f6baf5aea90";
/// See [`SHA256_PAIRS`].
pub const SHA256_MEASUREMENTS: &str =
    "be0a431764ca7eddfb39ee6ed67a84940f83b5a97af7b5d9a94bf7941bbd1cbd";

/// SHA-256 of all scripts in SQLite's dialect; the others differ in the tables' definitions and in
/// the words that begin a transaction.
pub const SHA256: &str = "3e857d1b607e914585c3138618af3e0b723784e1827183d987c49c40b47fba59";

/// One sentence on what it is.
pub(crate) const DESCRIPTION: &str =
    "the published PingER comparison of MySQL and SQLite, on synthetic rows";

const PAIRS_TABLE: &str = "metaData";
const DATA_TABLE: &str = "data_200112";

/// A table of its own for the rows that are put in without a transaction.
const SINGLE_TABLE: &str = "data_single";

/// Rows that are put in without a transaction. All of them would take hours on a disk that is
/// waited for after each.
const SINGLE_ROWS: usize = 500;

/// Bytes of the load, a little rounded up: it is made in one piece.
const LOAD_BYTES: usize = 84_000_000;

/// The workload in the words of that dialect.
pub(crate) fn workload(dialect: Dialect) -> Workload {
    let [first, second, third] = QUERIES.map(Script::single);
    let steps: [(String, Script, Vec<Fact>); 7] = [
        (
            "Creating the tables".to_owned(),
            creation(dialect),
            Vec::new(),
        ),
        (
            "210 INSERTs without a transaction".to_owned(),
            Script::lines(pairs_text()),
            vec![pairs_fact()],
        ),
        (
            format!("{SINGLE_ROWS} of {ROWS} INSERTs without a transaction"),
            Script::lines(single_text()),
            vec![single_fact()],
        ),
        (
            format!("{ROWS} INSERTs in a transaction"),
            load(dialect),
            load_facts(),
        ),
        (
            "Query: shortest time from each source to one domain".to_owned(),
            first,
            Vec::new(),
        ),
        (
            "Query: shortest and longest time from one domain".to_owned(),
            second,
            Vec::new(),
        ),
        (
            "Query: times from one domain within nine hours".to_owned(),
            third,
            Vec::new(),
        ),
    ];
    let tests = steps
        .into_iter()
        .zip(1u32..)
        .map(|((title, script, oracle), number)| Test {
            number,
            title,
            script,
            oracle,
            step: None,
        })
        .collect();
    Workload {
        name: "pinger".to_owned(),
        description: DESCRIPTION.to_owned(),
        tests,
        canary: "slac.stanford.edu".to_owned(),
        sha256: SHA256.to_owned(),
    }
}

/// The three queries as published.
const QUERIES: [&str; 3] = [
    "select m.ip_name_src, min(minRtt)\n\
     from metaData m join data_200112 d on m.metaID = d.metaID\n\
     where m.ip_name_dst like '%slac.stanford.edu'\n  \
       and m.ip_name_src not like '%stanford.edu'\n  \
       and d.minRtt is not null and d.minRtt > 0\n\
     group by m.ip_name_src\n\
     order by m.ip_name_src;",
    "select m.ip_name_dst, min(minRtt), max(maxRtt)\n\
     from metaData m join data_200112 d on m.metaID = d.metaID\n\
     where m.ip_name_src like '%bnl.gov'\n  \
       and d.maxRtt is not null\n\
     group by m.ip_name_dst\n\
     order by m.ip_name_dst;",
    "select m.ip_name_dst, min(minRtt), max(maxRtt), avg(meanRtt)\n\
     from metaData m join data_200112 d on m.metaID = d.metaID\n\
     where m.ip_name_src like '%hep.net'\n\
     and timestamp between 1008403200 and 1008435600\n\
     group by m.ip_name_dst\n\
     order by m.ip_name_dst;",
];

fn creation(dialect: Dialect) -> Script {
    let mut script = Script::new();
    for statement in schema::statements(dialect, &[DATA_TABLE, SINGLE_TABLE]) {
        script.push(&statement);
    }
    script
}

fn pairs_text() -> String {
    month::pairs().map(|pair| pair_line(&pair)).collect()
}

fn pair_line(pair: &Pair) -> String {
    format!(
        "INSERT INTO {PAIRS_TABLE} (metaID, ip_name_src, ip_name_dst, transport, packetSize, \
         count, packetInterval, deadline, ttl) VALUES ({},'{}','{}','icmp',{},10,1,30,255);\n",
        pair.id(),
        month::source_name(pair.source),
        month::destination_name(pair.destination),
        pair.packet_size
    )
}

fn single_text() -> String {
    let mut text = String::new();
    for measurement in month::measurements().take(SINGLE_ROWS) {
        push_line(&mut text, SINGLE_TABLE, &measurement);
    }
    text
}

/// All measurements between the words that begin and end a transaction. SQLite's are those of the
/// published page.
fn load(dialect: Dialect) -> Script {
    let (begin, end) = match dialect {
        Dialect::Sqlite => ("begin exclusive transaction;\n", "commit;\n"),
        Dialect::Postgres | Dialect::Mysql => ("begin;\n", "commit;\n"),
    };
    let mut text = String::with_capacity(LOAD_BYTES);
    text.push_str(begin);
    for measurement in month::measurements() {
        push_line(&mut text, DATA_TABLE, &measurement);
    }
    text.push_str(end);
    Script::lines(text)
}

fn push_line(text: &mut String, table: &str, measurement: &Measurement) {
    let Measurement {
        pair,
        milliseconds,
        time,
        loss_percent,
    } = *measurement;
    let begin = format_args!(
        "INSERT INTO {table} (metaID, minRtt, meanRtt, medianRtt, maxRtt, timestamp, minIpd, \
         meanIpd, maxIpd, duplicates, outOfOrder, clp, iqrIpd, lossPercent, rtts, seqNums) \
         VALUES ({pair},"
    );
    let end = format_args!("{time},NULL,NULL,NULL,NULL,NULL,NULL,NULL,{loss_percent},NULL,NULL);");
    match milliseconds {
        Some([shortest, mean, longest]) => {
            writeln!(text, "{begin}{shortest},{mean},NULL,{longest},{end}")
        }
        None => writeln!(text, "{begin}NULL,NULL,NULL,NULL,{end}"),
    }
    .expect("writing to a String cannot fail");
}

fn pairs_fact() -> Fact {
    Fact {
        query: format!("SELECT count(*), sum(metaID), sum(packetSize) FROM {PAIRS_TABLE}"),
        row: vec![210, 44_310, 115_500],
    }
}

fn single_fact() -> Fact {
    Fact {
        query: format!("SELECT count(*), min(metaID) FROM {SINGLE_TABLE}"),
        row: vec![SINGLE_ROWS as i64, 2],
    }
}

fn load_facts() -> Vec<Fact> {
    let fact = |query: &str, row: &[i64]| Fact {
        query: format!("SELECT {query}"),
        row: row.to_vec(),
    };
    vec![
        fact(
            "count(*), count(minRtt), min(timestamp), max(timestamp) FROM data_200112",
            &[325_720, 323_827, 1_007_164_807, 1_009_843_078],
        ),
        fact("count(*) FROM data_200112 WHERE minRtt = 0", &[81]),
    ]
}
