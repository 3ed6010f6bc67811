//! The least that a hop in a process of its own can cost: one thread that waits with epoll, and
//! writes to one side what it reads from the other. It knows nothing of the protocol.

use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

const BUFFER_SIZE: usize = 64 << 10;

/// Forwards to a port of this machine, and prints the own one.
pub fn until_killed(upstream: u16) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    println!("{}", listener.local_addr().expect("it is bound").port());
    let epoll = Epoll::new(EpollCreateFlags::empty()).expect("epoll");
    let watch = |socket: &TcpStream| {
        let event = EpollEvent::new(EpollFlags::EPOLLIN, number_of(socket));
        epoll.add(socket, event).expect("watched");
    };
    let listening = number_of(&listener);
    let event = EpollEvent::new(EpollFlags::EPOLLIN, listening);
    epoll.add(&listener, event).expect("watched");
    let mut peers: HashMap<u64, (TcpStream, TcpStream)> = HashMap::new();
    let mut buffer = vec![0; BUFFER_SIZE];
    let mut events = [EpollEvent::empty(); 64];
    loop {
        let count = match epoll.wait(&mut events, EpollTimeout::NONE) {
            Ok(count) => count,
            Err(nix::errno::Errno::EINTR) => continue,
            Err(error) => panic!("epoll: {error}"),
        };
        for event in &events[..count] {
            if event.data() == listening {
                let (client, _) = listener.accept().expect("a client");
                let server = TcpStream::connect(("127.0.0.1", upstream)).expect("the server");
                let clones = [client.try_clone(), server.try_clone()];
                let [to_client, to_server] = clones.map(|own| own.expect("a socket"));
                for (own, other) in [(client, to_server), (server, to_client)] {
                    own.set_nodelay(true).expect("a socket");
                    watch(&own);
                    peers.insert(number_of(&own), (own, other));
                }
                continue;
            }
            let Some((from, to)) = peers.get_mut(&event.data()) else {
                continue;
            };
            match from.read(&mut buffer) {
                Ok(0) => {
                    // The other side may be gone as well.
                    let _ = to.shutdown(Shutdown::Write);
                    epoll.delete(from.as_fd()).expect("it was watched");
                    peers.remove(&event.data());
                }
                // Whoever is gone is noticed where it is read from.
                Ok(size) => drop(to.write_all(&buffer[..size])),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => {
                    epoll.delete(from.as_fd()).expect("it was watched");
                    peers.remove(&event.data());
                }
            }
        }
    }
}

/// By which epoll tells of it.
fn number_of(socket: &impl AsRawFd) -> u64 {
    u64::try_from(socket.as_raw_fd()).expect("an open file has a number")
}
