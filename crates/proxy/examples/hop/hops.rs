//! What stands between client and server: processes of their own, each with a port.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::serving;

/// How long a program may take until it listens.
const START_TIME_MAX: Duration = Duration::from_secs(10);

/// A way from client to server.
pub struct Hop {
    pub name: &'static str,
    pub port: u16,
    /// None: there is nothing between them.
    child: Option<Child>,
}

impl Hop {
    pub fn direct(port: u16) -> Self {
        let name = "direct";
        let child = None;
        Self { name, port, child }
    }

    /// This program, which prints its port.
    pub fn of_own(name: &'static str, arguments: &[&str]) -> Self {
        let (child, port) = serving::spawn(arguments);
        let child = Some(child);
        Self { name, port, child }
    }

    /// PgBouncer, which keeps a connection to the server for each of a client. None: it is not
    /// installed.
    pub fn pgbouncer(folder: &Path, upstream: u16) -> Option<Self> {
        let port = free_port();
        let users = folder.join("users.txt");
        std::fs::write(&users, "\"postgres\" \"\"\n").expect("own folder");
        let text = format!(
            "[databases]\n* = host=127.0.0.1 port={upstream}\n[pgbouncer]\n\
             listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = trust\nauth_file = {}\npool_mode = session\n\
             max_client_conn = 200\ndefault_pool_size = 100\n\
             ignore_startup_parameters = extra_float_digits\n\
             log_connections = 0\nlog_disconnections = 0\nlog_stats = 0\n",
            users.display()
        );
        let file = folder.join("pgbouncer.ini");
        std::fs::write(&file, text).expect("own folder");
        let mut command = Command::new("pgbouncer");
        // It does not run as root.
        if nix::unistd::geteuid().is_root() {
            command.args(["-u", "nobody"]);
        }
        Self::of_program("PgBouncer", command.arg("-q").arg(&file), port)
    }

    /// HAProxy, which forwards bytes. None: it is not installed.
    pub fn haproxy(folder: &Path, upstream: u16) -> Option<Self> {
        let port = free_port();
        let text = format!(
            "defaults\n mode tcp\n timeout connect 5s\n timeout client 1h\n timeout server 1h\n\
             listen hop\n bind 127.0.0.1:{port}\n server one 127.0.0.1:{upstream}\n"
        );
        let file = folder.join("haproxy.cfg");
        std::fs::write(&file, text).expect("own folder");
        let mut command = Command::new("haproxy");
        Self::of_program("HAProxy", command.arg("-db").arg("-f").arg(&file), port)
    }

    fn of_program(name: &'static str, command: &mut Command, port: u16) -> Option<Self> {
        let command = command.stdin(Stdio::null()).stdout(Stdio::null());
        let Ok(child) = command.stderr(Stdio::null()).spawn() else {
            println!("{name} is not installed: it is left out");
            return None;
        };
        let child = Some(child);
        let hop = Self { name, port, child };
        let since = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if since.elapsed() > START_TIME_MAX {
                println!("{name} does not start: it is left out");
                return None;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(hop)
    }

    /// The process, if it is one.
    pub fn process(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }
}

impl Drop for Hop {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // It may have ended; then there is nothing to end.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn free_port() -> u16 {
    let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
    socket.local_addr().expect("it is bound").port()
}
