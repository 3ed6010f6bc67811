//! Which column a name means.

use column_types::LogicalType;
use sqlparser::ast::{Expr, Ident};

use super::refuse;
use crate::names::folded;
use crate::{AggregateFunction, ColumnId, Refusal, Schema, Table};

/// A column of what a query or relation gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OutColumn {
    /// The name as the catalogue would have it; None: it has none that could be used.
    pub name: Option<String>,
    /// The protected column whose sealed values it has.
    pub sealed: Option<ColumnId>,
    /// It has arrays of sealed values, which the proxy aggregates.
    pub gathered: Option<Gathered>,
    /// The type of a plain one, where the schema tells.
    pub logical: Option<LogicalType>,
}

/// Sealed values of a column that the server has put into an array, for an aggregate that it
/// cannot compute.
pub(crate) type Gathered = (ColumnId, AggregateFunction);

/// A relation of a FROM clause.
#[derive(Clone, Debug)]
pub(crate) struct Relation {
    /// Alias or name, by which columns are qualified.
    pub name: String,
    /// Schema, while no alias hides it.
    pub schema: Option<String>,
    /// Columns; None: not known, and not protected.
    pub columns: Option<Vec<OutColumn>>,
    /// Columns that a join with USING merged into those of an earlier relation.
    pub merged: Vec<String>,
    /// The table, where it is one that the schema has.
    pub table: Option<(String, String)>,
}

/// Relations in sight of an expression, the nearest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope<'o> {
    pub relations: Vec<Relation>,
    pub outer: Option<&'o Scope<'o>>,
}

/// What a name means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resolved {
    /// Table and column, where it is a column of a known table of the nearest scope.
    pub column: Option<((String, String), String)>,
    pub sealed: Option<ColumnId>,
    pub gathered: Option<Gathered>,
    pub logical: Option<LogicalType>,
}

const PLAIN: Resolved = Resolved {
    column: None,
    sealed: None,
    gathered: None,
    logical: None,
};

/// Columns that every table has (PostgreSQL 5.5); none of them is ever sealed.
const SYSTEM_COLUMNS: &[&str] = &["ctid", "tableoid", "xmin", "xmax", "cmin", "cmax"];

/// Words that are functions though they look like names.
const WORDS: &[&str] = &[
    "current_catalog",
    "current_date",
    "current_role",
    "current_schema",
    "current_time",
    "current_timestamp",
    "current_user",
    "localtime",
    "localtimestamp",
    "session_user",
    "user",
];

impl Relation {
    /// A table of the schema, under its own name or an alias.
    pub fn of_table(table: &Table, alias: Option<&Ident>) -> Self {
        let columns = table.columns.iter().map(|column| OutColumn {
            name: Some(column.name.clone()),
            sealed: column.protected,
            gathered: None,
            logical: column.physical,
        });
        Self {
            name: alias.map_or_else(|| table.name.clone(), folded),
            schema: alias.is_none().then(|| table.schema.clone()),
            columns: Some(columns.collect()),
            merged: Vec::new(),
            table: Some((table.schema.clone(), table.name.clone())),
        }
    }

    fn find(&self, name: &str) -> Option<&OutColumn> {
        let columns = self.columns.as_ref()?;
        columns
            .iter()
            .find(|column| column.name.as_deref() == Some(name))
    }

    fn resolved(&self, column: &OutColumn) -> Resolved {
        let name = column.name.clone();
        Resolved {
            column: self.table.clone().zip(name),
            sealed: column.sealed,
            gathered: column.gathered,
            logical: column.logical,
        }
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

impl Scope<'_> {
    /// What the parts of a name mean: `column`, `relation.column`, `schema.relation.column`.
    pub fn resolve(&self, parts: &[Ident]) -> Result<Resolved, Refusal> {
        let names: Vec<String> = parts.iter().map(folded).collect();
        match names.as_slice() {
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
                        .with_state("42702"));
                }
                found = Some(relation.resolved(column));
            }
            if let Some(found) = found {
                if unknown_relation && found.has_ciphertext() {
                    return Err(refuse(format!(
                        "column reference {name:?} may be of a table that is not known"
                    ))
                    .with_hint("Qualify the name with its table."));
                }
                return Ok(found);
            }
            unknown_relation |= current.relations.iter().any(|one| one.columns.is_none());
            scope = current.outer;
        }
        if SYSTEM_COLUMNS.contains(&name) || (!quoted && WORDS.contains(&name)) {
            return Ok(PLAIN);
        }
        if let Some(relation) = self.relation(None, name) {
            return self.whole_row(relation);
        }
        if unknown_relation {
            return Ok(PLAIN);
        }
        Err(refuse(format!("column {name:?} does not exist")).with_state("42703"))
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
                    .with_state("42P01"),
            );
        };
        if let Some(known) = found.find(column) {
            return Ok(found.resolved(known));
        }
        if found.columns.is_none() || SYSTEM_COLUMNS.contains(&column) {
            return Ok(PLAIN);
        }
        // `relation.function` would call it on the whole row.
        Err(refuse(format!("column {relation}.{column} does not exist")).with_state("42703"))
    }

    /// A relation by its name, from the nearest scope that has one.
    pub fn relation(&self, schema: Option<&str>, name: &str) -> Option<&Relation> {
        let mut scope = Some(self);
        while let Some(current) = scope {
            let found = current.relations.iter().find(|relation| {
                relation.name == name && (schema.is_none() || relation.schema.as_deref() == schema)
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
        Ok(PLAIN)
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
        let mut columns = Vec::new();
        let mut merged: Vec<&String> = Vec::new();
        if only.is_none() {
            // PostgreSQL 7.2.1.1: merged columns come first, once.
            for name in wanted.iter().flat_map(|relation| &relation.merged) {
                if !merged.contains(&name) {
                    merged.push(name);
                    let column = wanted.iter().find_map(|relation| relation.find(name));
                    let column = column.expect("a merged column is on both sides");
                    columns.push((Expr::Identifier(quoted(name)), column.clone()));
                }
            }
        }
        for relation in wanted {
            for column in relation.columns.iter().flatten() {
                let Some(name) = &column.name else {
                    return Err(refuse("* over a column without a name").with_hint("Name it."));
                };
                if merged.contains(&name) {
                    continue;
                }
                let parts = vec![quoted(&relation.name), quoted(name)];
                columns.push((Expr::CompoundIdentifier(parts), column.clone()));
            }
        }
        Ok(Some(columns))
    }

    /// Merges the columns of a USING clause: those of the last relation are no longer seen alone.
    /// Gives the protected ones of both sides.
    pub fn merge(&mut self, names: &[String], schema: &Schema) -> Result<Vec<ColumnId>, Refusal> {
        let mut paired = Vec::new();
        let (last, earlier) = self
            .relations
            .split_last_mut()
            .expect("a join has two sides");
        for name in names {
            let left: Vec<&OutColumn> = earlier
                .iter()
                .filter(|relation| !relation.merged.contains(name))
                .filter_map(|relation| relation.find(name))
                .collect();
            let sides = (left.as_slice(), last.find(name));
            let ([left], Some(right)) = sides else {
                if earlier
                    .iter()
                    .chain([&*last])
                    .all(|relation| !relation.is_sealed())
                {
                    continue;
                }
                return Err(
                    refuse(format!("column {name:?} of USING is not on both sides"))
                        .with_state("42703"),
                );
            };
            super::gather::refuse_gathered([*left, right], schema)?;
            super::comparison::joinable(schema, left.sealed, right.sealed)?;
            paired.extend(left.sealed.into_iter().chain(right.sealed));
            last.merged.push(name.clone());
        }
        Ok(paired)
    }

    /// Names that both sides of a NATURAL join have.
    pub fn common_names(&self) -> Result<Vec<String>, Refusal> {
        let (last, earlier) = self.relations.split_last().expect("a join has two sides");
        let unknown = self
            .relations
            .iter()
            .any(|relation| relation.columns.is_none());
        if unknown {
            return Err(super::unsupported(
                "NATURAL JOIN with a table that is not known",
            ));
        }
        let names = last
            .columns
            .iter()
            .flatten()
            .filter_map(|column| column.name.clone());
        Ok(names
            .filter(|name| earlier.iter().any(|relation| relation.find(name).is_some()))
            .collect())
    }
}

/// A name in quotes, which means the same whatever word it is.
pub(crate) fn quoted(name: &str) -> Ident {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let starts_well = name
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_lowercase());
    if starts_well && name.bytes().all(plain) && !is_reserved(name) {
        Ident::new(name)
    } else {
        Ident::with_quote('"', name)
    }
}

fn is_reserved(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    sqlparser::keywords::ALL_KEYWORDS
        .binary_search(&upper.as_str())
        .is_ok()
}
