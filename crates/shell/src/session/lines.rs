//! Runs the lines of a session as statements and dot commands, and counts failures.

use std::io::{self, Write};

use super::{Flow, Shell};
use crate::commands;
use crate::console::{LineSource, Next, Text};
use crate::error::ShellError;
use crate::pending::{Pending, wipe};
use crate::secrecy;

impl Shell {
    /// Runs all lines of a source and finishes the output. Returns the exit status: 0, 1 if
    /// anything failed, or the status of `.exit CODE`.
    ///
    /// # Errors
    ///
    /// If the input cannot be read or the output cannot be written.
    pub fn run(&mut self, lines: &mut dyn LineSource) -> io::Result<u8> {
        self.run_lines(lines, None)?;
        self.finish()
    }

    fn finish(&mut self) -> io::Result<u8> {
        self.output.back()?;
        self.output.flush()?;
        let failed = self.failures > 0 && !self.interactive;
        Ok(self.exit_status.unwrap_or(u8::from(failed)))
    }

    /// Runs command-line arguments, each as a separate text: its last statement ends with it.
    /// Returns the exit status as [`Shell::run`] does.
    ///
    /// # Errors
    ///
    /// If the output cannot be written.
    pub fn run_arguments(&mut self, arguments: &[String]) -> io::Result<u8> {
        for (index, argument) in arguments.iter().enumerate() {
            let name = format!("argument {}", index + 1);
            let name = (arguments.len() > 1).then_some(name.as_str());
            if self.run_lines(&mut Text(argument.lines()), name)? == Flow::Quit {
                break;
            }
        }
        self.finish()
    }

    /// Runs all lines of a source with this name.
    pub(crate) fn run_lines(
        &mut self,
        lines: &mut dyn LineSource,
        name: Option<&str>,
    ) -> io::Result<Flow> {
        let mut pending = Pending::new();
        let mut line = String::new();
        let mut number = 0;
        loop {
            wipe(&mut line);
            match lines.next_line(!pending.scanner.at_rest(), &mut line) {
                Ok(Next::Line) => number += 1,
                Ok(Next::Abandoned) => {
                    pending.clear(number + 1);
                    continue;
                }
                Ok(Next::End) => break,
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    number += 1;
                    let flow = self.settle(Err(ShellError::NotUnicode), name, number)?;
                    if flow == Flow::Quit {
                        return Ok(flow);
                    }
                    continue;
                }
                Err(error) => return Err(error),
            }
            if self.run_line(&mut pending, &line, name, number)? == Flow::Quit {
                return Ok(Flow::Quit);
            }
        }
        self.run_rest(&mut pending, name)
    }

    fn run_line(
        &mut self,
        pending: &mut Pending,
        line: &str,
        name: Option<&str>,
        number: u64,
    ) -> io::Result<Flow> {
        if pending.scanner.at_rest() {
            if line.starts_with('.') {
                pending.clear(number + 1);
                let result = self.dot_command(line);
                return self.settle(result, name, number);
            }
            if line.starts_with('#') {
                return Ok(Flow::Continue);
            }
            if pending.text.is_empty() {
                pending.first_line = number;
            }
        }
        pending.text.push_str(line);
        pending.text.push('\n');
        let mut start = 0;
        while let Some(span) = pending.scanner.next_statement(&pending.text) {
            let result = self
                .statement(&pending.text[start..span.end])
                .map(|()| Flow::Continue);
            if self.settle(result, name, pending.line_of(span.first_code))? == Flow::Quit {
                return Ok(Flow::Quit);
            }
            start = span.end;
        }
        if pending.scanner.at_rest() {
            pending.clear(number + 1);
        } else if start > 0 {
            // The rest starts on this line, which its scanner has read already.
            let rest = pending.text.split_off(start);
            pending.clear(number);
            pending.text = rest;
            pending.scanner.next_statement(&pending.text);
        }
        Ok(Flow::Continue)
    }

    /// The last statement may lack its semicolon.
    fn run_rest(&mut self, pending: &mut Pending, name: Option<&str>) -> io::Result<Flow> {
        let Some(start) = pending.scanner.pending_start() else {
            return Ok(Flow::Continue);
        };
        if self.interactive && name.is_none() {
            return Ok(Flow::Continue);
        }
        let text = std::mem::take(&mut pending.text);
        let result = self.statement(&text).map(|()| Flow::Continue);
        pending.text = text;
        self.settle(result, name, pending.line_of(start))
    }

    fn dot_command(&mut self, line: &str) -> Result<Flow, ShellError> {
        if self.settings.echo && secrecy::may_be_remembered(line) {
            writeln!(self.output, "{line}")?;
        }
        commands::run(self, line).map_err(|error| self.explain(error))
    }

    /// Reports a failure and decides whether to continue.
    fn settle(
        &mut self,
        result: Result<Flow, ShellError>,
        name: Option<&str>,
        line: u64,
    ) -> io::Result<Flow> {
        if self.interactive {
            self.output.flush()?;
        }
        let error = match result {
            Ok(flow) => return Ok(flow),
            Err(ShellError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                return Err(error);
            }
            // A person sees what happened and decides.
            Err(ShellError::KeyNotTaken(error)) if self.interactive && name.is_none() => *error,
            Err(error) => error,
        };
        self.failures += 1;
        self.output.flush()?;
        match (name, self.interactive) {
            (Some(name), _) => writeln!(self.messages, "Error: {name}: near line {line}: {error}")?,
            (None, true) => writeln!(self.messages, "Error: {error}")?,
            (None, false) => writeln!(self.messages, "Error: near line {line}: {error}")?,
        }
        self.messages.flush()?;
        let final_failure = matches!(error, ShellError::KeyNotTaken(_));
        let stop = final_failure || (self.settings.bail && (!self.interactive || name.is_some()));
        Ok(if stop { Flow::Quit } else { Flow::Continue })
    }
}
