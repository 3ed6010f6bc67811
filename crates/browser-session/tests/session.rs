//! The server's bounds over real sockets, and a page in each real browser.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use browser_session::{AskError, Browser, Program, Running, Session};

const PATIENCE: Duration = Duration::from_secs(60);

/// Host and port, and the path of the page.
fn place(session: &Session) -> (String, String) {
    let url = session.url();
    let rest = url.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    (host.to_owned(), format!("/{path}"))
}

/// Sends one request and returns the whole response.
fn exchange(host: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = Vec::new();
    let mut byte = [0u8; 4096];
    loop {
        let count = stream.read(&mut byte).unwrap();
        text.extend_from_slice(&byte[..count]);
        let seen = String::from_utf8_lossy(&text).into_owned();
        if count == 0 || is_whole(&seen) {
            return seen;
        }
    }
}

fn is_whole(text: &str) -> bool {
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "));
    length.map_or(0, |length| length.parse().unwrap()) <= body.len()
}

#[test]
fn work_goes_to_the_page_and_its_answer_comes_back() {
    let mut session = Session::start(Box::new(|_| None)).unwrap();
    let (host, path) = place(&session);
    let page = thread::spawn(move || {
        let work = exchange(&host, &format!("GET {path}work HTTP/1.1\r\n\r\n"));
        assert!(
            work.contains("X-Work: 1\r\n") && work.ends_with("question"),
            "{work}"
        );
        // Neither a wrong number nor a second answer is accepted.
        for (number, status) in [(7, "409"), (1, "204"), (1, "409")] {
            let request =
                format!("POST {path}answer?{number} HTTP/1.1\r\nContent-Length: 6\r\n\r\nanswer");
            let response = exchange(&host, &request);
            assert!(
                response.starts_with(&format!("HTTP/1.1 {status}")),
                "{response}"
            );
        }
    });
    let answer = session
        .ask(b"question".to_vec(), PATIENCE, &|| true)
        .unwrap();
    assert_eq!(answer, b"answer");
    page.join().unwrap();
}

#[test]
fn nothing_is_found_without_the_drawn_word_or_outside_the_folder() {
    let files = |name: &str| (name == "a.mjs").then(|| b"text".to_vec());
    let session = Session::start(Box::new(files)).unwrap();
    let (host, path) = place(&session);
    let status = |target: &str| {
        let response = exchange(&host, &format!("GET {target} HTTP/1.1\r\n\r\n"));
        response.split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(status(&format!("{path}a.mjs?x")), "200");
    for target in [
        "/a.mjs",
        "/work",
        "/",
        &format!("{path}../a.mjs"),
        &format!("{path}b.mjs"),
    ] {
        assert_eq!(status(target), "404", "{target}");
    }
    let response = exchange(&host, &format!("POST {path}a.mjs HTTP/1.1\r\n\r\n"));
    assert!(response.starts_with("HTTP/1.1 405"), "{response}");
    let huge = format!("POST {path}answer?1 HTTP/1.1\r\nContent-Length: 300000000\r\n\r\n");
    assert!(exchange(&host, &huge).starts_with("HTTP/1.1 413"));
}

#[test]
fn connections_beyond_the_limit_are_closed_and_others_are_served() {
    let session = Session::start(Box::new(|_| Some(b"text".to_vec()))).unwrap();
    let (host, path) = place(&session);
    let mut open: Vec<TcpStream> = (0..32)
        .map(|_| TcpStream::connect(&host).unwrap())
        .collect();
    // If the last one is served, all before it were accepted.
    let mut last = open.pop().unwrap();
    let request = format!("GET {path}a HTTP/1.1\r\n\r\n");
    last.write_all(request.as_bytes()).unwrap();
    let mut byte = [0u8; 1];
    assert_eq!(last.read(&mut byte).unwrap(), 1);
    let mut further = TcpStream::connect(&host).unwrap();
    further.set_read_timeout(Some(PATIENCE)).unwrap();
    // Closed, either cleanly or with a reset if data was pending.
    assert!(matches!(further.read(&mut byte), Ok(0) | Err(_)));
    drop(open);
    drop(last);
    for _ in 0..100 {
        thread::sleep(Duration::from_millis(20));
        let mut stream = TcpStream::connect(&host).unwrap();
        let sent = stream.write_all(request.as_bytes());
        if sent.is_ok() && matches!(stream.read(&mut byte), Ok(1)) {
            return;
        }
    }
    panic!("no connection is served after others have ended");
}

#[test]
fn a_page_that_does_not_answer_is_given_up() {
    let mut session = Session::start(Box::new(|_| None)).unwrap();
    let (host, path) = place(&session);
    let fault = format!("POST {path}said HTTP/1.1\r\nContent-Length: 9\r\n\r\nno module");
    assert!(exchange(&host, &fault).starts_with("HTTP/1.1 204"));
    let gone = session.ask(b"x".to_vec(), PATIENCE, &|| false);
    let message = gone.unwrap_err().to_string();
    assert!(
        message.contains("browser ended") && message.contains("no module"),
        "{message}"
    );
    let late = session.ask(b"x".to_vec(), Duration::from_millis(1), &|| true);
    assert!(matches!(late, Err(AskError::TooLong { .. })));
}

/// A page that counts the work it receives, and reports the resolution of its clock.
const PAGE: &str = r"<!doctype html><meta charset=utf-8><script type=module>
for (;;) {
  const response = await fetch('work');
  if (response.status === 204) continue;
  const work = await response.text();
  const answer = [work.length, crossOriginIsolated, isSecureContext, typeof Worker].join();
  await fetch('answer?' + response.headers.get('x-work'), { method: 'POST', body: answer });
}
</script>";

#[test]
fn a_page_works_in_every_browser_that_is_there() {
    let mut seen = 0;
    for browser in [Browser::Chromium, Browser::Firefox, Browser::QtChromium] {
        let Some(program) = Program::find(browser) else {
            println!("left out: {}", browser.name());
            continue;
        };
        seen += 1;
        let folder = tempfile::tempdir().unwrap();
        let files = |name: &str| (name == "index.html").then(|| PAGE.as_bytes().to_vec());
        let mut session = Session::start(Box::new(files)).unwrap();
        let running = Running::start(&program, folder.path(), &session.url()).unwrap();
        for size in [1usize, 3_000_000] {
            let answer = session.ask(vec![b'x'; size], PATIENCE, &|| running.is_alive());
            let answer = answer.unwrap_or_else(|error| {
                panic!("{}: {error}: {}", browser.name(), running.last_words())
            });
            let answer = String::from_utf8(answer).unwrap();
            assert_eq!(
                answer,
                format!("{size},true,true,function"),
                "{}",
                browser.name()
            );
        }
        running.end();
        assert!(!running.is_alive());
        let ended = session.ask(b"x".to_vec(), PATIENCE, &|| running.is_alive());
        assert!(matches!(ended, Err(AskError::Ended { .. })));
    }
    assert!(
        seen > 0,
        "no browser: `apt-get install -y chromium`, or set STRONGROOM_CHROMIUM"
    );
}
