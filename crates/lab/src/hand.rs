//! By which hand statements are given to an engine: a connection, or its own shell.

use std::path::Path;

use workloads::Test;

use crate::answer::Answers;
use crate::engine::{Connection, Engine, EngineError, Given, Mode, ScriptCommand, Server};
use crate::measure::{Meter, Sample};
use crate::shell;

/// A database that was opened, and how it is given statements.
pub(crate) enum Hand<'a> {
    /// On an open connection.
    Direct {
        connection: Box<dyn Connection>,
        server: Server,
    },
    /// On an open connection, as scripts.
    Script {
        connection: Box<dyn Connection>,
        server: Server,
    },
    /// By the engine's own shell, a process per script.
    Shell {
        command: ScriptCommand,
        folder: &'a Path,
        server: Server,
    },
}

impl<'a> Hand<'a> {
    pub(crate) fn of(
        mode: Mode,
        engine: &dyn Engine,
        connection: Box<dyn Connection>,
        folder: &'a Path,
    ) -> Result<Self, EngineError> {
        let server = engine.server();
        if mode == Mode::Direct {
            return Ok(Self::Direct { connection, server });
        }
        if connection.takes_scripts() {
            return Ok(Self::Script { connection, server });
        }
        // Another connection could change what the shell has to do.
        connection.close()?;
        let command = engine.script_command(folder).ok_or_else(|| {
            EngineError::Shell("it has none that was found: leave out `--mode script`".into())
        })?;
        Ok(Self::Shell {
            command,
            folder,
            server,
        })
    }

    pub(crate) fn run(&mut self, test: &Test) -> Result<(Sample, Answers), EngineError> {
        match self {
            Self::Direct { connection, server } => {
                let statements: Vec<&str> = test.statements().collect();
                let mut answers = Answers::default();
                let start = || Meter::with(*server);
                let given = Given::Statements(&statements);
                let sample = connection.measured(given, &mut answers, &start)?;
                Ok((sample, answers))
            }
            Self::Script { connection, server } => {
                let statements: Vec<&str> = test.statements().collect();
                let mut answers = Answers::default();
                let start = || Meter::with(*server);
                let given = Given::Script {
                    text: test.script.text(),
                    statements: &statements,
                };
                let sample = connection.measured(given, &mut answers, &start)?;
                Ok((sample, shell::without_types(&answers)))
            }
            Self::Shell {
                command,
                folder,
                server,
            } => {
                shell::run(command, test.script.text(), folder, *server).map_err(EngineError::Shell)
            }
        }
    }

    /// Runs statements that are not measured, in one script where there is a shell.
    pub(crate) fn ask(&mut self, statements: &[&str]) -> Result<Answers, EngineError> {
        match self {
            Self::Direct { connection, .. } | Self::Script { connection, .. } => {
                let mut answers = Answers::default();
                connection.run(statements, &mut answers)?;
                Ok(answers)
            }
            Self::Shell {
                command, folder, ..
            } => {
                let script = statements.join("\n") + "\n";
                shell::run(command, &script, folder, Server::None)
                    .map(|(_, answers)| answers)
                    .map_err(EngineError::Shell)
            }
        }
    }

    pub(crate) fn close(self) -> Result<(), EngineError> {
        match self {
            Self::Direct { connection, .. } | Self::Script { connection, .. } => connection.close(),
            Self::Shell { .. } => Ok(()),
        }
    }
}
