//! Prepared statements in messages: Parse, Bind, and the types of parameters.

use semantics_postgres::TextContext;
use session_core::plans::{Role, ServerStatement};
use session_core::{Parameter, Statement, StatementError, check_size};
use sql_plan::{Form, OutputKind, Source};
use sqlstate::SqlState;
use wire_postgres::backend::{self, write_value};
use wire_postgres::frontend::{Bind, write_bind, write_parse};
use wire_postgres::values;
use wire_postgres::{Formats, Malformed};

use super::format::FormatCode;
use crate::server_types;

/// The inputs of a statement in this protocol.
pub(super) type Inputs<'a> = session_core::Inputs<'a, FormatCode>;

/// Parameters as the client bound them.
pub(super) fn inputs_of<'a>(index: usize, bind: &Bind<'a>, context: &'a TextContext) -> Inputs<'a> {
    let parameters = bind.parameters.iter().enumerate();
    let parameters = parameters.map(|(number, bytes)| Parameter {
        bytes,
        format: FormatCode(bind.formats.of(number)),
    });
    Inputs::new(index, parameters.collect(), context)
}

fn format_of(inputs: &Inputs<'_>, number: usize) -> i16 {
    inputs
        .parameters
        .get(number)
        .map_or(0, |parameter| parameter.format.0)
}

/// Whether a statement may return rows. When unsure: yes.
pub(super) fn may_return_rows(statement: &Statement, at: ServerStatement) -> bool {
    let text = statement.plan.server_text(at);
    matches!(at.role, Role::Read | Role::Only) || text.is_some_and(|text| text.may_return_rows)
}

/// The messages of a prepared statement.
pub(super) trait StatementMessages {
    /// Writes Parse for the server, given the types of computed arrays.
    fn write_parse(&self, at: ServerStatement, name: &[u8], computed: &[u32], out: &mut Vec<u8>);

    /// Notes the types of client parameters that are also parameters of the server's statement.
    fn note_types(&self, at: ServerStatement, server: &[u32], types: &mut Vec<u32>);

    /// The types of the client's parameters, given those that the server has reported.
    fn parameter_types(&self, at: ServerStatement, types: Vec<u32>) -> Vec<u32>;

    /// Writes ParameterDescription for the client, given that of the server.
    ///
    /// # Errors
    /// The server's is malformed.
    fn write_parameters(
        &self,
        at: ServerStatement,
        server: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Malformed>;

    /// Checks that Bind has as many parameters as the statement.
    ///
    /// # Errors
    /// It has not.
    fn check_bind(&self, index: usize, bind: &Bind<'_>) -> Result<(), StatementError>;

    /// The formats in which to ask for columns: sealed and hidden ones in binary, others as the
    /// client wants them.
    fn result_formats(&self, at: ServerStatement, wanted: Formats<'_>) -> Vec<i16>;

    /// Writes Bind for the server, given the names of portal and statement. Parameters that meet a
    /// protected column are sealed.
    fn write_bind(
        &self,
        at: ServerStatement,
        names: (&[u8], &[u8]),
        inputs: &Inputs<'_>,
        results: &[i16],
        out: &mut Vec<u8>,
    ) -> Result<(), StatementError>;
}

impl StatementMessages for Statement {
    fn write_parse(&self, at: ServerStatement, name: &[u8], computed: &[u32], out: &mut Vec<u8>) {
        let text = self.plan.server_text(at).map_or("", |server| &server.text);
        let server_type = |column| self.plan.loaded.schema.column(column).server_type();
        let types = self.holes(at).map(|hole| match (hole.form, &hole.source) {
            (Form::Sealed(column, _), _) => server_types::number(server_type(column)),
            (Form::SealedArray(column, _), _) => server_types::array_number(server_type(column)),
            (Form::Plain, Source::Parameter(number)) => {
                self.types.get(*number).copied().unwrap_or(0)
            }
            (Form::Plain, Source::Computed(number)) => computed.get(*number).copied().unwrap_or(0),
            (Form::Plain, _) => 0,
        });
        write_parse(name, text.as_bytes(), types, out);
    }

    fn note_types(&self, at: ServerStatement, server: &[u32], types: &mut Vec<u32>) {
        let wanted = self.parameters_wanted(at.index).max(self.types.len());
        types.resize(wanted.max(types.len()), 0);
        for (hole, &server_type) in self.holes(at).zip(server) {
            if let (Form::Plain, Source::Parameter(number)) = (hole.form, &hole.source)
                && let Some(own) = types.get_mut(*number)
                && *own == 0
            {
                *own = server_type;
            }
        }
    }

    fn parameter_types(&self, at: ServerStatement, mut types: Vec<u32>) -> Vec<u32> {
        let planned = self.plan.translated(at);
        let planned = planned.map_or(&[][..], |translated| &translated.parameter_types);
        for (own, logical) in types.iter_mut().zip(planned) {
            match logical {
                Some(noted) if noted.is_array() => *own = values::array_oid(noted.logical()),
                Some(noted) => *own = values::oid(noted.logical()),
                None => {}
            }
        }
        for (own, &declared) in types.iter_mut().zip(&self.types) {
            if declared != 0 {
                *own = declared;
            }
        }
        types
    }

    fn write_parameters(
        &self,
        at: ServerStatement,
        server: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Malformed> {
        let server = backend::read_parameter_description(server)?;
        let mut types = Vec::new();
        self.note_types(at, &server, &mut types);
        backend::write_parameter_description(&self.parameter_types(at, types), out);
        Ok(())
    }

    fn check_bind(&self, index: usize, bind: &Bind<'_>) -> Result<(), StatementError> {
        let wanted = self.parameters_wanted(index).max(self.types.len());
        let count = bind.parameters.count();
        if count != wanted {
            let message = format!(
                "bind message supplies {count} parameters, but the prepared statement requires \
                 {wanted}"
            );
            return Err(StatementError::statement(
                SqlState::PROTOCOL_VIOLATION,
                message,
            ));
        }
        if !bind.formats.fit(count) {
            let message = "bind message has another number of formats than of parameters";
            return Err(StatementError::statement(
                SqlState::PROTOCOL_VIOLATION,
                message,
            ));
        }
        Ok(())
    }

    fn result_formats(&self, at: ServerStatement, wanted: Formats<'_>) -> Vec<i16> {
        let outputs = self.plan.outputs(at);
        if outputs.is_empty() {
            return wanted.iter().collect();
        }
        let mut visible = 0;
        let mut formats = Vec::with_capacity(outputs.len());
        for output in outputs {
            formats.push(match output.kind {
                OutputKind::Plain if !output.hidden => wanted.of(visible),
                _ => 1,
            });
            visible += usize::from(!output.hidden);
        }
        formats
    }

    fn write_bind(
        &self,
        at: ServerStatement,
        (portal, name): (&[u8], &[u8]),
        inputs: &Inputs<'_>,
        results: &[i16],
        out: &mut Vec<u8>,
    ) -> Result<(), StatementError> {
        let formats = self.holes(at).map(|hole| match (hole.form, &hole.source) {
            (Form::Plain, Source::Parameter(number)) => format_of(inputs, *number),
            _ => 1,
        });
        let start = out.len();
        let write_values = |out: &mut Vec<u8>| {
            for hole in self.holes(at) {
                let filled = write_value(out, |out| self.fill(hole, inputs, out));
                filled.and_then(|()| check_size::<FormatCode>(out.len() - start))?;
            }
            Ok(())
        };
        let results = results.iter().copied();
        write_bind((portal, name), formats, write_values, results, out)
    }
}
