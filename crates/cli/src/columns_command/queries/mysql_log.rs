//! Reads the logs of MySQL and MariaDB: the general log, and the slow log.
//!
//! Of the general log, texts are taken as they were sent (`Query`), or prepared (`Prepare`): what
//! is logged of an execution has its values written out.

/// What the servers write before the first entry.
const HEADER: &str = "started with:";
/// The line with the names of the columns of a general log.
const COLUMNS: [&str; 4] = ["Time", "Id", "Command", "Argument"];
/// What begins a line of the slow log that is no statement.
const MARK: char = '#';

/// Whether a file is a log of these servers.
pub(super) fn is_log(text: &str) -> bool {
    is_general(text) || is_slow(text)
}

/// The statements of a log.
pub(super) fn statements(text: &str) -> Vec<String> {
    match is_slow(text) {
        true => of_slow(text),
        false => of_general(text),
    }
}

/// Whether one of the first lines has this.
fn begins_with(text: &str, is_sought: impl Fn(&str) -> bool) -> bool {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.take(5).any(is_sought)
}

fn is_general(text: &str) -> bool {
    let is_columns = |line: &str| line.split_whitespace().eq(COLUMNS);
    begins_with(text, is_columns)
        || begins_with(text, |line| line.ends_with(HEADER)) && !is_slow(text)
        || text
            .lines()
            .next()
            .is_some_and(|first| entry(first).is_some())
}

fn is_slow(text: &str) -> bool {
    let is_head = |line: &str| {
        let words = [
            "# Time: ",
            "# User@Host: ",
            "# Query_time: ",
            "# Thread_id: ",
        ];
        words.iter().any(|word| line.starts_with(word))
    };
    text.lines().take(20).any(is_head)
}

/// The command of a line that begins an entry of the general log, and what follows it: behind the
/// time, if it has one, and the number of the connection.
fn entry(line: &str) -> Option<(&str, &str)> {
    // A statement may have tabs itself.
    let mut tabs = line.match_indices('\t');
    tabs.find_map(|(at, _)| {
        let before = &line[..at];
        let command = before.rsplit(' ').next().unwrap_or_default();
        is_head(before).then(|| (command, &line[at + 1..]))
    })
}

/// Whether this is a time or none, a number and the name of a command.
fn is_head(before: &str) -> bool {
    let mut words = before.split_whitespace().rev();
    let is_command = words.next().is_some_and(|word| {
        let is_letter = |letter: char| letter.is_ascii_alphabetic();
        word.starts_with(|letter: char| letter.is_ascii_uppercase()) && word.chars().all(is_letter)
    });
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let is_numbered = words.next().is_some_and(is_number);
    let is_time = words.all(|word| word.bytes().all(|byte| b"0123456789:-.TZ+".contains(&byte)));
    is_command && is_numbered && is_time
}

fn of_general(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut current: Option<String> = None;
    for line in text.lines() {
        let two = [
            "Close stmt",
            "Init DB",
            "Long Data",
            "Reset stmt",
            "Field List",
        ];
        let is_other = two.iter().any(|own| line.contains(&format!(" {own}\t")));
        match entry(line) {
            Some((command, statement)) => {
                found.extend(current.take());
                current = matches!(command, "Query" | "Prepare").then(|| statement.to_owned());
            }
            None if is_other || line.ends_with(HEADER) => found.extend(current.take()),
            None => {
                if let Some(current) = &mut current {
                    current.push('\n');
                    current.push_str(line);
                }
            }
        }
    }
    found.extend(current);
    found
}

fn of_slow(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    // Whether the next line goes on with the last statement.
    let mut goes_on = false;
    let mut is_begun = false;
    for line in text.lines() {
        let lower = line.to_ascii_lowercase();
        if line.starts_with(MARK) {
            (goes_on, is_begun) = (false, true);
        } else if !is_begun || (!goes_on && is_of_log(&lower)) {
            // What the server writes before the first entry, or before a statement.
        } else if goes_on && let Some(last) = found.last_mut() {
            last.push('\n');
            last.push_str(line);
        } else if !line.trim().is_empty() {
            found.push(line.to_owned());
            goes_on = true;
        }
    }
    let ends = |text: String| text.trim_end().trim_end_matches(';').to_owned();
    found.into_iter().map(ends).collect()
}

/// What the slow log has before a statement.
fn is_of_log(line: &str) -> bool {
    (line.starts_with("set timestamp=") || line.starts_with("use ")) && line.ends_with(';')
}

#[cfg(test)]
mod tests {
    use super::{is_log, statements};

    #[test]
    fn statements_of_a_general_log_are_found() {
        let mariadb = "/usr/sbin/mariadbd, Version: 10.11.6-MariaDB-log. started with:\n\
             Tcp port: 3306  Unix socket: /run/mysqld.sock\n\
             Time\t\t    Id Command\tArgument\n\
             261127 10:00:00\t     3 Connect\troot@localhost on shop using Socket\n\
             \t\t     3 Query\tSELECT a\n\
             \tFROM t\n\
             \n\
             WHERE b = 'x'\n\
             261127 10:00:01\t     3 Prepare\tSELECT 1 FROM t WHERE c = ?\n\
             \t\t     3 Execute\tSELECT 1 FROM t WHERE c = 5\n\
             \t\t     3 Close stmt\t\n\
             \t\t     3 Init DB\tshop\n\
             \t\t    14 Query\tSELECT\t2\n\
             \t\t     3 Quit\t\n";
        let mysql = "/usr/sbin/mysqld, Version: 8.0.15 (MySQL Community Server - GPL). started \
             with:\n\
             Tcp port: 3306  Unix socket: /tmp/mysql.sock\n\
             Time                 Id Command    Argument\n\
             2026-11-27T10:00:00.123456Z\t    8 Connect\troot@localhost on shop\n\
             2026-11-27T10:00:00.200000Z\t    8 Query\tSELECT a\n\
             \tFROM t\n\
             \n\
             WHERE b = 'x'\n\
             2026-11-27T10:00:01.000000Z\t    8 Prepare\tSELECT 1 FROM t WHERE c = ?\n\
             2026-11-27T10:00:01.000000Z\t    8 Execute\tSELECT 1 FROM t WHERE c = 5\n\
             2026-11-27T10:00:01.000000Z\t    8 Close stmt\t\n\
             2026-11-27T10:00:02.000000Z\t    9 Query\tSELECT\t2\n";
        for log in [mariadb, mysql] {
            assert!(is_log(log));
            assert_eq!(
                statements(log),
                [
                    "SELECT a\n\tFROM t\n\nWHERE b = 'x'",
                    "SELECT 1 FROM t WHERE c = ?",
                    "SELECT\t2"
                ]
            );
        }
    }

    #[test]
    fn statements_of_a_slow_log_are_found() {
        let log = "/usr/sbin/mariadbd, Version: 10.11.6-MariaDB-log. started with:\n\
             Tcp port: 3306  Unix socket: /run/mysqld.sock\n\
             Time\t\t    Id Command\tArgument\n\
             # Time: 261127 10:00:00\n\
             # User@Host: root[root] @ localhost []\n\
             # Thread_id: 3  Schema: shop  QC_hit: No\n\
             # Query_time: 0.000200  Lock_time: 0.000100  Rows_sent: 1  Rows_examined: 1\n\
             use shop;\n\
             SET timestamp=1795000000;\n\
             SELECT a FROM t\n\
             WHERE b = '\n\
             use x;';\n\
             # User@Host: root[root] @ localhost []\n\
             # Query_time: 0.000200  Lock_time: 0.000100  Rows_sent: 1  Rows_examined: 1\n\
             SET timestamp=1795000001;\n\
             # administrator command: Quit;\n\
             # User@Host: root[root] @ localhost []\n\
             SET timestamp=1795000002;\n\
             DELETE FROM t;\n";
        assert!(is_log(log));
        assert_eq!(
            statements(log),
            ["SELECT a FROM t\nWHERE b = '\nuse x;'", "DELETE FROM t"]
        );
    }

    #[test]
    fn other_texts_are_no_log() {
        for text in [
            "SELECT 1",
            "-- Time: Id Command\nSELECT 1",
            "# of all\nSELECT 2 FROM t",
            "INSERT INTO t VALUES (3, 'Query')",
            "",
        ] {
            assert!(!is_log(text), "{text}");
        }
    }
}
