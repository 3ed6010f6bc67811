//! A client with rusqlite. `../../README.md` says what it must do.

use std::io::{self, BufRead};
use std::path::Path;

use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, LoadExtensionGuard, OpenFlags};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Once loaded on any connection, the extension stays for the whole process.
fn load_extension() -> Outcome {
    let any = Connection::open_in_memory()?;
    let extension = std::env::var("STRONGROOM_EXTENSION")?;
    // SAFETY: the library is Strongroom's, and runs no SQL from elsewhere.
    unsafe {
        let _guard = LoadExtensionGuard::new(&any)?;
        any.load_extension(extension, None::<&str>)?;
    }
    Ok(())
}

fn escaped(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}

fn open(file: &str, key_file: Option<&str>) -> rusqlite::Result<Connection> {
    let mut uri = format!("file:{}", escaped(file));
    if let Some(key_file) = key_file {
        uri += &format!("?key_file={}", escaped(key_file));
    }
    Connection::open_with_flags_and_vfs(uri, OpenFlags::default(), "strongroom")
}

fn from_text(kind: &str, value: &str) -> Outcome<Value> {
    Ok(match kind {
        "null" => Value::Null,
        "integer" => Value::Integer(value.parse()?),
        "real" => Value::Real(value.parse()?),
        "text" => Value::Text(value.to_owned()),
        _ => Value::Blob(
            (0..value.len())
                .step_by(2)
                .map(|start| u8::from_str_radix(&value[start..start + 2], 16))
                .collect::<Result<_, _>>()?,
        ),
    })
}

fn write(connection: &mut Connection) -> Outcome {
    let schema = std::fs::read_to_string(Path::new(&std::env::var("STRONGROOM_SCHEMA")?))?;
    connection.execute_batch(&schema)?;
    let transaction = connection.transaction()?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let mut fields = line.splitn(3, ' ');
        let mut field = || fields.next().unwrap_or_default();
        let (number, kind, value) = (field(), field(), field());
        let insert = "INSERT INTO rows VALUES(?, ?)";
        transaction.execute(insert, (number, from_text(kind, value)?))?;
    }
    Ok(transaction.commit()?)
}

fn as_text(value: ValueRef) -> Outcome<String> {
    Ok(match value {
        ValueRef::Null => "null".to_owned(),
        ValueRef::Integer(value) => format!("integer {value}"),
        ValueRef::Real(value) => format!("real {value}"),
        ValueRef::Text(bytes) => format!("text {}", str::from_utf8(bytes)?),
        ValueRef::Blob(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("blob {digits}")
        }
    })
}

fn read(connection: &Connection) -> Outcome {
    let mut select = connection.prepare("SELECT id, value FROM rows ORDER BY id")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        println!("{} {}", row.get::<_, i64>(0)?, as_text(row.get_ref(1)?)?);
    }
    Ok(())
}

fn write_ahead_log(file: &str, key_file: Option<&str>) -> Outcome {
    let ask = |connection: &Connection, sql: &str| {
        connection.query_row(sql, [], |row| Ok(as_text(row.get_ref(0)?)))?
    };
    let count = "SELECT count(*) FROM log";
    let one = open(file, key_file)?;
    let mut seen = vec![ask(&one, "PRAGMA journal_mode=WAL")?];
    one.execute_batch("CREATE TABLE log(n); INSERT INTO log VALUES(1)")?;
    let two = open(file, key_file)?;
    seen.push(ask(&two, count)?);
    one.execute_batch("BEGIN; INSERT INTO log VALUES(2)")?;
    seen.push(ask(&two, count)?);
    one.execute_batch("COMMIT")?;
    seen.push(ask(&two, count)?);
    two.execute_batch("INSERT INTO log VALUES(3)")?;
    seen.push(ask(&one, count)?);
    let values: Vec<&str> = seen
        .iter()
        .filter_map(|answer| answer.split(' ').next_back())
        .collect();
    println!("{}", values.join(" "));
    Ok(())
}

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (operation, file) = (arguments[0].as_str(), arguments[1].as_str());
    let key_file = arguments.get(2).map(String::as_str);
    load_extension()?;
    match operation {
        "wal" => write_ahead_log(file, key_file),
        "write" => write(&mut open(file, key_file)?),
        _ => read(&open(file, key_file)?),
    }
}
