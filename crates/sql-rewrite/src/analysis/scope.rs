//! Name resolution: which column a name means.

use std::ops::Range;

use column_value::LogicalType;
use sqlparser::ast::{Expr, Ident};
use sqlstate::SqlState;

use crate::analysis::joinable::joinable;
use crate::type_limits::look_alike;
use crate::{AggregateFunction, ColumnId, Dialect, Refusal, Schema, Table};
use sql_plan::{refuse, unsupported};

/// A column of a query or relation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OutColumn {
    /// The folded name; None: it has no usable name.
    pub name: Option<String>,
    /// That name as the server writes it, where it is another one.
    pub written: Option<String>,
    /// The protected column whose sealed values it has.
    pub sealed: Option<ColumnId>,
    /// Arrays of sealed values that it has, which the proxy aggregates.
    pub gathered: Option<Gathered>,
    /// The type of a plain one, where the schema has it.
    pub logical: Option<LogicalType>,
    /// The type of a sealed one, where it is not that of the protected column.
    pub shown_as: Option<LogicalType>,
    /// Whether it is made of constants or parameters, which are sent in clear.
    pub is_free: bool,
    /// Of one that is sealed with others: the column of its relation that has the values, by its
    /// index. None: the column itself.
    pub held_by: Option<usize>,
}

/// Sealed values of a column that the server has put into an array, for an aggregate that it
/// cannot compute.
pub(crate) type Gathered = (ColumnId, AggregateFunction);

/// A relation of a FROM clause.
#[derive(Clone, Debug)]
pub(crate) struct Relation {
    /// Alias or name, which qualifies the columns.
    pub name: String,
    /// Schema, unless an alias hides it.
    pub schema: Option<String>,
    /// Columns; None: not known, and not protected.
    pub columns: Option<Vec<OutColumn>>,
    /// Columns that a join with USING merged into those of an earlier relation.
    pub merged: Vec<String>,
    /// The table, if the schema has it.
    pub table: Option<(String, String)>,
    /// Columns that are not known may be [free](OutColumn::is_free).
    pub is_free: bool,
}

/// Relations in sight of an expression, the nearest first.
#[derive(Clone, Debug)]
pub(crate) struct Scope<'o> {
    pub dialect: Dialect,
    pub relations: Vec<Relation>,
    pub outer: Option<&'o Scope<'o>>,
    /// Joins that merge columns, where all of their columns are known; none is a part of another.
    joins: Vec<Joined>,
    /// Columns that joins have merged, and their types, the outermost join last.
    merged: Vec<(String, Option<LogicalType>)>,
}

/// A join that merges columns.
#[derive(Clone, Debug)]
struct Joined {
    /// Indices of its relations.
    indices: Range<usize>,
    /// What `*` shows of it.
    columns: Vec<Shown>,
}

/// A column that `*` shows.
#[derive(Clone, Debug)]
struct Shown {
    /// Index of its relation; None: it is merged.
    relation: Option<usize>,
    column: OutColumn,
}

/// The two sides of a join, as indices of the relations: the last relation of all ends it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sides {
    /// The first relation on the left.
    pub left: usize,
    /// The first on the right.
    pub right: usize,
}

/// What a name means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resolved {
    /// Table and column, where it is a column of a known table of the nearest scope.
    pub column: Option<((String, String), String)>,
    pub sealed: Option<ColumnId>,
    pub gathered: Option<Gathered>,
    pub logical: Option<LogicalType>,
    pub shown_as: Option<LogicalType>,
    pub is_free: bool,
    pub held: Held,
}

/// Where the values of a column that is sealed with others are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// In the column itself, as everywhere else.
    Here,
    /// In another column: relation and name.
    By([String; 2]),
    /// In another column, and the name of the relation means a nearer one.
    Hidden,
    /// That is not known.
    Elsewhere,
}

const PLAIN: Resolved = Resolved {
    column: None,
    sealed: None,
    gathered: None,
    logical: None,
    shown_as: None,
    is_free: false,
    held: Held::Here,
};

impl Relation {
    /// A table of the schema, under its own name or an alias.
    pub fn of_table(table: &Table, alias: Option<String>, schema: &Schema) -> Self {
        let position = |id: ColumnId| {
            let holder = schema.holder_of(id)?;
            let mut columns = table.columns.iter();
            columns.position(|own| own.protected == Some(holder))
        };
        let held_by = |id: ColumnId| match schema.is_member(id) {
            // A column that there is not: what the name means is not known.
            true => Some(position(id).unwrap_or(usize::MAX)),
            false => None,
        };
        let columns = table.columns.iter().map(|column| OutColumn {
            name: Some(column.name.clone()),
            written: column.written.clone(),
            sealed: column.protected,
            gathered: None,
            logical: column.physical,
            shown_as: None,
            is_free: false,
            held_by: column.protected.and_then(held_by),
        });
        Self {
            schema: alias.is_none().then(|| table.schema.clone()),
            name: alias.unwrap_or_else(|| table.name.clone()),
            columns: Some(columns.collect()),
            merged: Vec::new(),
            table: Some((table.schema.clone(), table.name.clone())),
            is_free: false,
        }
    }

    fn find(&self, name: &str) -> Option<&OutColumn> {
        let columns = self.columns.as_ref()?;
        columns
            .iter()
            .find(|column| column.name.as_deref() == Some(name))
    }

    fn resolved(&self, column: &OutColumn, scope: &Scope<'_>) -> Resolved {
        let name = column.name.clone();
        let held = match column.held_by {
            None => Held::Here,
            Some(index) => {
                let holder = self.columns.iter().flatten().nth(index);
                let holder = holder.and_then(|own| own.name.clone());
                let named = scope.relation(None, &self.name);
                match holder {
                    None => Held::Elsewhere,
                    Some(_) if !named.is_some_and(|own| std::ptr::eq(own, self)) => Held::Hidden,
                    Some(name) => Held::By([self.name.clone(), name]),
                }
            }
        };
        Resolved {
            held,
            column: self.table.clone().zip(name),
            sealed: column.sealed,
            gathered: column.gathered,
            logical: column.logical,
            shown_as: column.shown_as,
            is_free: column.is_free,
        }
    }

    /// Whether any column of it is free.
    fn has_free(&self) -> bool {
        self.is_free || self.columns.iter().flatten().any(|column| column.is_free)
    }

    fn is_sealed(&self) -> bool {
        self.columns.iter().flatten().any(OutColumn::has_ciphertext)
    }
}

impl OutColumn {
    /// Whether it has sealed values, alone or in arrays.
    pub fn has_ciphertext(&self) -> bool {
        self.sealed.is_some() || self.gathered.is_some()
    }
}

impl Resolved {
    fn has_ciphertext(&self) -> bool {
        self.sealed.is_some() || self.gathered.is_some()
    }
}

impl Scope<'static> {
    /// A table alone, under its own name or an alias.
    pub fn of_table(table: &Table, alias: Option<String>, schema: &Schema) -> Self {
        let relation = Relation::of_table(table, alias, schema);
        Self::of(vec![relation], None, schema.dialect)
    }
}

impl<'o> Scope<'o> {
    /// Relations beside each other.
    pub fn of(relations: Vec<Relation>, outer: Option<&'o Scope<'o>>, dialect: Dialect) -> Self {
        Self {
            dialect,
            relations,
            outer,
            joins: Vec::new(),
            merged: Vec::new(),
        }
    }
}

impl Scope<'_> {
    /// Resolves the parts of a name: `column`, `relation.column`, `schema.relation.column`.
    pub fn resolve(&self, parts: &[Ident]) -> Result<Resolved, Refusal> {
        let names: Vec<String> = parts.iter().map(|own| self.dialect.fold(own)).collect();
        match names.as_slice() {
            [_] if self.dialect.is_variable(&parts[0]) => Ok(PLAIN),
            [column] => self.resolve_column(column, parts[0].quote_style.is_some()),
            [relation, column] => self.resolve_qualified(None, relation, column),
            [schema, relation, column] | [_, schema, relation, column] => {
                self.resolve_qualified(Some(schema), relation, column)
            }
            _ => Err(refuse("a name of so many parts is not understood")),
        }
    }

    fn resolve_column(&self, name: &str, quoted: bool) -> Result<Resolved, Refusal> {
        let mut unknown_relation = false;
        let mut is_free = false;
        let mut scope = Some(self);
        while let Some(current) = scope {
            let mut found: Option<Resolved> = None;
            for relation in &current.relations {
                let Some(column) = relation.find(name) else {
                    continue;
                };
                if relation.merged.iter().any(|merged| merged == name) {
                    continue;
                }
                if found.is_some() {
                    return Err(refuse(format!("column reference {name:?} is ambiguous"))
                        .with_state(SqlState::AMBIGUOUS_COLUMN));
                }
                found = Some(relation.resolved(column, self));
            }
            if let Some(mut found) = found {
                if let Some(logical) = current.merged_type(name) {
                    found.logical = logical;
                }
                if unknown_relation && found.has_ciphertext() {
                    return Err(refuse(format!(
                        "column reference {name:?} may be of a table that is not known"
                    ))
                    .with_hint("Qualify the name with its table."));
                }
                return Ok(found);
            }
            let relations = current.relations.iter();
            for relation in relations.filter(|one| one.columns.is_none()) {
                unknown_relation = true;
                is_free |= relation.is_free;
            }
            scope = current.outer;
        }
        let dialect = self.dialect;
        if dialect.is_system_column(name) || (!quoted && dialect.is_function_word(name)) {
            return Ok(PLAIN);
        }
        if let Some(relation) = self.relation(None, name) {
            return self.whole_row(relation);
        }
        if unknown_relation {
            return Ok(Resolved { is_free, ..PLAIN });
        }
        Err(refuse(format!("column {name:?} does not exist"))
            .with_state(SqlState::UNDEFINED_COLUMN))
    }

    fn resolve_qualified(
        &self,
        schema: Option<&str>,
        relation: &str,
        column: &str,
    ) -> Result<Resolved, Refusal> {
        let Some(found) = self.relation(schema, relation) else {
            return Err(
                refuse(format!("missing FROM-clause entry for table {relation:?}"))
                    .with_state(SqlState::UNDEFINED_TABLE),
            );
        };
        if let Some(known) = found.find(column) {
            return Ok(found.resolved(known, self));
        }
        if found.columns.is_none() || self.dialect.is_system_column(column) {
            return Ok(Resolved {
                is_free: found.is_free,
                ..PLAIN
            });
        }
        // `relation.function` would call it on the whole row.
        Err(refuse(format!("column {relation}.{column} does not exist"))
            .with_state(SqlState::UNDEFINED_COLUMN))
    }

    /// A relation by its name, from the nearest scope that has one.
    pub fn relation(&self, schema: Option<&str>, name: &str) -> Option<&Relation> {
        let mut scope = Some(self);
        while let Some(current) = scope {
            let found = current.relations.iter().find(|relation| {
                self.dialect.qualifies(Some(name), Some(&relation.name))
                    && self.dialect.qualifies(schema, relation.schema.as_deref())
            });
            if found.is_some() {
                return found;
            }
            scope = current.outer;
        }
        None
    }

    fn whole_row(&self, relation: &Relation) -> Result<Resolved, Refusal> {
        if relation.is_sealed() {
            return Err(refuse(format!(
                "a whole row of {} is not supported, since it has protected columns",
                relation.name
            ))
            .with_hint("Name the columns."));
        }
        Ok(Resolved {
            is_free: relation.has_free(),
            ..PLAIN
        })
    }

    /// The columns of `*`, or of `relation.*`; None where a relation's columns are not known and
    /// none of the others is sealed: it can stay.
    pub fn expand(
        &self,
        only: Option<&Relation>,
    ) -> Result<Option<Vec<(Expr, OutColumn)>>, Refusal> {
        let wanted: Vec<&Relation> = match only {
            Some(relation) => vec![relation],
            None => self.relations.iter().collect(),
        };
        if wanted.iter().any(|relation| relation.columns.is_none()) {
            if wanted.iter().any(|relation| relation.is_sealed()) {
                return Err(refuse(
                    "* over a relation whose columns are not known and one with protected columns",
                )
                .with_hint("Name the columns."));
            }
            return Ok(None);
        }
        let named = |relation: Option<&Relation>, column: &OutColumn| {
            let Some(name) = column
                .name
                .as_ref()
                .filter(|name| *name != self.dialect.unnamed_output())
            else {
                return Err(refuse("* over a column without a name").with_hint("Name it."));
            };
            let written = column.written.as_ref().unwrap_or(name);
            let expression = match relation {
                Some(relation) => Expr::CompoundIdentifier(vec![
                    self.dialect.quote(&relation.name),
                    self.dialect.quote(written),
                ]),
                None if self.resolve_column(name, true).is_err() => {
                    return Err(refuse(format!(
                        "* over a join that merges columns {name:?}, beside others of that name"
                    ))
                    .with_hint("Name the columns."));
                }
                None => Expr::Identifier(self.dialect.quote(written)),
            };
            Ok((expression, column.clone()))
        };
        let columns: Result<Vec<_>, Refusal> = match only {
            Some(relation) => relation
                .columns
                .iter()
                .flatten()
                .map(|column| named(Some(relation), column))
                .collect(),
            None => self
                .shown(0..self.relations.len())
                .iter()
                .map(|shown| {
                    let relation = shown.relation.map(|index| &self.relations[index]);
                    named(relation, &shown.column)
                })
                .collect(),
        };
        columns.map(Some)
    }

    /// What `*` shows of relations that stand side by side, as far as their columns are known.
    fn shown(&self, indices: Range<usize>) -> Vec<Shown> {
        let mut shown = Vec::new();
        let mut index = indices.start;
        while index < indices.end {
            let joined = self.joins.iter().find(|join| join.indices.start == index);
            if let Some(join) = joined {
                shown.extend_from_slice(&join.columns);
                index = join.indices.end;
                continue;
            }
            let columns = self.relations[index].columns.iter().flatten();
            shown.extend(columns.map(|column| Shown {
                relation: Some(index),
                column: column.clone(),
            }));
            index += 1;
        }
        shown
    }

    fn is_known(&self, indices: Range<usize>) -> bool {
        let mut relations = self.relations[indices].iter();
        relations.all(|relation| relation.columns.is_some())
    }

    /// Merges the columns of a USING clause: those of the right side are no longer seen alone.
    ///
    /// PostgreSQL 7.2.1.1: `*` shows the merged columns first, once, in the order of the clause;
    /// then what is left of the left side, then of the right one. All of that stays where the join
    /// stands among others. Gives the protected ones of both sides in pairs.
    pub fn merge(
        &mut self,
        sides: Sides,
        names: &[String],
        schema: &Schema,
    ) -> Result<Vec<(ColumnId, ColumnId)>, Refusal> {
        let indices = sides.left..self.relations.len();
        let mut lefts = self.shown(sides.left..sides.right);
        let mut rights = self.shown(sides.right..indices.end);
        let (mut columns, mut paired) = (Vec::new(), Vec::new());
        for name in names {
            let pair = (take(&mut lefts, name), take(&mut rights, name));
            let (Some(left), Some(right)) = pair else {
                let mut relations = self.relations[indices.clone()].iter();
                if !relations.any(Relation::is_sealed) {
                    continue;
                }
                return Err(refuse(format!(
                    "column {name:?} of USING is not on both sides, once on each"
                ))
                .with_state(SqlState::UNDEFINED_COLUMN));
            };
            refuse_gathered([&left.column, &right.column], schema)?;
            joinable(schema, left.column.sealed, right.column.sealed)?;
            check_alike(schema, left.column.sealed, right.column.sealed)?;
            paired.extend(left.column.sealed.zip(right.column.sealed));
            for relation in &mut self.relations[sides.right..] {
                if relation.find(name).is_some() && !relation.merged.contains(name) {
                    relation.merged.push(name.clone());
                }
            }
            // The server makes the sides one type (PostgreSQL 10.5).
            let logical = self.merged_type(name).unwrap_or(left.column.logical);
            let logical = common_type(logical, right.column.logical);
            self.merged.push((name.clone(), logical));
            columns.push(Shown {
                relation: None,
                column: OutColumn {
                    logical,
                    is_free: left.column.is_free || right.column.is_free,
                    ..left.column
                },
            });
        }
        if self.is_known(indices.clone()) {
            columns.append(&mut lefts);
            columns.append(&mut rights);
            self.joins.retain(|join| join.indices.start < sides.left);
            self.joins.push(Joined { indices, columns });
        }
        Ok(paired)
    }

    /// The type of a column that joins have merged, as far as it is known; None: none has.
    fn merged_type(&self, name: &str) -> Option<Option<LogicalType>> {
        let mut merged = self.merged.iter().rev();
        merged
            .find(|(own, _)| own == name)
            .map(|(_, logical)| *logical)
    }

    /// Names that both sides of a NATURAL join have, in the order of the left one.
    pub fn common_names(&self, sides: Sides) -> Result<Vec<String>, Refusal> {
        let indices = sides.left..self.relations.len();
        if !self.is_known(indices.clone()) {
            return Err(unsupported("NATURAL JOIN with a table that is not known"));
        }
        let rights = self.shown(sides.right..indices.end);
        let names = self.shown(sides.left..sides.right).into_iter();
        let names = names.filter_map(|shown| shown.column.name);
        Ok(names
            .filter(|name| rights.iter().any(|shown| shown.is_named(name)))
            .collect())
    }
}

impl Shown {
    fn is_named(&self, name: &str) -> bool {
        self.column.name.as_deref() == Some(name)
    }
}

/// A merged column has values of both sides, or those of the left one in the type of both.
fn check_alike(
    schema: &Schema,
    left: Option<ColumnId>,
    right: Option<ColumnId>,
) -> Result<(), Refusal> {
    let (Some(left), Some(right)) = (left, right) else {
        return Ok(());
    };
    if look_alike(schema.column(left).logical, schema.column(right).logical) {
        return Ok(());
    }
    Err(refuse(format!(
        "protected columns {} and {} of different types in one column of a join",
        schema.title(left),
        schema.title(right)
    ))
    .with_hint("Join with ON, and name the column of the side that is meant."))
}

/// Takes the column of a name out of those that have one each; None: it is not there once.
fn take(columns: &mut Vec<Shown>, name: &str) -> Option<Shown> {
    let mut indices = (0..columns.len()).filter(|index| columns[*index].is_named(name));
    let (Some(index), None) = (indices.next(), indices.next()) else {
        return None;
    };
    Some(columns.remove(index))
}

/// The type of a column that is made of two, as far as it is known.
pub(crate) fn common_type(
    one: Option<LogicalType>,
    other: Option<LogicalType>,
) -> Option<LogicalType> {
    match (one?, other?) {
        (one, other) if one == other => Some(one),
        (LogicalType::Varchar(_), LogicalType::Varchar(_)) => Some(LogicalType::Varchar(None)),
        (one, other) if one.with_all_digits() == other.with_all_digits() => {
            Some(one.with_all_digits())
        }
        (one, other) => one.common_number(other),
    }
}

/// Refuses to use an array of sealed values.
pub(crate) fn refuse_gathered<'c>(
    columns: impl IntoIterator<Item = &'c OutColumn>,
    schema: &Schema,
) -> Result<(), Refusal> {
    match columns.into_iter().find_map(|column| column.gathered) {
        None => Ok(()),
        Some((column, _)) => Err(misused(column, schema)),
    }
}

pub(crate) fn misused(column: ColumnId, schema: &Schema) -> Refusal {
    refuse(format!(
        "an operation on an aggregate of protected column {} that the server cannot do on \
         ciphertext",
        schema.title(column)
    ))
}
