//! Somebody in the server's place, who does not know the verifier of a user that the file of
//! logins has: he learns no password, and the client is not let in.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use postgres::{Client, Config, NoTls};

/// The example of RFC 7677, section 3, in the form of PostgreSQL.
const PASSWORD: &str = "pencil";
const VERIFIER: &str = "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$\
                        WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:\
                        wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=";

const OK: (u8, &[u8]) = (b'R', &[0, 0, 0, 0]);
const READY: (u8, &[u8]) = (b'Z', b"I");
const NOTICE: (u8, &[u8]) = (b'N', b"SNOTICE\0C00000\0Mhello\0\0");
const ERROR: (u8, &[u8]) = (b'E', b"SFATAL\0VFATAL\0C28000\0Mno\0\0");
const PLAIN: (u8, &[u8]) = (b'R', &[0, 0, 0, 3]);
const MD5: (u8, &[u8]) = (b'R', &[0, 0, 0, 5, 1, 2, 3, 4]);
const SCRAM: (u8, &[u8]) = (b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0");
const ONLY_BOUND: (u8, &[u8]) = (b'R', b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0\0");
const WRONG_SIGNATURE: (u8, &[u8]) = (
    b'R',
    b"\0\0\0\x0cv=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
);

fn write(to: &mut TcpStream, messages: &[(u8, &[u8])]) {
    let mut bytes = Vec::new();
    for (kind, body) in messages {
        bytes.push(*kind);
        let size = u32::try_from(body.len() + 4).expect("short");
        bytes.extend_from_slice(&size.to_be_bytes());
        bytes.extend_from_slice(body);
    }
    // The proxy may be gone, which is right.
    let _ = to.write_all(&bytes);
}

/// What the false server says: in place of an offer, of a challenge, and of its signature. Where it
/// is silent it does what a server would.
#[derive(Clone, Copy, Debug, Default)]
struct Script {
    offer: &'static [(u8, &'static [u8])],
    challenge: &'static [(u8, &'static [u8])],
    signature: &'static [(u8, &'static [u8])],
}

/// Plays the script for one connection; gives all that it was sent behind the startup packet.
fn play(listener: TcpListener, script: Script) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let (mut proxy, _) = listener.accept().expect("the proxy comes");
        let wait = Some(Duration::from_secs(10));
        proxy.set_read_timeout(wait).expect("a time");
        let mut sent = Vec::new();
        let mut read = |proxy: &mut TcpStream| {
            let mut part = vec![0; 4096];
            let size = proxy.read(&mut part).unwrap_or(0);
            part.truncate(size);
            sent.extend_from_slice(&part);
            part
        };
        let startup = read(&mut proxy);
        assert!(!startup.is_empty());
        write(
            &mut proxy,
            if script.offer.is_empty() {
                &[SCRAM]
            } else {
                script.offer
            },
        );
        if script.offer.is_empty() {
            let first = read(&mut proxy);
            let first = String::from_utf8_lossy(&first).into_owned();
            let (_, nonce) = first.split_once("r=").expect("a nonce");
            let challenge = format!("\0\0\0\x0br={nonce}more,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096");
            match script.challenge {
                [] => write(&mut proxy, &[(b'R', challenge.as_bytes())]),
                said => write(&mut proxy, said),
            }
            if script.challenge.is_empty() {
                read(&mut proxy);
                write(&mut proxy, script.signature);
            }
        }
        while !read(&mut proxy).is_empty() {}
        sent
    })
}

#[test]
fn a_server_that_does_not_know_the_verifier_learns_nothing_and_lets_nobody_in() {
    let offer = |offer| Script {
        offer,
        ..Script::default()
    };
    let challenge = |challenge| Script {
        challenge,
        ..Script::default()
    };
    let signature = |signature| Script {
        signature,
        ..Script::default()
    };
    for script in [
        offer(&[PLAIN]),
        offer(&[NOTICE, PLAIN]),
        offer(&[MD5]),
        offer(&[OK, READY]),
        offer(&[NOTICE, OK, READY]),
        offer(&[READY]),
        offer(&[ONLY_BOUND]),
        offer(&[ERROR, OK, READY]),
        challenge(&[ERROR, OK, READY]),
        signature(&[ERROR, OK, READY]),
        challenge(&[PLAIN]),
        challenge(&[OK, READY]),
        challenge(&[NOTICE, OK, READY]),
        challenge(&[WRONG_SIGNATURE, OK, READY]),
        signature(&[OK, READY]),
        signature(&[NOTICE, OK, READY]),
        signature(&[PLAIN]),
        signature(&[WRONG_SIGNATURE, OK, READY]),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let upstream = listener.local_addr().expect("it is bound").to_string();
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(
            folder.path().join("logins.tsv"),
            format!("ann\t{VERIFIER}\n"),
        )
        .expect("a file in the own folder");
        let more = "logins = \"logins.tsv\"\n";
        let proxy = crate::common::proxy(&folder, &upstream, "", more);
        let server = play(listener, script);
        let result = Config::new()
            .host("127.0.0.1")
            .port(proxy.address.port())
            .user("ann")
            .password(PASSWORD)
            .dbname("postgres")
            .connect(NoTls);
        let error = result.map(|_: Client| ()).expect_err("nobody is let in");
        let code = error.code().map(|code| code.code());
        assert_eq!(code, Some("28000"), "{script:?}: {error}");
        drop(proxy);
        let sent = server.join().expect("it plays to its end");
        let has = |word: &str| sent.windows(word.len()).any(|part| part == word.as_bytes());
        assert!(!has(PASSWORD) && !has("md5"), "{script:?}");
    }
}
