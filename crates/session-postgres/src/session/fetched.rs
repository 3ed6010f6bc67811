//! Columns of a fetch as PostgreSQL describes them, and rows of the answer as it would send them.

use column_value::{LogicalType, ValueError};
use finish::{Field, Output, Program, RowWriter};
use semantics_postgres::TextContext;
use session_core::plans::TextPlan;
use session_core::{FetchedColumn, StatementError, ValueFormat};
use sql_plan::{Finish, OutputKind};
use wire_postgres::backend::{self, kind, write_value};
use wire_postgres::values;

use super::format::FormatCode;
use super::rows::{RowError, name_own, of_type};

/// A column of no table.
const COMPUTED: backend::Field<'static> = backend::Field {
    name: b"",
    table: 0,
    column: 0,
    type_oid: 0,
    type_size: 0,
    type_modifier: -1,
    format: 1,
};

fn unnamed(field: &backend::Field<'_>) -> backend::Field<'static> {
    backend::Field {
        table: field.table,
        column: field.column,
        type_oid: field.type_oid,
        type_size: field.type_size,
        type_modifier: field.type_modifier,
        ..COMPUTED
    }
}

/// An aggregate of this type, without the limits of the type.
fn aggregate(logical: LogicalType) -> backend::Field<'static> {
    backend::Field {
        type_modifier: -1,
        ..of_type(COMPUTED, logical)
    }
}

/// The columns of a fetch, and the description of each for the client, without its name.
pub(super) fn read_columns(
    plan: &TextPlan,
    finish: &Finish,
    body: &[u8],
    formats: &[FormatCode],
) -> Result<(Vec<FetchedColumn<FormatCode>>, Vec<backend::Field<'static>>), RowError> {
    let fields = backend::read_row_description(body)?;
    let outputs = &finish.fetch.outputs;
    if fields.len() != outputs.len() {
        return Err(StatementError::other_columns().into());
    }
    let columns = fields.iter().zip(outputs).zip(formats);
    let columns = columns.map(|((field, output), format)| {
        let plain = (
            // The proxy computes nothing with values that it keeps unread.
            values::logical(field.type_oid, field.type_modifier)
                .filter(|logical| logical.opaque().is_none()),
            *format,
        );
        let mut field = *field;
        if let OutputKind::Sealed(id) = output.kind {
            name_own(&mut field, id, &plan.loaded.schema);
        }
        let mut column = FetchedColumn::new(plan, output.kind, plain)?;
        column.logical = output.shown_as.or(column.logical);
        let described = describe(&field, &column);
        Ok((column, described))
    });
    columns.collect()
}

fn describe(
    field: &backend::Field<'_>,
    column: &FetchedColumn<FormatCode>,
) -> backend::Field<'static> {
    match (column.logical, column.sealed, &column.gathered) {
        (Some(logical), Some(_), Some(_)) => aggregate(logical),
        (Some(logical), Some(_), None) => of_type(unnamed(field), logical),
        _ => backend::Field {
            format: column.format.0,
            ..unnamed(field)
        },
    }
}

/// The description of a column of the answer. It is never None: a computed column has a type.
fn described(
    output: &Output<'_>,
    fetched: &[backend::Field<'static>],
) -> Option<backend::Field<'static>> {
    if let Some(column) = output.origin {
        return fetched.get(column).copied();
    }
    // The server reports the limits of a cast, and none for an aggregate.
    let logical = output.logical?;
    Some(match output.is_aggregate {
        true => aggregate(logical),
        false => of_type(COMPUTED, logical),
    })
}

/// Writes an answer as DataRow messages, and its RowDescription.
#[derive(Debug)]
pub(crate) struct DataRows {
    /// Each column without its name, in the format that the client asked for.
    columns: Vec<backend::Field<'static>>,
}

impl DataRows {
    /// Rows of a program over fetched columns, in the formats that the client wants.
    pub(super) fn new(
        program: &Program,
        fetched: &[backend::Field<'static>],
        wanted: impl Fn(usize) -> FormatCode,
    ) -> Self {
        let columns = program.outputs().enumerate();
        let columns = columns.filter_map(|(number, output)| {
            let described = described(&output, fetched)?;
            Some(backend::Field {
                format: wanted(number).0,
                ..described
            })
        });
        Self {
            columns: columns.collect(),
        }
    }

    /// Writes the RowDescription.
    pub(super) fn write_description(&self, program: &Program, out: &mut Vec<u8>) {
        let fields = program.outputs().zip(&self.columns);
        let fields = fields.map(|(output, described)| backend::Field {
            name: output.name.as_bytes(),
            ..*described
        });
        backend::write_row_description(&fields.collect::<Vec<_>>(), out);
    }
}

impl RowWriter for DataRows {
    fn write(
        &self,
        fields: &[Field<'_>],
        context: &TextContext,
        row: &mut Vec<u8>,
    ) -> Result<(), ValueError> {
        let mut result = Ok(());
        backend::write(kind::DATA_ROW, row, |out| {
            out.extend_from_slice(&backend::count(fields.len()));
            for (field, column) in fields.iter().zip(&self.columns) {
                result = write_value(out, |out| {
                    write_field(field, FormatCode(column.format), context, out)
                });
                if result.is_err() {
                    return;
                }
            }
        });
        result
    }
}

fn write_field(
    field: &Field<'_>,
    format: FormatCode,
    context: &TextContext,
    out: &mut Vec<u8>,
) -> Result<bool, ValueError> {
    match field {
        Field::Null => return Ok(false),
        Field::Passed(bytes) => out.extend_from_slice(bytes),
        Field::Value(value, logical) => {
            format.write(value, *logical, context, out)?;
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use sql_plan::ColumnId;

    use super::*;

    /// Table, column, type and modifier.
    fn shown(described: Option<backend::Field<'_>>) -> Option<(u32, i16, u32, i32)> {
        described.map(|of| (of.table, of.column, of.type_oid, of.type_modifier))
    }

    #[test]
    fn a_column_is_described_as_the_server_would() {
        let bytea = backend::Field {
            name: b"",
            table: 1,
            column: 3,
            type_oid: 17,
            type_size: -1,
            type_modifier: -1,
            format: 1,
        };
        let char5 = LogicalType::Char(5);
        let sealed = FetchedColumn::sealed(ColumnId(0), char5);
        let fetched = [describe(&bytea, &sealed)];
        let output = |logical, origin, is_aggregate| Output {
            name: "",
            logical: Some(logical),
            origin,
            is_aggregate,
        };
        let of_table = output(char5, Some(0), false);
        assert_eq!(shown(described(&of_table, &fetched)), Some((1, 3, 1042, 9)));
        let cast = output(LogicalType::Varchar(Some(3)), None, false);
        assert_eq!(shown(described(&cast, &fetched)), Some((0, 0, 1043, 7)));
        let largest = output(char5, None, true);
        assert_eq!(shown(described(&largest, &fetched)), Some((0, 0, 1042, -1)));
        let sum = output(LogicalType::BigInt, None, true);
        assert_eq!(shown(described(&sum, &fetched)), Some((0, 0, 20, -1)));
    }
}
