//! Rows of a fetch as PostgreSQL gives them, and rows of the answer as it would: the executor's
//! cells on this wire.

use column_types::{Accumulator, LogicalType, TextContext, ValueError};
use finish::{Field, Input, Output, Program, RowWriter};
use sql_plan::{AggregateFunction, ColumnId, Expression, Finish, OutputKind};
use wire_postgres::backend::{self, kind, write_value};
use wire_postgres::values;

use super::inputs::format as format_of;

/// A column of a fetch.
#[derive(Clone, Debug)]
pub(super) struct FetchedColumn {
    /// How the client knows it.
    described: Described,
    /// The type; None: one that the proxy does not know.
    pub logical: Option<LogicalType>,
    /// The protected column; None: it is plain.
    pub sealed: Option<ColumnId>,
    /// It comes as an array of sealed values, and is this aggregate of them.
    pub gathered: Option<Accumulator>,
    /// 0 or 1: how a plain one comes.
    pub format: i16,
}

/// Table and type of a column, as RowDescription has them.
#[derive(Clone, Copy, Debug)]
struct Described {
    /// The table that it is of, or 0.
    table: u32,
    /// Its number in the table, or 0.
    column: i16,
    type_oid: u32,
    type_size: i16,
    type_modifier: i32,
}

impl Described {
    /// A column of no table.
    fn computed(logical: LogicalType, type_modifier: i32) -> Self {
        Self {
            table: 0,
            column: 0,
            type_oid: values::oid(logical),
            type_size: values::size(logical),
            type_modifier,
        }
    }
}

impl FetchedColumn {
    /// A plain column, as the server describes it.
    pub(super) fn plain(field: &backend::Field<'_>, format: i16) -> Self {
        Self {
            described: Described {
                table: field.table,
                column: field.column,
                type_oid: field.type_oid,
                type_size: field.type_size,
                type_modifier: field.type_modifier,
            },
            logical: values::logical(field.type_oid, field.type_modifier),
            sealed: None,
            gathered: None,
            format,
        }
    }

    /// A sealed column of this type.
    pub(super) fn sealed(field: &backend::Field<'_>, id: ColumnId, logical: LogicalType) -> Self {
        Self {
            described: Described {
                table: field.table,
                column: field.column,
                ..Described::computed(logical, values::modifier(logical))
            },
            logical: Some(logical),
            sealed: Some(id),
            gathered: None,
            format: 1,
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
            described: Described::computed(logical, -1),
            logical: Some(logical),
            sealed: Some(id),
            gathered: Some(gathered),
            format: 1,
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
        fetched
            .get(column)
            .is_some_and(|fetched| fetched.sealed.is_none() && fetched.format == wanted(output))
    })
}

/// None is impossible: a computed column has a type.
fn described(output: &Output<'_>, fetched: &[FetchedColumn]) -> Option<Described> {
    if let Some(column) = output.origin {
        return fetched.get(column).map(|fetched| fetched.described);
    }
    // The server gives the limits of a cast, and none of an aggregate.
    let logical = output.logical?;
    let type_modifier = match output.is_aggregate {
        true => -1,
        false => values::modifier(logical),
    };
    Some(Described::computed(logical, type_modifier))
}

/// Writes an answer as DataRow messages, and its RowDescription.
#[derive(Debug)]
pub(crate) struct DataRows {
    /// Each column, and its format, 0 or 1, as the client asked.
    columns: Vec<(Described, i16)>,
}

impl DataRows {
    /// Rows of a program over fetched columns, in the formats that are wanted.
    pub(super) fn new(
        program: &Program,
        fetched: &[FetchedColumn],
        wanted: impl Fn(usize) -> i16,
    ) -> Self {
        let columns = program.outputs().enumerate();
        let columns = columns
            .filter_map(|(number, output)| Some((described(&output, fetched)?, wanted(number))));
        Self {
            columns: columns.collect(),
        }
    }

    /// Writes the RowDescription.
    pub(super) fn write_description(&self, program: &Program, out: &mut Vec<u8>) {
        let fields = program.outputs().zip(&self.columns);
        let fields = fields.map(|(output, (described, format))| backend::Field {
            name: output.name.as_bytes(),
            table: described.table,
            column: described.column,
            type_oid: described.type_oid,
            type_size: described.type_size,
            type_modifier: described.type_modifier,
            format: *format,
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
            for (field, (_, format)) in fields.iter().zip(&self.columns) {
                result = write_value(out, |out| write_field(field, *format, context, out));
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
    fn shown(described: Option<Described>) -> Option<(u32, i16, u32, i32)> {
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
