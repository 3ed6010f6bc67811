//! Rows of a fetch as PostgreSQL gives them, and rows of the answer as it would: the executor's
//! cells on this wire.

use column_types::{Accumulator, LogicalType, TextContext, ValueError};
use finish::{Field, Input, Output, Program, RowWriter};
use sql_plan::{AggregateFunction, ColumnId, Expression, Finish, OutputKind};
use wire_postgres::backend::{self, kind, write_value};
use wire_postgres::values;

use super::inputs::format as format_of;
use super::rows::of_type;

/// A column of a fetch.
#[derive(Clone, Debug)]
pub(super) struct FetchedColumn {
    /// How the client knows it, without a name, and the format in which it comes.
    pub described: backend::Field<'static>,
    /// The type; None: one that the proxy does not know.
    pub logical: Option<LogicalType>,
    /// The protected column; None: it is plain.
    pub sealed: Option<ColumnId>,
    /// It comes as an array of sealed values, and is this aggregate of them.
    pub gathered: Option<Accumulator>,
}

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

/// An aggregate of this type: it has none of its limits.
fn aggregate(logical: LogicalType) -> backend::Field<'static> {
    backend::Field {
        type_modifier: -1,
        ..of_type(COMPUTED, logical)
    }
}

impl FetchedColumn {
    /// A plain column, as the server describes it.
    pub(super) fn plain(field: &backend::Field<'_>, format: i16) -> Self {
        Self {
            described: backend::Field {
                format,
                ..unnamed(field)
            },
            logical: values::logical(field.type_oid, field.type_modifier),
            sealed: None,
            gathered: None,
        }
    }

    /// A sealed column of this type.
    pub(super) fn sealed(field: &backend::Field<'_>, id: ColumnId, logical: LogicalType) -> Self {
        Self {
            described: of_type(unnamed(field), logical),
            logical: Some(logical),
            sealed: Some(id),
            gathered: None,
        }
    }

    /// An aggregate of sealed values of a column.
    ///
    /// # Errors
    /// As [`Accumulator::new`].
    pub(super) fn gathered(
        id: ColumnId,
        logical: LogicalType,
        function: AggregateFunction,
    ) -> Result<Self, ValueError> {
        let gathered = finish::accumulator(function, logical)?;
        let logical = gathered.result_type();
        Ok(Self {
            described: aggregate(logical),
            logical: Some(logical),
            sealed: Some(id),
            gathered: Some(gathered),
        })
    }

    fn input(&self) -> Input {
        Input {
            logical: self.logical,
            is_aggregate: self.gathered.is_some(),
        }
    }
}

/// The formats in which plain columns are asked for, so that those that only pass need not be
/// read; sealed ones come in binary. `wanted`: of the answer's columns.
pub(super) fn fetch_formats(finish: &Finish, wanted: impl Fn(usize) -> i16) -> Vec<i16> {
    let mut formats = vec![1; finish.fetch.outputs.len()];
    for (number, (_, value, _)) in finish.project.iter().enumerate().rev() {
        if let Expression::Column(column) = value
            && let Some(output) = finish.fetch.outputs.get(*column)
            && output.kind == OutputKind::Plain
        {
            formats[*column] = wanted(number);
        }
    }
    formats
}

/// The executor's program over these columns. Bytes of plain ones pass where they come in the
/// format that the client wants.
///
/// # Errors
/// As [`Program::new`].
pub(super) fn program(
    finish: &Finish,
    fetched: &[FetchedColumn],
    constants: &dyn finish::Constants,
    wanted: impl Fn(usize) -> i16,
) -> Result<Program, ValueError> {
    let inputs: Vec<Input> = fetched.iter().map(FetchedColumn::input).collect();
    Program::new(finish, &inputs, constants, |column, output| {
        fetched.get(column).is_some_and(|fetched| {
            fetched.sealed.is_none() && fetched.described.format == wanted(output)
        })
    })
}

/// None is impossible: a computed column has a type.
fn described(output: &Output<'_>, fetched: &[FetchedColumn]) -> Option<backend::Field<'static>> {
    if let Some(column) = output.origin {
        return fetched.get(column).map(|fetched| fetched.described);
    }
    // The server gives the limits of a cast, and none of an aggregate.
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
    /// Rows of a program over fetched columns, in the formats that are wanted.
    pub(super) fn new(
        program: &Program,
        fetched: &[FetchedColumn],
        wanted: impl Fn(usize) -> i16,
    ) -> Self {
        let columns = program.outputs().enumerate();
        let columns = columns.filter_map(|(number, output)| {
            let described = described(&output, fetched)?;
            Some(backend::Field {
                format: wanted(number),
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
                result = write_value(out, |out| write_field(field, column.format, context, out));
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
    format: i16,
    context: &TextContext,
    out: &mut Vec<u8>,
) -> Result<bool, ValueError> {
    match field {
        Field::Null => return Ok(false),
        Field::Passed(bytes) => out.extend_from_slice(bytes),
        Field::Value(value, logical) => {
            values::write(value, *logical, format_of(format)?, context, out)?;
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
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
        let fetched = [FetchedColumn::sealed(&bytea, ColumnId(0), char5)];
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
