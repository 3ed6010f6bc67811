//! The two tables in each dialect.
//!
//! For SQLite and MySQL as published, except that MySQL's names are not quoted, since double quotes
//! would require a setting. PostgreSQL was not among the published engines: its text is that of
//! MySQL without display widths, `tinyint` and keys within the table. A quoted `"metaData"` would
//! be another name there than the `metaData` of the queries.
//!
//! Every dialect has the same number of statements, since answers are compared statement by
//! statement.

use crate::Dialect;

/// The parts of the text that differ between dialects.
struct Words {
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
                quote: "\"",
                integers: published,
                further_keys: false,
            },
            Dialect::Mysql => Self {
                quote: "",
                integers: published,
                further_keys: true,
            },
            Dialect::Postgres => Self {
                quote: "",
                integers: ["bigint", "bigint", "smallint", "smallint"],
                further_keys: true,
            },
        }
    }
}

/// The statements that create the tables.
pub(super) fn statements(dialect: Dialect, data_tables: &[&str]) -> Vec<String> {
    let words = Words::of(dialect);
    let quote = words.quote;
    let pairs = format!("{quote}metaData{quote}");
    let mut tables = vec![pairs_table(&words)];
    for &table in data_tables {
        tables.extend(data_table(&words, dialect, table));
    }
    let names: Vec<&str> = std::iter::once(pairs.as_str())
        .chain(data_tables.iter().copied())
        .collect();
    let drops = match dialect {
        // A single statement, since the indexes are separate statements.
        Dialect::Postgres => vec![format!("DROP TABLE IF EXISTS {};", names.join(", "))],
        Dialect::Sqlite | Dialect::Mysql => names
            .iter()
            .map(|name| format!("DROP TABLE IF EXISTS {name};"))
            .collect(),
    };
    drops.into_iter().chain(tables).collect()
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
