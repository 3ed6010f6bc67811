//! Ways to pass statements to an engine: over a connection, or through its own shell.

use std::path::Path;

use workloads::Test;

use crate::answer::Answers;
use crate::engine::{Connection, Engine, EngineError, Mode, ScriptCommand, Server, TestInput};
use crate::measure::{Meter, Sample};
use crate::shell;

/// An open database, and the way statements are passed to it.
pub(crate) enum Driver<'a> {
    /// Over an open connection, as statements.
    Direct {
        connection: Box<dyn Connection>,
        server: Server,
    },
    /// Over an open connection, as scripts.
    Script {
        connection: Box<dyn Connection>,
        server: Server,
    },
    /// Through the engine's own shell, one process per script.
    Shell {
        command: ScriptCommand,
        folder: &'a Path,
        server: Server,
    },
}

impl<'a> Driver<'a> {
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
        // An open connection could affect what the shell has to do.
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
                let input = TestInput::Statements(&statements);
                let sample = connection.measured(input, &mut answers, &start)?;
                Ok((sample, answers))
            }
            Self::Script { connection, server } => {
                let statements: Vec<&str> = test.statements().collect();
                let mut answers = Answers::default();
                let start = || Meter::with(*server);
                let input = TestInput::Script {
                    text: test.script.text(),
                    statements: &statements,
                };
                let sample = connection.measured(input, &mut answers, &start)?;
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

    /// Runs statements without measuring them, in one script if there is a shell.
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
