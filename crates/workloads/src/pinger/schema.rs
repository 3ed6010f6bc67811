//! The two tables in the words of each kind of engine.
//!
//! For SQLite and MySQL as published. PostgreSQL was not among the published engines: its text is
//! that of MySQL without display widths, `tinyint` and keys within the table, and without quotes,
//! since a quoted `"metaData"` is another name there than the `metaData` of the queries.

use crate::Dialect;

/// How the text differs between the kinds of engines.
struct Words {
    /// What must be said before names may stand in double quotes.
    before: Option<&'static str>,
    quote: &'static str,
    /// 8 bytes; 8 bytes for times; 2 bytes; 1 byte.
    integers: [&'static str; 4],
    /// Whether the pairs have a second, unique key, and the measurements an index.
    further_keys: bool,
}

impl Words {
    fn of(dialect: Dialect) -> Self {
        let published = ["bigint(20)", "bigint(12)", "smallint(6)", "tinyint(1)"];
        match dialect {
            Dialect::Sqlite => Self {
                before: None,
                quote: "\"",
                integers: published,
                further_keys: false,
            },
            Dialect::Mysql => Self {
                before: Some("SET sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES');"),
                quote: "\"",
                integers: published,
                further_keys: true,
            },
            Dialect::Postgres => Self {
                before: None,
                quote: "",
                integers: ["bigint", "bigint", "smallint", "smallint"],
                further_keys: true,
            },
        }
    }
}

/// The statements that make the tables.
pub(super) fn statements(dialect: Dialect, data_tables: &[&str]) -> Vec<String> {
    let words = Words::of(dialect);
    let mut statements: Vec<String> = words.before.into_iter().map(str::to_owned).collect();
    let quote = words.quote;
    statements.push(format!("DROP TABLE IF EXISTS {quote}metaData{quote};"));
    statements.push(pairs_table(&words));
    for &table in data_tables {
        statements.push(format!("DROP TABLE IF EXISTS {table};"));
        statements.extend(data_table(&words, dialect, table));
    }
    statements
}

fn pairs_table(words: &Words) -> String {
    let quote = words.quote;
    let [long, _, short, _] = words.integers;
    let mut lines = vec![
        format!("{quote}metaID{quote} {long} NOT NULL"),
        format!("{quote}ip_name_src{quote} varchar(52) NOT NULL default ''"),
        format!("{quote}ip_name_dst{quote} varchar(52) NOT NULL default ''"),
        format!("{quote}transport{quote} varchar(10) NOT NULL default ''"),
        format!("{quote}packetSize{quote} {short} NOT NULL default '0'"),
        format!("{quote}count{quote} {short} NOT NULL default '0'"),
        format!("{quote}packetInterval{quote} {short} default NULL"),
        format!("{quote}deadline{quote} {short} default NULL"),
        format!("{quote}ttl{quote} {short} default NULL"),
        format!("PRIMARY KEY  ({quote}metaID{quote})"),
    ];
    if words.further_keys {
        let columns = ["ip_name_src", "ip_name_dst", "packetSize", "count"]
            .map(|column| format!("{quote}{column}{quote}"));
        lines.push(format!("UNIQUE ({})", columns.join(",")));
    }
    table_text(&format!("{quote}metaData{quote}"), &lines)
}

/// Columns of the index that the published MySQL had.
const INDEX_COLUMNS: &str = "(meanRtt,medianRtt,lossPercent,meanIpd,clp)";

fn data_table(words: &Words, dialect: Dialect, table: &str) -> Vec<String> {
    // MySQL's text was published without quotes here.
    let quote = match dialect {
        Dialect::Sqlite => words.quote,
        Dialect::Mysql | Dialect::Postgres => "",
    };
    let [long, time, _, tiny] = words.integers;
    let float = "float default NULL";
    let tiny = format!("{tiny} default NULL");
    let columns = [
        ("metaID", format!("{long} NOT NULL default 0")),
        ("minRtt", float.to_owned()),
        ("meanRtt", float.to_owned()),
        ("medianRtt", float.to_owned()),
        ("maxRtt", float.to_owned()),
        ("timestamp", format!("{time} NOT NULL default 0")),
        ("minIpd", float.to_owned()),
        ("meanIpd", float.to_owned()),
        ("maxIpd", float.to_owned()),
        ("duplicates", tiny.clone()),
        ("outOfOrder", tiny),
        ("clp", float.to_owned()),
        ("iqrIpd", float.to_owned()),
        ("lossPercent", float.to_owned()),
        ("rtts", "text".to_owned()),
        ("seqNums", "text".to_owned()),
    ];
    let mut lines: Vec<String> = columns
        .iter()
        .map(|(name, kind)| format!("{quote}{name}{quote} {kind}"))
        .collect();
    lines.push(format!(
        "PRIMARY KEY  ({quote}metaID{quote},{quote}timestamp{quote})"
    ));
    let name = format!("{quote}{table}{quote}");
    match dialect {
        Dialect::Sqlite => vec![table_text(&name, &lines)],
        Dialect::Mysql => {
            lines.push(format!("KEY meanRtt {INDEX_COLUMNS}"));
            vec![table_text(&name, &lines)]
        }
        Dialect::Postgres => vec![
            table_text(&name, &lines),
            format!("CREATE INDEX {table}_meanRtt ON {table} {INDEX_COLUMNS};"),
        ],
    }
}

fn table_text(name: &str, lines: &[String]) -> String {
    format!("CREATE TABLE {name} (\n  {}\n);", lines.join(",\n  "))
}
