//! `ON CONFLICT DO UPDATE` with new values that only the finisher can compute.
//!
//! The server itself finds conflicts: it gets an `INSERT` of all rows that gives each row which is
//! there already the values that it has, `ON CONFLICT (id) DO UPDATE SET n = t.n`. That locks the
//! row as the client's own statement would, whoever else inserts at the same moment. `RETURNING`
//! gives one row for each that was to be inserted, in their order, and says whether it was there
//! (`xmax` is that of the lock; a new row has none). The finisher evaluates condition and new
//! values over the pairs of a row that was there and the one that was to be inserted, and the proxy
//! writes them row by row, each found by its locator.
//!
//! So nothing can come between finding a conflict and writing the row, no row is looked for by a
//! key, a row that two of the rows conflict with is the server's own error (21000), and so are
//! conflicts of other keys. Inserting with `DO NOTHING` and looking for the conflicting rows
//! afterwards would need a loop, since a row may vanish in between. The price is a second version
//! of each row that is updated, and that `UPDATE` fires triggers twice: tables with triggers are
//! refused.
//!
//! Invariant: a value that the finisher computes is stored in a protected column, sealed. A plain
//! column gets what the server computes from the row and from values that the `INSERT` stores in
//! plain columns.

mod expressions;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Assignment as Set, AssignmentTarget, BinaryOperator, DoUpdate, Expr, Ident, Insert, ObjectName,
    OnConflict, OnConflictAction, OnInsert, Query, SelectItem, Statement, TableFactor, TableObject,
    Update,
};

use expressions::{EXCLUDED, Mentioned, Replaced, Unqualified, cast, mentions_excluded, singles};

use super::legs::{self, ArrayColumn, ArrayType, ROW, select_of};
use super::targets::{Target, Value};
use super::writes::note_types;
use crate::analysis::{Analysis, OutColumn, Scope, template};
use crate::dialect::postgres::finisher;
use crate::increment::{Computed, has_query, locate_rows, part_assignments};
use crate::walk;
use crate::{
    Form, InsertedColumn, Output, OutputKind, Purpose, Refusal, Schema, Source, Table, Translated,
};
use sql_plan::{FetchedColumnPlan, Upsert, refuse, unsupported};

/// The relations of the finisher's query.
const EXISTING: &str = "strongroom_0";
const PROPOSED: &str = "strongroom_1";

/// What becomes of rows that are there already.
pub(super) struct Conflicts<'s> {
    table: &'s Table,
    /// The name that qualifies its columns.
    name: Ident,
    /// The statement that writes one row, without assignments.
    update: Update,
    /// All columns that are assigned, each by itself.
    assigned: Vec<ObjectName>,
    /// What the server assigns, from the row and from plain columns of `EXCLUDED`.
    kept: Vec<Set>,
    /// What the finisher computes.
    computed: Vec<Computed>,
    /// Evaluates them over a pair of rows.
    query: Query,
    /// The columns that the query uses, by their indices.
    columns: Vec<usize>,
    /// The columns of `EXCLUDED` that the query names; None: it may mean all.
    excluded: Option<BTreeSet<String>>,
}

/// The statement that writes a row which is there, its outputs, and which plain values of the
/// proposed row it takes.
pub(super) struct RowUpdate {
    pub statement: Statement,
    pub outputs: Option<Vec<OutColumn>>,
    pub passed: Vec<usize>,
}

/// What a row that was to be inserted has in a column.
enum Proposed {
    /// A column of the arrays, by its index.
    Sent(usize),
    Null,
    /// The server computes it.
    Unknown,
}

impl<'s> Conflicts<'s> {
    /// Those of an `INSERT`.
    ///
    /// # Errors
    /// It has none, or the finisher would do otherwise than the server.
    pub fn of(insert: &Insert, table: &'s Table, schema: &'s Schema) -> Result<Self, Refusal> {
        let (
            TableObject::TableName(written),
            Some(OnInsert::OnConflict(OnConflict {
                action: OnConflictAction::DoUpdate(action),
                ..
            })),
        ) = (&insert.table, &insert.on)
        else {
            return Err(unsupported("INSERT without ON CONFLICT DO UPDATE"));
        };
        if table.has_triggers {
            return Err(unsupported(&format!(
                "ON CONFLICT DO UPDATE that computes from protected columns of table {}.{}, which \
                 has triggers",
                table.schema, table.name
            ))
            .with_hint("Read the rows with FOR UPDATE first, then insert or update them."));
        }
        let rows = table.rows;
        if rows.has_policies || rows.has_unvalidated || rows.are_moved_by_keys {
            // The server would check a row that is there with the values that it has.
            return Err(unsupported(&format!(
                "ON CONFLICT DO UPDATE that computes from protected columns of table {}.{}, which \
                 has row-level security, a constraint that is not validated, or foreign keys by \
                 which one row changes another,",
                table.schema, table.name
            ))
            .with_hint("Read the rows with FOR UPDATE first, then insert or update them."));
        }
        if has_query(&insert.on) || has_query(&insert.returning) {
            return Err(unsupported(
                "a query in ON CONFLICT DO UPDATE that computes from protected columns",
            )
            .with_hint("Use it in a statement of its own."));
        }
        let update = update_of(written, insert, schema)?;
        let name = update_name(&update)?;
        let mut own = Self {
            table,
            name,
            update,
            assigned: Vec::new(),
            kept: Vec::new(),
            computed: Vec::new(),
            query: legs::read("SELECT 1 FROM a, b WHERE 1 = 1", schema.dialect)?,
            columns: Vec::new(),
            excluded: None,
        };
        own.part(action, schema)?;
        own.ask(action, schema)?;
        Ok(own)
    }

    /// Parts what the server assigns from what the finisher computes.
    fn part(&mut self, action: &DoUpdate, schema: &Schema) -> Result<(), Refusal> {
        let known_as = schema.dialect.fold(&self.name);
        let scope = Scope::of_table(self.table, Some(known_as), schema);
        for assignment in singles(&action.assignments)? {
            let AssignmentTarget::ColumnName(name) = &assignment.target else {
                continue;
            };
            self.assigned.push(name.clone());
            let column = schema.dialect.split(name);
            let index = column.and_then(|(_, column)| self.table.position(&column));
            let column = index.map(|index| &self.table.columns[index]);
            let is_plain = column.is_some_and(|column| column.protected.is_none());
            let mut tried = assignment.clone();
            if is_plain {
                let null = Expr::Value(sqlparser::ast::Value::Null.into());
                self.replace_plain(&mut tried.value, schema, &mut |_| Ok(null.clone()))?;
            }
            let update = Update {
                assignments: vec![tried],
                ..self.update.clone()
            };
            let analysis = Analysis::new(schema);
            let parted = part_assignments(&update, self.table, &analysis, &scope);
            if let Ok((_, computed)) = &parted {
                analysis.refuse_members(computed.iter().map(|(column, ..)| *column))?;
            }
            match parted {
                Ok((kept, _)) if !kept.is_empty() => self.kept.push(assignment),
                Ok((_, computed)) => self.computed.extend(computed),
                Err(_) if is_plain && mentions_excluded(&assignment.value, schema) => {
                    return Err(refuse(format!(
                        "a value that protected columns take part in would be stored in column \
                         {}.{}.{name}, which is not protected",
                        self.table.schema, self.table.name
                    ))
                    .with_hint("Protect the column, or leave it out."));
                }
                Err(refusal) => return Err(refusal),
            }
        }
        Ok(())
    }

    /// Makes the query for the finisher.
    fn ask(&mut self, action: &DoUpdate, schema: &Schema) -> Result<(), Refusal> {
        let factor = &self.update.table.relation;
        let text = match factor {
            TableFactor::Table { name, .. } => {
                format!(
                    "SELECT 1 FROM {name} AS {}, {EXCLUDED} WHERE 1 = 1",
                    self.name
                )
            }
            _ => return Err(unsupported("INSERT into what is no table")),
        };
        let mut query = legs::read(&text, schema.dialect)?;
        let select = select_of(&mut query)?;
        let values = self.computed.iter().map(|(_, _, value)| value.clone());
        select.projection = values.map(SelectItem::UnnamedExpr).collect();
        select.selection = action.selection.clone();
        finisher::check(&query, schema)?;
        if !finisher::replace_server_calls(&mut query.clone()).is_empty() {
            return Err(unsupported(
                "the server's time or user in an ON CONFLICT DO UPDATE that computes from \
                 protected columns",
            )
            .with_hint("Pass it as a parameter."));
        }
        let mut mentioned = Mentioned::new(schema);
        let _: ControlFlow<()> = walk::visit(&query, &mut mentioned);
        let known_as = schema.dialect.fold(&self.name);
        let is_whole =
            finisher::means_whole_rows(&query, |name| name == known_as || name == EXCLUDED);
        let columns = self.table.columns.iter().enumerate();
        let used = columns.filter(|(_, own)| is_whole || mentioned.names.contains(&own.name));
        self.columns = used.map(|(index, _)| index).collect();
        self.excluded = (!is_whole).then_some(mentioned.excluded);
        let _: ControlFlow<()> = walk::visit_mut(&mut query, &mut Unqualified);
        self.query = query;
        Ok(())
    }

    /// Puts something in the place of plain columns of `EXCLUDED`.
    fn replace_plain(
        &self,
        value: &mut Expr,
        schema: &Schema,
        of: &mut dyn FnMut(usize) -> Result<Expr, Refusal>,
    ) -> Result<(), Refusal> {
        let mut replaced = Replaced {
            table: self.table,
            schema,
            of,
        };
        match walk::visit_mut(value, &mut replaced) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(refusal) => Err(refusal),
        }
    }

    /// The query, whose parameters and constants may meet protected columns.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// Has the server find the conflicts and return the rows.
    pub fn put(&self, insert: &mut Insert, schema: &Schema) {
        let qualified =
            |column: &Ident| Expr::CompoundIdentifier(vec![self.name.clone(), column.clone()]);
        let mut items: Vec<Expr> = schema
            .dialect
            .row_locator()
            .iter()
            .map(|column| qualified(&Ident::new(*column)))
            .collect();
        items.push(Expr::BinaryOp {
            left: Box::new(qualified(&Ident::new("xmax"))),
            op: BinaryOperator::NotEq,
            right: Box::new(Expr::Value(
                sqlparser::ast::Value::Number("0".to_owned(), false).into(),
            )),
        });
        let columns = self.columns.iter().map(|index| &self.table.columns[*index]);
        items.extend(columns.map(|column| qualified(&schema.dialect.quote(&column.name))));
        let items = items.into_iter().map(SelectItem::UnnamedExpr);
        let own = insert.returning.take().unwrap_or_default();
        insert.returning = Some(items.chain(own).collect());
        if let Some(OnInsert::OnConflict(OnConflict {
            action: OnConflictAction::DoUpdate(action),
            ..
        })) = &mut insert.on
        {
            action.selection = None;
            let names = self.assigned.iter();
            action.assignments = names
                .map(|name| Set {
                    target: AssignmentTarget::ColumnName(name.clone()),
                    value: Expr::CompoundIdentifier(
                        std::iter::once(self.name.clone())
                            .chain(name.0.last().and_then(|part| part.as_ident()).cloned())
                            .collect(),
                    ),
                })
                .collect();
        }
    }

    /// The outputs of that `INSERT`. Those that the client did not ask for are hidden.
    pub fn outputs(&self, outputs: Vec<OutColumn>) -> Vec<Output> {
        let hidden = Upsert::OUTPUTS + self.columns.len();
        let outputs = outputs.into_iter().enumerate();
        let outputs = outputs.map(|(index, output)| Output {
            shown_as: output.shown_as,
            hidden: index < hidden,
            ..Output::shown(output.sealed.map_or(OutputKind::Plain, OutputKind::Sealed))
        });
        outputs.collect()
    }

    /// The statement that writes one row.
    pub fn update(
        &self,
        (targets, sent): (&[Target], &[InsertedColumn]),
        analysis: &mut Analysis,
    ) -> Result<RowUpdate, Refusal> {
        let schema = analysis.schema;
        note_types(&self.kept, self.table, analysis)?;
        let mut passed: Vec<usize> = Vec::new();
        let mut assignments = self.kept.clone();
        for Set { value, .. } in &mut assignments {
            let mut of = |column: usize| {
                let Proposed::Sent(index) = self.proposed(column, targets, sent) else {
                    return self.absent(column, targets, sent, schema);
                };
                let position = passed.iter().position(|own| *own == index);
                let position = position.unwrap_or_else(|| {
                    passed.push(index);
                    passed.len() - 1
                });
                let source = Source::Computed(self.computed.len() + position);
                let hole = analysis.hole(source, Form::Plain);
                cast(hole, &self.array_column(column, schema)?.type_name)
            };
            self.replace_plain(value, schema, &mut of)?;
        }
        for (number, (column, target, _)) in self.computed.iter().enumerate() {
            let form = Form::Sealed(*column, Purpose::Store);
            assignments.push(Set {
                target: target.clone(),
                value: analysis.hole(Source::Computed(number), form),
            });
        }
        let mut update = Update {
            assignments,
            selection: locate_rows(&schema.dialect.fold(&self.name), analysis),
            ..self.update.clone()
        };
        let outputs = analysis.update(&mut update, None)?;
        Ok(RowUpdate {
            statement: Statement::Update(update),
            outputs,
            passed,
        })
    }

    /// What a proposed row has in a column of the table.
    fn proposed(&self, column: usize, targets: &[Target], sent: &[InsertedColumn]) -> Proposed {
        let own = &self.table.columns[column];
        let target = targets
            .iter()
            .position(|target| target.column.number == own.number);
        let by_server = match target.map(|index| &targets[index].value) {
            Some(Value::Kept(_)) => return Proposed::Unknown,
            Some(Value::Computed) => false,
            Some(Value::Default) | None => own.has_default || own.is_generated,
        };
        let found = sent.iter().position(|one| match one {
            InsertedColumn::Sealed(_, id) | InsertedColumn::Default(_, id) => {
                own.protected == Some(*id)
            }
            InsertedColumn::Plain(index) => own.protected.is_none() && target == Some(*index),
        });
        match found {
            Some(index) => Proposed::Sent(index),
            None if by_server && own.protected.is_none() => Proposed::Unknown,
            None => Proposed::Null,
        }
    }

    /// A plain column that is not sent.
    fn absent(
        &self,
        column: usize,
        targets: &[Target],
        sent: &[InsertedColumn],
        schema: &Schema,
    ) -> Result<Expr, Refusal> {
        match self.proposed(column, targets, sent) {
            Proposed::Unknown => Err(self.unknown(column)),
            Proposed::Sent(_) | Proposed::Null => {
                let null = Expr::Value(sqlparser::ast::Value::Null.into());
                cast(null, &self.array_column(column, schema)?.type_name)
            }
        }
    }

    fn unknown(&self, column: usize) -> Refusal {
        unsupported(&format!(
            "EXCLUDED.{} in an ON CONFLICT DO UPDATE that computes from protected columns, since \
             the server computes its value,",
            self.table.columns[column].name
        ))
        .with_hint("Give the column a value in the rows to insert.")
    }

    fn array_column(&self, column: usize, schema: &Schema) -> Result<ArrayColumn, Refusal> {
        let sealed = self.table.columns[column].protected;
        Ok(legs::column(self.table, column, sealed, schema)?.2)
    }

    /// The relations of the finisher's query, and what is given it of the rows.
    fn relations(
        &self,
        (targets, sent): (&[Target], &[InsertedColumn]),
        schema: &Schema,
    ) -> Result<Pairs, Refusal> {
        let mut pairs = Pairs {
            existing: vec![legs::counted_row().2],
            proposed: vec![legs::counted_row().2],
            fetched: Vec::new(),
            sent: Vec::new(),
        };
        for (number, index) in self.columns.iter().enumerate() {
            let column = &self.table.columns[*index];
            let (_, element, array) = legs::column(self.table, *index, column.protected, schema)?;
            pairs.existing.push(array.clone());
            pairs.fetched.push(FetchedColumnPlan {
                output: Upsert::OUTPUTS + number,
                element,
            });
            let is_named = self.excluded.as_ref();
            let is_named = is_named.is_none_or(|names| names.contains(&column.name));
            let array_type = match self.proposed(*index, targets, sent) {
                Proposed::Sent(index) => {
                    pairs.sent.push(index);
                    match sent[index] {
                        InsertedColumn::Plain(_) => ArrayType::Declared,
                        _ => array.array_type,
                    }
                }
                Proposed::Unknown if is_named => return Err(self.unknown(*index)),
                Proposed::Unknown | Proposed::Null => ArrayType::Null,
            };
            pairs.proposed.push(ArrayColumn {
                array_type,
                ..array
            });
        }
        Ok(pairs)
    }

    /// The query over pairs, as a common table expression without rows: it has the types of the
    /// parameters.
    pub fn shape(
        &self,
        rows: (&[Target], &[InsertedColumn]),
        schema: &Schema,
    ) -> Result<String, Refusal> {
        let pairs = self.relations(rows, schema)?;
        let mut query = self.query.clone();
        let select = select_of(&mut query)?;
        let condition = select.selection.take();
        let values: Vec<String> = select.projection.iter().map(ToString::to_string).collect();
        let condition = condition.map_or_else(String::new, |own| format!(" WHERE {own}"));
        let of = |columns: &[ArrayColumn]| {
            let columns = columns.iter();
            let nulls =
                columns.map(|own| format!("CAST(NULL AS {}) AS {}", own.type_name, own.name));
            nulls.collect::<Vec<_>>().join(", ")
        };
        let text = format!(
            "{} AS (SELECT {} FROM (SELECT {}) AS {}, (SELECT {}) AS {EXCLUDED}{condition})",
            finisher::PAIRS_RELATION,
            values.join(", "),
            of(&pairs.existing),
            self.name,
            of(&pairs.proposed),
        );
        Ok(schema.dialect.for_server(text))
    }

    /// The plan, given the statement that writes one row. So many parameters come before the
    /// arrays.
    pub fn plan(
        &self,
        rows: (&[Target], &[InsertedColumn]),
        (update, passed): (Translated, Vec<usize>),
        parameters: usize,
        schema: &Schema,
    ) -> Result<Upsert, Refusal> {
        let pairs = self.relations(rows, schema)?;
        let mut query = self.query.clone();
        let row = |name: &Ident| Expr::CompoundIdentifier(vec![name.clone(), Ident::new(ROW)]);
        let (own, excluded) = (row(&self.name), row(&Ident::new(EXCLUDED)));
        let select = select_of(&mut query)?;
        select
            .projection
            .insert(0, SelectItem::UnnamedExpr(own.clone()));
        let is_pair = Expr::BinaryOp {
            left: Box::new(own),
            op: BinaryOperator::Eq,
            right: Box::new(excluded),
        };
        select.selection = Some(match select.selection.take() {
            None => is_pair,
            Some(condition) => Expr::BinaryOp {
                left: Box::new(is_pair),
                op: BinaryOperator::And,
                right: Box::new(Expr::Nested(Box::new(condition))),
            },
        });
        let relations = [(EXISTING, &self.name), (PROPOSED, &Ident::new(EXCLUDED))];
        let from = relations.map(|(relation, name)| format!("{relation} AS {name}"));
        let mut named = legs::read(
            &format!("SELECT 1 FROM {}", from.join(", ")),
            schema.dialect,
        )?;
        select.from = std::mem::take(&mut select_of(&mut named)?.from);
        // It is read again as a whole.
        let mut whole = Statement::Query(Box::new(query.clone()));
        template::of(&mut whole, schema.dialect)?;
        let mut number = parameters;
        let existing = legs::array_relation(EXISTING, &pairs.existing, &mut number);
        let proposed = legs::array_relation(PROPOSED, &pairs.proposed, &mut number);
        let text = format!("WITH {existing}, {proposed} {query} ORDER BY 1");
        Ok(Upsert {
            text: schema.dialect.for_server(text),
            existing: pairs.fetched,
            proposed: pairs.sent,
            columns: self.computed.iter().map(|(column, ..)| *column).collect(),
            passed,
            update,
        })
    }
}

/// What the finisher is given of pairs of rows.
struct Pairs {
    existing: Vec<ArrayColumn>,
    proposed: Vec<ArrayColumn>,
    fetched: Vec<FetchedColumnPlan>,
    sent: Vec<usize>,
}

/// `UPDATE` of the table of an `INSERT`.
fn update_of(name: &ObjectName, insert: &Insert, schema: &Schema) -> Result<Update, Refusal> {
    let alias = insert.table_alias.as_ref();
    let alias = alias.map_or_else(String::new, |alias| format!(" AS {}", alias.alias));
    match schema
        .dialect
        .parse(&format!("UPDATE {name}{alias} SET a = 1"))
    {
        Ok(Statement::Update(update)) => Ok(Update {
            returning: insert.returning.clone(),
            ..update
        }),
        _ => Err(unsupported("a table with such a name")),
    }
}

/// The name that qualifies the columns of the table.
fn update_name(update: &Update) -> Result<Ident, Refusal> {
    let name = match &update.table.relation {
        TableFactor::Table {
            alias: Some(alias), ..
        } => Some(alias.name.clone()),
        TableFactor::Table { name, .. } => name.0.last().and_then(|part| part.as_ident()).cloned(),
        _ => None,
    };
    name.ok_or_else(|| unsupported("a computed name"))
}
