//! `INSERT` and `REPLACE` of rows that only the finisher before MariaDB can compute.
//!
//! The finisher executes the client's own text: its table has the declared columns of the server's
//! and no keys, so values become what they would be there, with the same warnings and errors. The
//! rows that it gets are read back, and inserted in one statement: protected columns get sealed
//! values. What becomes of rows that are there is the server's business.
//!
//! Invariant: a plain column gets only values that no protected column took part in ([`public`]).

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Insert, ObjectName, OnInsert, SetExpr, Statement, TableObject};

use super::{declared, public, refuse_lax};
use crate::analysis::{Analysis, Constant, is_default, template};
use crate::dialect::mysql::finisher::Scanned;
use crate::dialect::mysql::{MySql, kinds, names, subset};
use crate::increment::{has_query, table_of};
use crate::walk;
use crate::{
    Dialect, Effects, FilledInsert, FilledTable, Form, InsertForm, Piece, Plan, Purpose, Refusal,
    Schema, Source, Table, Translated,
};
use sql_plan::{refuse, unsupported};

/// What is inserted.
pub(super) struct Inserted<'s> {
    /// The table.
    pub table: &'s Table,
    insert: Insert,
    form: InsertForm,
    /// Indices of the columns that get computed values, in the order of these.
    pub given: Vec<usize>,
}

fn other_form() -> Refusal {
    unsupported("an INSERT of this form in what the finisher evaluates")
}

impl<'s> Inserted<'s> {
    /// What a text inserts.
    ///
    /// # Errors
    /// A plain column would get what protected ones take part in, or the form is not understood.
    pub fn of(
        tree: Option<&Statement>,
        scanned: &Scanned,
        (schema, own): (&'s Schema, MySql),
    ) -> Result<Self, Refusal> {
        refuse_lax(own)?;
        let Some(Statement::Insert(insert)) = tree else {
            return Err(other_form());
        };
        let form = form_of(insert)?;
        let TableObject::TableName(name) = &insert.table else {
            return Err(other_form());
        };
        Analysis::new(schema).refuse_groups(name)?;
        let table = table_of(name, schema)?;
        let meant = scanned.target.as_ref();
        let meant = meant.and_then(|(database, name)| schema.find(database.as_deref(), name));
        if meant.map(|own| own.oid) != Some(table.oid) {
            return Err(other_form());
        }
        if insert.on.is_some() && (!scanned.has_plain_conditions || has_query(&insert.on)) {
            return Err(unsupported(
                "ON DUPLICATE KEY UPDATE with a query or the operators | & ^ ~ and XOR in what the \
                 finisher evaluates",
            ));
        }
        let mut own = Self {
            table,
            insert: insert.clone(),
            form,
            given: Vec::new(),
        };
        own.given = own.computed(scanned, schema)?;
        own.check_columns(schema)?;
        Ok(own)
    }

    /// Whether the text names none of the columns, and so means all.
    pub fn is_whole(&self) -> bool {
        self.insert.columns.is_empty()
    }

    pub fn effects(&self) -> Effects {
        Effects {
            writes: Some((self.table.schema.clone(), self.table.name.clone())),
            ..Effects::default()
        }
    }

    /// The columns that the rows go to.
    fn targets(&self, schema: &Schema) -> Result<Vec<usize>, Refusal> {
        if self.is_whole() {
            return Ok((0..self.table.columns.len()).collect());
        }
        let place = |name: &ObjectName| {
            let (_, column) = schema.dialect.split(name)?;
            self.table.position(&column)
        };
        let places = self.insert.columns.iter().map(place);
        let places: Vec<usize> = places.collect::<Option<_>>().ok_or_else(other_form)?;
        let is_twice = |(at, own): (usize, &usize)| places[..at].contains(own);
        match places.iter().enumerate().any(is_twice) {
            true => Err(other_form()),
            false => Ok(places),
        }
    }

    /// The columns of which the finisher computes values: not those that have their default in all
    /// rows, which the server and the proxy know.
    fn computed(&self, scanned: &Scanned, schema: &Schema) -> Result<Vec<usize>, Refusal> {
        let targets = self.targets(schema)?;
        let rows: Vec<&Vec<Expr>> = match self.insert.source.as_ref().map(|own| &*own.body) {
            Some(SetExpr::Values(values)) => values.rows.iter().map(|row| &row.content).collect(),
            _ => Vec::new(),
        };
        let mut defaults = 0;
        let mut computed = Vec::new();
        for (at, index) in targets.iter().enumerate() {
            let cells = rows.iter().filter_map(|row| row.get(at));
            let count = cells.filter(|cell| is_default(cell)).count();
            defaults += count;
            match count {
                0 => computed.push(*index),
                count if count == rows.len() => {}
                _ => {
                    return Err(unsupported(
                        "DEFAULT in some of the rows that the finisher computes",
                    )
                    .with_hint("Insert the rows with DEFAULT by a statement of their own."));
                }
            }
        }
        // Another one may stand where it is no value of a column.
        match defaults == scanned.defaults && !computed.is_empty() {
            true => Ok(computed),
            false => Err(unsupported(
                "DEFAULT in a statement that the finisher evaluates",
            )),
        }
    }

    fn check_columns(&self, schema: &Schema) -> Result<(), Refusal> {
        for index in &self.given {
            let column = &self.table.columns[*index];
            if column.is_generated {
                return Err(unsupported(
                    "a value for a generated column that the finisher computes",
                ));
            }
            let Some(rule) = column.protected.map(|id| schema.column(id)) else {
                continue;
            };
            if rule.is_checked() {
                return Err(unsupported(
                    "a computed value for a protected column with check constraints",
                ));
            }
            if rule.form.tokens.is_some() {
                return Err(unsupported(&format!(
                    "a value that the finisher computes for {}, which is found by a collation",
                    schema.title(rule.id)
                ))
                .with_hint("Pass the value as a constant or parameter."));
            }
        }
        Ok(())
    }

    /// Refuses a value for a plain column that a protected one may take part in. `is_plain`: no
    /// table that is read has one.
    pub fn check_public(&self, is_plain: bool, schema: &Schema) -> Result<(), Refusal> {
        let source = self.insert.source.as_ref().ok_or_else(other_form)?;
        let targets = self.targets(schema)?;
        if let SetExpr::Values(values) = &*source.body {
            let rows = values.rows.iter();
            rows.flat_map(|row| targets.iter().zip(&row.content))
                .try_for_each(|(index, cell)| self.check_cell(*index, cell, schema))?;
        }
        let public = public::outputs(source, schema);
        let is_public = |at: usize| public.as_ref()?.get(at).copied();
        for (at, index) in targets.iter().enumerate() {
            let column = &self.table.columns[*index];
            let is_stored = column.protected.is_none() && self.given.contains(index);
            if is_stored && !is_plain && is_public(at) != Some(true) {
                return Err(refuse(format!(
                    "a value that protected columns take part in would be stored in column \
                     {}.{}.{}, which is not protected",
                    self.table.schema, self.table.name, column.name
                ))
                .with_hint(
                    "Protect the column, leave it out, or give it a plain column or a constant.",
                ));
            }
        }
        Ok(())
    }

    /// Refuses a value of a row that may read the columns of this row: in these servers a name
    /// there means what the column has got so far, and a protected one has it in clear in the
    /// finisher.
    fn check_cell(&self, index: usize, cell: &Expr, schema: &Schema) -> Result<(), Refusal> {
        let column = &self.table.columns[index];
        let is_query = column.protected.is_some() && matches!(cell, Expr::Subquery(_));
        if is_query || is_default(cell) || public::is_of_no_row(cell, schema) {
            return Ok(());
        }
        Err(unsupported(&format!(
            "a value that names columns, or a query within a value, for column {}.{}.{} in an \
             INSERT that the finisher evaluates",
            self.table.schema, self.table.name, column.name
        ))
        .with_hint("Write INSERT … SELECT."))
    }

    /// How its rows are inserted: the index of the table, and the columns that the finisher's has.
    ///
    /// # Errors
    /// What becomes of rows that are there is more than the server can do.
    pub fn write(
        &self,
        (table, columns): (usize, &[usize]),
        scanned: &Scanned,
        schema: &Schema,
    ) -> Result<FilledInsert, Refusal> {
        let place = |index: &usize| columns.iter().position(|own| own == index);
        let given: Option<Vec<usize>> = self.given.iter().map(place).collect();
        let (write, row) = self.translated(scanned, schema)?;
        Ok(FilledInsert {
            table,
            columns: given.ok_or_else(other_form)?,
            form: self.form,
            numbered: self.numbered(schema)?,
            write,
            row,
        })
    }

    /// Which of the given columns numbers rows, of a query with `ON DUPLICATE KEY UPDATE`.
    fn numbered(&self, schema: &Schema) -> Result<Option<usize>, Refusal> {
        let body = self.insert.source.as_ref().map(|source| &*source.body);
        if self.insert.on.is_none() || matches!(body, Some(SetExpr::Values(_))) {
            return Ok(None);
        }
        let is_numbered = |index: &usize| {
            let declared = declared(self.table, *index, schema);
            declared.is_none_or(|own| own.tail.contains("AUTO_INCREMENT"))
        };
        let Some(column) = (0..self.table.columns.len()).find(is_numbered) else {
            return Ok(None);
        };
        let given = self.given.iter().position(|own| *own == column);
        given.map(Some).ok_or_else(|| {
            unsupported(
                "ON DUPLICATE KEY UPDATE behind a query whose rows the server would number, in \
                 what the finisher evaluates",
            )
            .with_hint("Give the column with AUTO_INCREMENT a value, or use two statements.")
        })
    }

    /// The statement that inserts a row, and the pieces of its template that are the row.
    fn translated(
        &self,
        scanned: &Scanned,
        schema: &Schema,
    ) -> Result<(Translated, std::ops::Range<usize>), Refusal> {
        self.check_duplicates()?;
        let hidden = self.hidden(&scanned.constants);
        let (analysis, (insert, width)) = Analysis::run(schema, |analysis| {
            for constant in &hidden {
                analysis.parameters.hide(constant);
                if let Source::Parameter(number) = constant {
                    analysis.parameters.compute(*number);
                }
            }
            let mut row = Vec::new();
            let mut columns = Vec::new();
            for (number, index) in self.given.iter().enumerate() {
                let column = &self.table.columns[*index];
                let form = match column.protected {
                    Some(id) => Form::Sealed(id, Purpose::Store),
                    None => Form::Plain,
                };
                row.push(analysis.hole(Source::Computed(number), form));
                columns.push(ObjectName::from(vec![names::quote(&column.name)]));
            }
            let mut insert = with_row(&self.insert, row)?;
            insert.columns = columns;
            analysis.insert(&mut insert, None)?;
            let width = row_of(&insert).map_or(0, <[Expr]>::len);
            Ok((insert, width))
        })?;
        analysis.check_parameters()?;
        let template = template::of(&mut Statement::Insert(insert), schema.dialect)?;
        let (template, holes, _) = template::compact(template, &analysis.holes, Vec::new());
        let is_hole = |piece: &Piece| matches!(piece, Piece::Hole(_));
        let first = template.pieces.iter().position(is_hole);
        let first = first.filter(|_| width > 0).ok_or_else(other_form)?;
        let plan = Plan::One(
            Translated {
                template,
                holes,
                outputs: Vec::new(),
                parameter_types: analysis.parameters.types(),
                locks: None,
            },
            Effects::default(),
        );
        kinds::check(&plan, schema)?;
        match plan {
            Plan::One(translated, _) => Ok((translated, first..first + 2 * width - 1)),
            _ => Err(other_form()),
        }
    }

    /// Lets assignments through that mean to the server what their tree says.
    fn check_duplicates(&self) -> Result<(), Refusal> {
        let number = sqlparser::ast::Value::Number("1".to_owned(), false);
        let mut checked = with_row(&self.insert, vec![Expr::Value(number.into())])?;
        checked.columns.clear();
        let checked = subset::check(&Statement::Insert(checked));
        checked.map_err(|unread| unread.refusal())
    }

    /// Constants and parameters of the text, without those that stand in what becomes of rows that
    /// are there. One that stands elsewhere, too, is among them.
    fn hidden(&self, constants: &[Source]) -> Vec<Source> {
        let mut hidden = constants.to_vec();
        let Some(OnInsert::DuplicateKeyUpdate(assignments)) = &self.insert.on else {
            return hidden;
        };
        for one in assignments {
            let _: ControlFlow<()> = walk::expressions(&one.value, |expression| {
                if let Ok(Some(constant)) = Constant::of(expression)
                    && let Some(at) = hidden.iter().position(|own| *own == constant.source)
                {
                    hidden.remove(at);
                }
                ControlFlow::Continue(())
            });
        }
        hidden
    }
}

/// Whether no protected column is read.
pub(super) fn reads_plain(tables: &[FilledTable]) -> bool {
    let mut read = tables.iter().filter(|table| table.fetch.is_some());
    read.all(|table| table.columns.iter().all(|own| own.sealed.is_none()))
}

/// What an `INSERT` does with rows that are there.
fn form_of(insert: &Insert) -> Result<InsertForm, Refusal> {
    let Insert {
        optimizer_hints,
        or: None,
        table_alias: None,
        overwrite: false,
        assignments,
        partitioned: None,
        after_columns,
        has_table_keyword: false,
        returning: None,
        output: None,
        priority: None,
        insert_alias: None,
        settings: None,
        format_clause: None,
        multi_table_insert_type: None,
        multi_table_else_clause: None,
        ..
    } = insert
    else {
        return Err(other_form());
    };
    if !optimizer_hints.is_empty() || !assignments.is_empty() || !after_columns.is_empty() {
        return Err(other_form());
    }
    match (insert.ignore, insert.replace_into, &insert.on) {
        (false, false, None | Some(OnInsert::DuplicateKeyUpdate(_))) => Ok(InsertForm::Insert),
        (true, false, None) => Ok(InsertForm::Ignore),
        (false, true, None) => Ok(InsertForm::Replace),
        _ => Err(other_form()),
    }
}

/// The same `INSERT` of a single row.
fn with_row(insert: &Insert, row: Vec<Expr>) -> Result<Insert, Refusal> {
    let skeleton = Dialect::MySql(MySql::default()).parse("INSERT INTO a VALUES (1)");
    let Ok(Statement::Insert(Insert {
        source: Some(mut source),
        ..
    })) = skeleton
    else {
        return Err(other_form());
    };
    if let SetExpr::Values(values) = &mut *source.body
        && let Some(first) = values.rows.first_mut()
    {
        first.content = row;
    }
    Ok(Insert {
        source: Some(source),
        ..insert.clone()
    })
}

/// The single row of an `INSERT`.
fn row_of(insert: &Insert) -> Option<&[Expr]> {
    match &*insert.source.as_ref()?.body {
        SetExpr::Values(values) => values.rows.first().map(|row| row.content.as_slice()),
        _ => None,
    }
}
