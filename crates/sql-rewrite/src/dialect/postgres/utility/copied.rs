//! `COPY` of tables with columns that are sealed together.

use sqlparser::ast::{Query, Statement};
use sqlstate::SqlState;

use crate::analysis::Analysis;
use crate::dialect::postgres::names::quoted;
use crate::{ColumnId, CopiedGroup, CopiedMember, Literal, Refusal, Schema, Table};
use sql_plan::{refuse, unsupported};

/// A group that is written, with places of columns in the table.
pub(super) struct Written {
    /// Of the column that has its values.
    pub holder: usize,
    /// Of the last member; None: that is the holder.
    pub last: Option<usize>,
    pub group: CopiedGroup,
}

/// The query that gives what `COPY table TO` gives: rows of the table itself.
pub(super) fn query_of(
    table: &Table,
    indices: &[usize],
    schema: &Schema,
) -> Result<Query, Refusal> {
    if schema.catalogue.partitioned.contains(&table.oid) {
        return Err(refuse(format!(
            "cannot copy from partitioned table {:?}",
            table.name
        ))
        .with_state(SqlState::WRONG_OBJECT_TYPE)
        .with_hint("Try the COPY (SELECT ...) TO variant."));
    }
    let names = indices.iter().map(|index| &table.columns[*index].name);
    let names: Vec<String> = names.map(|name| quoted(name).to_string()).collect();
    let text = format!(
        "SELECT {} FROM ONLY {}.{}",
        names.join(", "),
        quoted(&table.schema),
        quoted(&table.name)
    );
    match schema.dialect.parse(&text) {
        Ok(Statement::Query(query)) => Ok(*query),
        _ => Err(unsupported("COPY of a table of such a name")),
    }
}

/// The groups that rows give members to, or defaults, each with the place in the table of the
/// column that has its values, and of its last member.
pub(super) fn groups(
    table: &Table,
    indices: &[usize],
    analysis: &Analysis,
) -> Result<Vec<Written>, Refusal> {
    let schema = analysis.schema;
    let position = |id: ColumnId| {
        let mut columns = table.columns.iter();
        columns.position(|own| own.protected == Some(id))
    };
    let mut copied = Vec::new();
    for id in table.columns.iter().filter_map(|own| own.protected) {
        if !schema.is_member(id) || schema.holder_of(id).is_some_and(|holder| holder != id) {
            continue;
        }
        let group = schema.group_of(id).filter(|own| !own.members.is_empty());
        let group = group.ok_or_else(|| {
            unsupported("COPY of a table whose columns are sealed together, and not known yet,")
        })?;
        analysis.refuse_privileges(id)?;
        let member = |own: &ColumnId| {
            let place = position(*own).and_then(|at| indices.iter().position(|one| *one == at));
            match place {
                Some(place) => CopiedMember::Field(place),
                None => {
                    let default = schema.column(*own).default.clone();
                    CopiedMember::Default(default.unwrap_or(Literal::Null))
                }
            }
        };
        let members: Vec<CopiedMember> = group.members.iter().map(member).collect();
        let is_null = |own: &CopiedMember| *own == CopiedMember::Default(Literal::Null);
        if let (false, Some(at)) = (members.iter().all(is_null), position(id)) {
            copied.push(Written {
                holder: at,
                last: group.last().and_then(position),
                group: CopiedGroup {
                    holder: id,
                    members,
                    last: group.last(),
                },
            });
        }
    }
    Ok(copied)
}
