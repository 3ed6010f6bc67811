//! The C functions, called as a program would, before a real server.
#![expect(unsafe_code, reason = "the functions of a C library are called")]

use std::ffi::{CStr, CString, c_char};
use std::io::{Read, Write};
use std::os::fd::FromRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use postgres::{Client, Config, NoTls};
use server_testkit::Postgres;
use strongroom_client::{
    strongroom_client_abi_version, strongroom_client_close, strongroom_client_connect,
    strongroom_client_listen, strongroom_client_open,
};

const RULES: &str = "[columns.person]\nid = { type = \"integer\", mode = \"equality\" }\n\
                     name = { type = \"text\" }\n";

/// The codes of the header, by their names.
fn code(name: &str) -> i32 {
    let header = include_str!("../include/strongroom_client.h");
    let start = format!("#define STRONGROOM_CLIENT_{name} ");
    let line = header.lines().find_map(|line| line.strip_prefix(&start));
    let value = line.unwrap_or_else(|| panic!("the header has no {name}"));
    value.parse().expect("a number")
}

/// What a call answers, and what it wrote.
fn said(call: impl FnOnce(*mut c_char, usize) -> i32) -> (i32, String) {
    let mut message = [0_u8; 512];
    let code = call(message.as_mut_ptr().cast(), message.len());
    let text = CStr::from_bytes_until_nul(&message).expect("it ends");
    (code, text.to_str().expect("it is UTF-8").to_owned())
}

fn open(configuration: &Path, server: Option<&str>) -> Result<u64, (i32, String)> {
    let configuration = CString::new(configuration.to_str().expect("UTF-8")).expect("no zero");
    let server = server.map(|text| CString::new(text).expect("no zero"));
    let server = server.as_ref();
    let mut client = 0;
    let answer = said(|message, size| {
        // SAFETY: texts that end, a number, and room of that size.
        unsafe {
            strongroom_client_open(
                configuration.as_ptr(),
                server.map_or(std::ptr::null(), |text| text.as_ptr()),
                &raw mut client,
                message,
                size,
            )
        }
    });
    match answer.0 {
        0 => Ok(client),
        _ => Err(answer),
    }
}

fn connect(client: u64) -> Result<UnixStream, (i32, String)> {
    let mut descriptor = -1;
    let answer = said(|message, size| {
        // SAFETY: a number, and room of that size.
        unsafe { strongroom_client_connect(client, &raw mut descriptor, message, size) }
    });
    match answer.0 {
        // SAFETY: the descriptor is ours.
        0 => Ok(unsafe { UnixStream::from_raw_fd(descriptor) }),
        _ => Err(answer),
    }
}

fn listen(client: u64, size: usize) -> Result<PathBuf, (i32, String)> {
    let mut folder = vec![0_u8; size];
    let answer = said(|message, message_size| {
        let place = folder.as_mut_ptr().cast();
        // SAFETY: room of these sizes.
        unsafe { strongroom_client_listen(client, place, size, message, message_size) }
    });
    match answer.0 {
        0 => {
            let path = CStr::from_bytes_until_nul(&folder).expect("it ends");
            Ok(path.to_str().expect("UTF-8").into())
        }
        _ => Err(answer),
    }
}

fn close(client: u64) -> i32 {
    // SAFETY: null is allowed.
    unsafe { strongroom_client_close(client, std::ptr::null_mut(), 0) }
}

/// A configuration in a folder of its own.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new(more: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("columns.key"), [0x5a; 32]).expect("own folder");
        let text = format!("{more}\n[keys]\nfile = \"columns.key\"\n{RULES}");
        std::fs::write(folder.path().join("strongroom.toml"), text).expect("own folder");
        Self { folder }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("strongroom.toml")
    }
}

/// Waits until this process has threads of the library, or none. A thread gives itself its name,
/// and the system lists one for a moment after it was waited for.
fn until_threads(are_there: bool) {
    while (threads() > 0) != are_there {
        std::thread::yield_now();
    }
}

fn threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux");
    let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm"));
    let names = tasks.filter_map(|task| name(task.ok()?).ok());
    names.filter(|name| name.starts_with("strongroom")).count()
}

/// Sends a first packet, and reads the answers until a message of this kind.
fn begin(socket: &mut UnixStream, until: u8) -> Vec<u8> {
    let packet = b"\0\0\0\x17\0\x03\0\0user\0postgres\0\0";
    socket.write_all(packet).expect("it takes bytes");
    let mut messages = Vec::new();
    loop {
        let mut head = [0; 5];
        socket.read_exact(&mut head).expect("a message");
        let size = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let mut body = vec![0; size - 4];
        socket.read_exact(&mut body).expect("its body");
        messages.extend_from_slice(&body);
        if head[0] == until {
            return messages;
        }
    }
}

/// One test: it counts the threads of the process.
#[test]
fn a_program_opens_connects_listens_and_closes() {
    if !server_testkit::is_installed() {
        return;
    }
    let server = Postgres::start();
    let place = Place::new(&format!(
        "[proxy]\nlisten = \"127.0.0.1:0\"\nupstream = \"127.0.0.1:{}\"\nmax_connections = 3",
        server.port()
    ));
    let client = open(&place.file(), None).expect("opened");
    assert!(client > 0);
    until_threads(true);

    // By a descriptor: `Z` says that the server is ready.
    let mut socket = connect(client).expect("a descriptor");
    begin(&mut socket, b'Z');
    assert_eq!(listen(client, 8).expect_err("no room").0, code("ARGUMENT"));
    let folder = listen(client, 128).expect("a folder");
    assert_eq!(listen(client, 128), Ok(folder.clone()));
    assert_private(&folder);
    let mut driver = by_socket(&folder);
    driver
        .batch_execute("CREATE TABLE person (id integer PRIMARY KEY, name text)")
        .expect("created");
    let row: (i32, &str) = (1, "CANARYname");
    let insert = "INSERT INTO person VALUES ($1, $2)";
    driver.execute(insert, &[&row.0, &row.1]).expect("inserted");
    let read = driver.query_one("SELECT name FROM person WHERE id = $1", &[&1]);
    assert_eq!(read.expect("a row").get::<_, &str>(0), row.1);
    let raw = server.run("psql", &["-XAtqc", "SELECT pg_typeof(name) FROM person"]);
    assert_eq!(String::from_utf8_lossy(&raw.stdout).trim(), "bytea");
    assert_no_stranger(&server, &folder);
    assert_many_are_refused(client, &folder);

    // What is open ends with the client, and so do its threads and its folder.
    assert_eq!(close(client), code("OK"));
    until_threads(false);
    assert!(!folder.exists());
    assert!(driver.query("SELECT 1", &[]).is_err());
    assert_eq!(socket.read(&mut [0; 1]).unwrap_or(0), 0);
    assert_eq!(close(client), code("UNKNOWN"));
    assert_eq!(connect(client).expect_err("closed").0, code("UNKNOWN"));

    // Where the server is may be said by the caller.
    let place = Place::new("");
    let here = format!("host=127.0.0.1 port={}", server.port());
    let client = open(&place.file(), Some(&here)).expect("opened");
    let folder = listen(client, 128).expect("a folder");
    let mut driver = by_socket(&folder);
    let read = driver.query_one("SELECT name FROM person WHERE id = $1", &[&1]);
    assert_eq!(read.expect("a row").get::<_, &str>(0), row.1);
    assert_eq!(close(client), code("OK"));
    until_threads(false);
}

fn by_socket(folder: &Path) -> Client {
    let mut config = Config::new();
    config.host_path(folder).user("postgres");
    config.connect(NoTls).expect("this process is let in")
}

fn assert_private(folder: &Path) {
    let mode = |path: &Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(folder), 0o700);
    assert_eq!(mode(&folder.join(".s.PGSQL.5432")), 0o600);
    let own = std::fs::metadata("/proc/self").expect("Linux").uid();
    assert_eq!(std::fs::metadata(folder).expect("there").uid(), own);
}

/// Another process of the same user may not use the socket.
fn assert_no_stranger(server: &Postgres, folder: &Path) {
    let psql = server.program(5432, "psql").get_program().to_owned();
    let said = Command::new(psql)
        .args(["-XAtqc", "SELECT 1", "-U", "postgres", "-h"])
        .arg(folder)
        .output()
        .expect("psql runs");
    assert!(!said.status.success());
    let text = String::from_utf8_lossy(&said.stderr);
    assert!(text.contains("for connections of the process"), "{text}");
}

/// Two are open of three.
fn assert_many_are_refused(client: u64, folder: &Path) {
    let mut third = connect(client).expect("one more");
    begin(&mut third, b'Z');
    let (code_of_fourth, text) = connect(client).expect_err("there are three");
    assert_eq!(code_of_fourth, code("TOO_MANY"));
    assert!(text.contains("max_connections"), "{text}");
    let mut config = Config::new();
    config.host_path(folder).user("postgres");
    let refused = config.connect(NoTls).err().expect("there are three");
    let many = &postgres::error::SqlState::TOO_MANY_CONNECTIONS;
    assert_eq!(refused.code(), Some(many));
    drop(third);
    // Its place is free once the library has seen it go.
    while connect(client).is_err() {}
}

#[test]
fn what_cannot_be_opened_is_told() {
    assert_eq!(strongroom_client_abi_version(), 1);
    assert_eq!(code("ABI_VERSION"), 1);
    let missing = Path::new("/nowhere/strongroom.toml");
    let (refused, text) = open(missing, None).expect_err("no file");
    assert_eq!(refused, code("CONFIGURATION"));
    assert!(text.contains("/nowhere/strongroom.toml"), "{text}");

    let place = Place::new("");
    for (server, part) in [
        (None, "there is no server"),
        (Some("host=a,b"), "one host"),
        (Some("host=a user=ann"), "leave out user"),
        (Some("nonsense"), "cannot be read"),
    ] {
        let (refused, text) = open(&place.file(), server).expect_err("no server");
        assert_eq!(refused, code("CONFIGURATION"), "{server:?}");
        assert!(text.contains(part), "{server:?}: {text}");
    }
    let mysql = Place::new(
        "[proxy]\nprotocol = \"mysql\"\nlisten = \"127.0.0.1:0\"\nupstream = \"127.0.0.1:1\"",
    );
    let (_, text) = open(&mysql.file(), None).expect_err("another protocol");
    assert!(text.contains("PostgreSQL alone"), "{text}");
    std::fs::remove_file(place.folder.path().join("columns.key")).expect("own folder");
    let (refused, text) = open(&place.file(), Some("host=a")).expect_err("no key");
    assert_eq!(refused, code("CONFIGURATION"));
    assert!(text.contains("columns.key"), "{text}");
}

#[test]
fn arguments_are_looked_at() {
    let null = std::ptr::null();
    let (mut client, mut descriptor, mut message) = (7_u64, 7_i32, [0 as c_char; 64]);
    let (text, size) = (message.as_mut_ptr(), message.len());
    let latin = c"\xe9".as_ptr();
    let name = c"/nowhere".as_ptr();
    let none = std::ptr::null_mut();
    // SAFETY: null is looked for; texts end; there is room of that size.
    unsafe {
        for answer in [
            strongroom_client_open(null, null, &raw mut client, text, size),
            strongroom_client_open(latin, null, &raw mut client, text, size),
            strongroom_client_open(name, latin, &raw mut client, text, size),
            strongroom_client_open(name, null, std::ptr::null_mut(), text, size),
            strongroom_client_connect(1, std::ptr::null_mut(), none, 0),
            strongroom_client_listen(1, none, 100, text, 0),
        ] {
            assert_eq!(answer, code("ARGUMENT"));
        }
        assert_eq!(client, 7);
        for number in [0, u64::MAX] {
            let answer = strongroom_client_connect(number, &raw mut descriptor, none, 0);
            assert_eq!(answer, code("UNKNOWN"));
            assert_eq!(descriptor, 7);
        }
    }
}
