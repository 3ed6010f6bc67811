//! Passes everything on between proxy and server, and keeps what goes to the server.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// What goes to the server.
pub struct Tap {
    pub address: SocketAddr,
    sent: Arc<Mutex<Vec<u8>>>,
}

impl Tap {
    /// Between whoever connects and the server at `port`.
    pub fn start(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let sent = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&sent);
        // Ends with the test's process.
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else {
                    continue;
                };
                let back = (
                    server.try_clone().expect("a second handle"),
                    client.try_clone().expect("a second handle"),
                );
                let kept = Arc::clone(&kept);
                thread::spawn(move || pump(client, server, Some(&kept)));
                thread::spawn(move || pump(back.0, back.1, None));
            }
        });
        Self { address, sent }
    }

    /// All that was sent to the server.
    pub fn sent(&self) -> Vec<u8> {
        self.sent.lock().expect("no panic while it is held").clone()
    }
}

fn pump(mut from: TcpStream, mut to: TcpStream, kept: Option<&Mutex<Vec<u8>>>) {
    let _ = to.set_nodelay(true);
    let mut buffer = [0; 16 * 1024];
    while let Ok(size @ 1..) = from.read(&mut buffer) {
        if let Some(kept) = kept {
            let mut kept = kept.lock().expect("no panic while it is held");
            kept.extend_from_slice(&buffer[..size]);
        }
        if to.write_all(&buffer[..size]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
