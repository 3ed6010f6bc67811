//! An engine that is a server run by the lab, started anew for each pass.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lab::answer::{Answers, Value};
use lab::engine::{Cause, Connection, Engine, EngineError, Profile, ScriptCommand, Server};
use lab::tpcc::{Terminal, Terminals};
use workloads::tpcc::Isolation;

use crate::server::{
    Address, Place, Product, Programs, Running, ServerError, Session, Witness, free_port,
};

/// A product with settings, and its server.
pub(crate) struct ServerEngine<P: Product> {
    profile: Profile,
    product: P,
    running: Mutex<Option<Arc<Running>>>,
}

impl<P: Product> ServerEngine<P> {
    pub(crate) fn new(profile: Profile, product: P) -> Self {
        Self {
            profile,
            product,
            running: Mutex::new(None),
        }
    }

    fn programs(&self) -> Result<Programs, ServerError> {
        let product = self.product.name();
        let missing = |remedy| ServerError::Missing { product, remedy };
        let programs = self.product.locate().map_err(missing)?;
        programs.check()?;
        Ok(programs)
    }

    fn running(&self) -> MutexGuard<'_, Option<Arc<Running>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self, place: &Place) -> Result<Arc<Running>, ServerError> {
        Running::start(&self.product, &self.programs()?, place, free_port)
    }
}

impl<P: Product> ServerEngine<P> {
    /// The server on the data in the folder; starts it if needed.
    pub(crate) fn ready(&self, folder: &Path) -> Result<Arc<Running>, EngineError> {
        let mut running = self.running();
        if let Some(server) = &*running {
            return Ok(Arc::clone(server));
        }
        let started = self.start(&Place::in_folder(folder));
        let started = started.map_err(|error| EngineError::Open(error.into()))?;
        Ok(Arc::clone(running.insert(started)))
    }

    /// Connects to that address: the server's own, or that of a proxy for it.
    pub(crate) fn connection_at(
        &self,
        address: &Address,
        witness: Arc<dyn Witness>,
    ) -> Result<Box<dyn Connection>, EngineError> {
        let session = self.product.connect(address);
        let session = session.map_err(EngineError::Open)?;
        let witness = Some(witness);
        Ok(Box::new(ServerConnection { session, witness }))
    }

    /// The command that starts its shell at that address.
    pub(crate) fn shell_at(&self, address: &Address) -> Option<ScriptCommand> {
        self.product.shell(&self.programs().ok()?, address)
    }

    /// Logs a terminal in at that address: the server's own, or that of a proxy for it.
    pub(crate) fn terminal_at(
        &self,
        address: &Address,
        witness: Arc<dyn Witness>,
        isolation: Isolation,
    ) -> Result<Box<dyn Terminal>, EngineError> {
        let terminal = self.product.terminal(address, witness, isolation);
        terminal.map_err(EngineError::Open)
    }

    /// Runs statements on a new connection to the server.
    fn order(&self, statements: &[&str]) -> Result<Answers, EngineError> {
        let server = self.running().as_ref().map(Arc::clone);
        let none = || EngineError::Open("the server does not run".into());
        let server = server.ok_or_else(none)?;
        let address = server.address.clone();
        let mut connection = self.connection_at(&address, server)?;
        let mut answers = Answers::default();
        connection.run(statements, &mut answers)?;
        connection.close()?;
        Ok(answers)
    }
}

impl<P: Product> Terminals for ServerEngine<P> {
    fn open_terminal(
        &self,
        folder: &Path,
        isolation: Isolation,
    ) -> Result<Box<dyn Terminal>, EngineError> {
        let server = self.ready(folder)?;
        let address = server.address.clone();
        self.terminal_at(&address, server, isolation)
    }

    fn gather_statistics(&self, table: &str) -> Result<(), EngineError> {
        self.order(&[&self.product.gathering(table)]).map(drop)
    }

    fn settle(&self) -> Result<(), EngineError> {
        self.order(self.product.settling()).map(drop)
    }

    fn database_bytes(&self) -> Result<u64, EngineError> {
        let answers = self.order(&[self.product.sizing()])?;
        match answers.values() {
            [Value::Integer(bytes)] => Ok(u64::try_from(*bytes).unwrap_or(0)),
            other => Err(EngineError::Settings(
                format!("its size is {other:?}").into(),
            )),
        }
    }
}

impl<P: Product> Engine for ServerEngine<P> {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn missing(&self) -> Option<String> {
        self.programs().err().map(|error| error.to_string())
    }

    fn server(&self) -> Server {
        Server::Child
    }

    fn create(&self, folder: &Path) -> Result<(), EngineError> {
        let attempt = || -> Result<(), Cause> {
            let programs = self.programs()?;
            let place = Place::in_folder(folder);
            place.make()?;
            self.product.initialise(&programs, &place)?;
            place.settle();
            *self.running() = Some(self.start(&place)?);
            Ok(())
        };
        attempt().map_err(EngineError::Create)
    }

    fn open(&self, folder: &Path) -> Result<Box<dyn Connection>, EngineError> {
        let server = self.ready(folder)?;
        let address = server.address.clone();
        self.connection_at(&address, server)
    }

    fn stop(&self) -> Result<(), EngineError> {
        let Some(server) = self.running().take() else {
            return Ok(());
        };
        let ended = server.end(self.product.end_signal());
        ended.map_err(|error| EngineError::Close(error.into()))
    }

    fn terminals(&self) -> Option<&dyn Terminals> {
        self.product.has_terminals().then_some(self)
    }

    fn script_command(&self, _folder: &Path) -> Option<ScriptCommand> {
        let address = self.running().as_ref()?.address.clone();
        self.shell_at(&address)
    }
}

impl<P: Product> Drop for ServerEngine<P> {
    fn drop(&mut self) {
        // Only the first failure is reported. A clean shutdown leaves no shared memory.
        drop(self.stop());
    }
}

/// A session, and a witness for its server if that is run by the lab.
pub(crate) struct ServerConnection {
    session: Box<dyn Session>,
    witness: Option<Arc<dyn Witness>>,
}

impl ServerConnection {
    /// A session with a server that the lab does not run.
    pub(crate) fn elsewhere(session: Box<dyn Session>) -> Self {
        Self {
            session,
            witness: None,
        }
    }

    /// The client's error, and what happened to the server if the connection was lost.
    fn explained(&self, cause: Cause) -> Cause {
        match &self.witness {
            Some(witness) if self.session.is_lost() => {
                format!("{}: {cause}", witness.why_lost()).into()
            }
            _ => cause,
        }
    }
}

impl ServerConnection {
    fn failure(&self, number: usize, statement: &str, cause: Cause) -> EngineError {
        let source = self.explained(cause);
        EngineError::of_statement(self.session.contention(), number, statement, source)
    }
}

impl Connection for ServerConnection {
    fn run(&mut self, statements: &[&str], answers: &mut Answers) -> Result<(), EngineError> {
        for (statement, number) in statements.iter().zip(1..) {
            let done = self.session.run(statement, answers);
            done.map_err(|cause| self.failure(number, statement, cause))?;
        }
        Ok(())
    }

    fn settings(&mut self) -> Result<Vec<(String, String)>, EngineError> {
        let settings = self.session.settings();
        settings.map_err(|cause| EngineError::Settings(self.explained(cause)))
    }

    fn close(self: Box<Self>) -> Result<(), EngineError> {
        self.session.close().map_err(EngineError::Close)
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::net::{Ipv4Addr, TcpListener};
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    static TAKEN: OnceLock<TcpListener> = OnceLock::new();
    static ASKED: AtomicUsize = AtomicUsize::new(0);

    fn taken() -> io::Result<u16> {
        let bind = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        Ok(TAKEN.get_or_init(bind).local_addr()?.port())
    }

    fn taken_once() -> io::Result<u16> {
        if ASKED.fetch_add(1, Ordering::SeqCst) == 0 {
            taken()
        } else {
            free_port()
        }
    }

    /// Each product has its own message for a port that is taken.
    fn goes_on_with_another_port<P: Product>(engine: &ServerEngine<P>) {
        if let Some(missing) = engine.missing() {
            println!("left out: {missing}");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let place = Place::in_folder(folder.path());
        let programs = engine.programs().unwrap();
        place.make().unwrap();
        engine.product.initialise(&programs, &place).unwrap();
        let start = |next_port| Running::start(&engine.product, &programs, &place, next_port);
        ASKED.store(0, Ordering::SeqCst);
        let running = start(taken_once).unwrap();
        assert_ne!(running.address.port, taken().unwrap());
        running.end(engine.product.end_signal()).unwrap();
        let refused = start(taken).err().unwrap().to_string();
        assert!(refused.contains("each of 5 ports was taken"), "{refused}");
    }

    #[test]
    fn a_port_that_was_taken_meanwhile_is_no_obstacle() {
        goes_on_with_another_port(&crate::postgres::family()[0]);
        for engine in crate::mysql::family().iter().step_by(2) {
            goes_on_with_another_port(engine);
        }
    }
}
