//! Rows for the client: sealed columns are opened, hidden ones dropped, types declared as the
//! client knows them.

use std::sync::Arc;

use column_value::{LogicalType, OpaqueType, Value, ValueError};
use semantics_postgres::TextContext;
use session_core::plans::{Role, ServerStatement, TextPlan};
use session_core::{LockedRead, OpenedGroup, StatementError, ValueFormat};
use sql_plan::{ColumnId, Copy, CopyFormat, Output, OutputKind};
use sql_rewrite::Schema;
use wire_postgres::backend::{self, Failure, Field, kind, write_value};
use wire_postgres::values;
use wire_postgres::{Formats, Malformed};

use super::End;
use super::failure::failure_of;
use super::format::FormatCode;

/// How rows of a statement are translated for the client.
#[derive(Debug)]
pub(super) struct Shape {
    plan: Arc<TextPlan>,
    /// The server's statement.
    at: ServerStatement,
    /// Formats that the client asked for: none (text), one for all, or one for each.
    formats: Box<[i16]>,
    /// The format of sealed values from the server: text in a simple query, otherwise binary.
    sealed_format: FormatCode,
    /// Whether rows have values of which only PostgreSQL knows the text.
    asks: bool,
}

/// Why a row cannot be translated.
pub(super) enum RowError {
    /// The server's message is malformed.
    Malformed(Malformed),
    /// A value does not open, or the columns are not those of the plan.
    Statement(StatementError),
}

impl From<StatementError> for RowError {
    fn from(error: StatementError) -> Self {
        Self::Statement(error)
    }
}

impl From<ValueError> for RowError {
    fn from(error: ValueError) -> Self {
        Self::Statement(error.into())
    }
}

impl From<Malformed> for RowError {
    fn from(error: Malformed) -> Self {
        Self::Malformed(error)
    }
}

impl From<RowError> for End {
    fn from(error: RowError) -> Self {
        match error {
            RowError::Malformed(error) => error.into(),
            // A value that does not open needs attention, and the remaining rows could not be sent.
            RowError::Statement(error) => Self(Failure {
                fatal: true,
                ..failure_of(error)
            }),
        }
    }
}

impl Shape {
    /// The shape of a portal. None: rows are forwarded unchanged.
    pub(super) fn of_portal(
        plan: &Arc<TextPlan>,
        at: ServerStatement,
        formats: Formats<'_>,
    ) -> Option<Arc<Self>> {
        if plan.outputs(at).is_empty() && plan.tag(at).is_none() {
            return None;
        }
        let formats: Box<[i16]> = formats.iter().collect();
        Some(Arc::new(Self {
            plan: Arc::clone(plan),
            at,
            asks: asks(plan, plan.outputs(at), &formats),
            formats,
            sealed_format: FormatCode::BINARY,
        }))
    }

    /// The shape of the statement at an index of a simple query.
    pub(super) fn of_query(plan: &Arc<TextPlan>, index: usize) -> Option<Arc<Self>> {
        if plan.copy(index).is_some() {
            return Self::of_copy(plan, index);
        }
        let at = plan.front(index)?;
        if plan.outputs(at).is_empty() && plan.tag(at).is_none() {
            return None;
        }
        Some(Arc::new(Self {
            plan: Arc::clone(plan),
            at,
            formats: Box::default(),
            sealed_format: FormatCode::TEXT,
            asks: asks(plan, plan.outputs(at), &[]),
        }))
    }

    /// The shape of a COPY. None: the statement is not a COPY.
    pub(super) fn of_copy(plan: &Arc<TextPlan>, index: usize) -> Option<Arc<Self>> {
        plan.copy(index)?;
        let role = Role::Only;
        Some(Arc::new(Self {
            plan: Arc::clone(plan),
            at: ServerStatement { index, role },
            formats: Box::default(),
            sealed_format: FormatCode::TEXT,
            asks: false,
        }))
    }

    /// The COPY and its plan.
    pub(super) fn copy(&self) -> Option<(&Arc<TextPlan>, &Copy)> {
        Some((&self.plan, self.plan.copy(self.at.index)?))
    }

    /// Whether rows have values of which only PostgreSQL knows the text.
    pub(super) fn asks(&self) -> bool {
        self.asks
    }

    /// What the client is told that was done, where the server would say otherwise.
    pub(super) fn tag(&self) -> Option<&'static str> {
        self.plan.tag(self.at)
    }

    pub(super) fn outputs(&self) -> &[Output] {
        self.plan.outputs(self.at)
    }

    /// Notes the sealed values of a row that the statement locks.
    pub(super) fn note_locked(
        &self,
        body: &[u8],
        reading: &mut LockedRead,
    ) -> Result<(), Malformed> {
        let lock = self.plan.translated(self.at);
        let Some(lock) = lock.and_then(|translated| translated.locks.as_ref()) else {
            return Ok(());
        };
        let values: Vec<Option<&[u8]>> = backend::read_data_row(body)?.iter().collect();
        let read = lock.read.iter();
        let column = |id| self.plan.loaded.schema.column(id);
        let read = read.filter_map(|read| Some((column(read.column), *values.get(read.output)?)));
        reading.note_row(read, self.sealed_format);
        Ok(())
    }

    fn format(&self, visible: usize) -> i16 {
        format_at(&self.formats, visible)
    }

    /// Writes a RowDescription for the client.
    pub(super) fn write_description(&self, body: &[u8], out: &mut Vec<u8>) -> Result<(), RowError> {
        write_description(
            &self.plan,
            self.at,
            body,
            |visible| self.format(visible),
            out,
        )
    }

    /// Writes a DataRow for the client.
    pub(super) fn write_row(
        &self,
        body: &[u8],
        context: &TextContext,
        out: &mut Vec<u8>,
    ) -> Result<(), RowError> {
        let row = backend::read_data_row(body)?;
        let outputs = self.outputs();
        if row.count() != outputs.len() {
            return Err(StatementError::other_columns().into());
        }
        let start = out.len();
        let mut result = Ok(());
        let mut opened = OpenedGroup::default();
        backend::write(kind::DATA_ROW, out, |out| {
            let count_at = out.len();
            out.extend_from_slice(&[0; 2]);
            let mut visible = 0;
            for (output, value) in outputs.iter().zip(row.iter()) {
                if output.hidden {
                    continue;
                }
                let format = self.format(visible);
                visible += 1;
                let written = write_value(out, |out| match (value, output.kind) {
                    (None, _) => Ok(false),
                    (Some(bytes), OutputKind::Plain) => {
                        out.extend_from_slice(bytes);
                        Ok(true)
                    }
                    (Some(_), OutputKind::Gathered(..)) => Err(StatementError::other_columns()),
                    (Some(bytes), OutputKind::Sealed(column)) => {
                        let value = self.open(column, bytes, &mut opened)?;
                        self.write_opened(column, value, format, context, out)
                    }
                });
                if result.is_ok() {
                    result = written;
                }
            }
            out[count_at..count_at + 2].copy_from_slice(&backend::count(visible));
        });
        result.map_err(|failure| {
            out.truncate(start);
            RowError::Statement(failure)
        })
    }

    fn open(
        &self,
        column: ColumnId,
        bytes: &[u8],
        opened: &mut OpenedGroup,
    ) -> Result<Option<Value>, StatementError> {
        let loaded = &*self.plan.loaded;
        let column = loaded.schema.column(column);
        let mut memory = Vec::new();
        let server_type = column.server_type();
        let sealed = self.sealed_format.sealed(server_type, bytes, &mut memory);
        let value = sealed.and_then(|sealed| {
            let value = loaded.sealer.open_in_row(column.id, sealed, opened);
            value.ok()
        });
        value.ok_or_else(|| StatementError::unopened(column))
    }

    /// Writes an opened value. False: it is NULL.
    fn write_opened(
        &self,
        column: ColumnId,
        value: Option<Value>,
        format: i16,
        context: &TextContext,
        out: &mut Vec<u8>,
    ) -> Result<bool, StatementError> {
        let Some(value) = value else {
            return Ok(false);
        };
        let logical = self.plan.loaded.schema.column(column).logical;
        FormatCode(format).write(&value, logical, context, out)?;
        Ok(true)
    }
}

/// The format of a column.
pub(super) fn format_at(formats: &[i16], visible: usize) -> i16 {
    match formats {
        [] => 0,
        [one] => *one,
        many => many.get(visible).copied().unwrap_or(0),
    }
}

/// Whether only PostgreSQL knows the text of an output that is sent as text.
pub(super) fn asks(plan: &TextPlan, outputs: &[Output], formats: &[i16]) -> bool {
    let schema = &plan.loaded.schema;
    let visible = outputs.iter().filter(|output| !output.hidden);
    plan.has_opaque
        && visible.enumerate().any(|(index, output)| {
            has_hidden_text(schema, output.kind) && format_at(formats, index) == 0
        })
}

/// The same of the fields of a COPY.
pub(super) fn asks_of_copy(schema: &Schema, copy: &Copy) -> bool {
    let mut fields = copy.fields.iter();
    copy.format != CopyFormat::Binary && fields.any(|kind| has_hidden_text(schema, *kind))
}

fn has_hidden_text(schema: &Schema, kind: OutputKind) -> bool {
    let OutputKind::Sealed(column) = kind else {
        return false;
    };
    let opaque = schema.column(column).logical.opaque();
    opaque.is_some_and(OpaqueType::has_hidden_text)
}

/// Writes the RowDescription of a statement for the client, with these formats.
pub(super) fn write_description(
    plan: &TextPlan,
    at: ServerStatement,
    body: &[u8],
    format: impl Fn(usize) -> i16,
    out: &mut Vec<u8>,
) -> Result<(), RowError> {
    let mut fields = backend::read_row_description(body)?;
    let outputs = plan.outputs(at);
    if fields.len() != outputs.len() {
        return Err(StatementError::other_columns().into());
    }
    let mut visible = 0;
    for (field, output) in fields.iter_mut().zip(outputs) {
        if let Some(name) = &output.name {
            field.name = name.as_bytes();
        }
        if let OutputKind::Sealed(column) = output.kind {
            let schema = &plan.loaded.schema;
            let logical = schema.column(column).logical;
            name_own(field, column, schema);
            *field = of_type(*field, output.shown_as.unwrap_or(logical));
        }
        field.format = format(visible);
        visible += usize::from(!output.hidden);
    }
    let mut hidden = outputs.iter().map(|output| output.hidden);
    fields.retain(|_| !hidden.next().unwrap_or(false));
    backend::write_row_description(&fields, out);
    Ok(())
}

/// Names the place of a protected column in its table. The server names that of the column which
/// has the values: it may be another one.
pub(super) fn name_own(field: &mut Field<'_>, id: ColumnId, schema: &Schema) {
    if field.table == 0 || !schema.is_member(id) {
        return;
    }
    let table = schema.tables.values().find(|own| own.oid == field.table);
    let mut columns = table.into_iter().flat_map(|own| &own.columns);
    let own = columns.find(|own| own.protected == Some(id));
    (field.table, field.column) = own.map_or((0, 0), |own| (field.table, own.number));
}

/// The same column with this type.
pub(super) fn of_type(field: Field<'_>, logical: LogicalType) -> Field<'_> {
    Field {
        type_oid: values::oid(logical),
        type_size: values::size(logical),
        type_modifier: values::modifier(logical),
        ..field
    }
}

/// Writes the RowDescription of rows that are forwarded unchanged, with the formats asked for.
pub(super) fn write_plain_description(
    body: &[u8],
    formats: &[i16],
    out: &mut Vec<u8>,
) -> Result<(), Malformed> {
    let mut fields = backend::read_row_description(body)?;
    for (index, field) in fields.iter_mut().enumerate() {
        field.format = format_at(formats, index);
    }
    backend::write_row_description(&fields, out);
    Ok(())
}
