//! Utility statements, which carry no value of a row, and statements that contain another:
//! `VACUUM`, `LOCK`, `COPY`, `EXPLAIN`, `PREPARE`, `DECLARE`.

mod copied;
mod copy_options;
mod explain;

use std::ops::Range;

use sqlparser::ast::{CopySource, CopyTarget, DescribeAlias, Ident, Query, Statement};
use sqlstate::SqlState;

use crate::analysis::template;
use crate::analysis::{Analysis, OutColumn};
use crate::dialect::lexeme::{Lexeme, Part, words};
use crate::dialect::postgres::names::{folded, quoted, split};
use crate::dialect::postgres::{ddl, effects, objects};
use crate::{
    ColumnId, CopiedMember, Copy, Effects, Form, Literal, OutputKind, Piece, Plan, Purpose,
    Refusal, Schema, Source, Table, Template,
};
use copy_options::Options;
use sql_plan::{refuse, unsupported};

/// Plans a statement within another, as that of `EXPLAIN`.
pub(crate) type Planner = fn(&Statement, &Schema) -> Result<Plan, Refusal>;

/// The effects of a statement that reads and writes no rows, whatever it names; None: it may.
pub(crate) fn passes(text: &str, part: &Part) -> Option<Effects> {
    let (Lexeme::Word, first) = part.first()? else {
        return None;
    };
    let first = text[first.clone()].to_ascii_lowercase();
    // `analyze` alone runs nothing; `EXPLAIN ANALYZE` starts otherwise.
    let has_names = matches!(
        first.as_str(),
        "vacuum"
            | "analyze"
            | "analyse"
            | "lock"
            | "cluster"
            | "reindex"
            | "refresh"
            | "savepoint"
            | "release"
            | "listen"
            | "unlisten"
            | "close"
            | "deallocate"
            | "show"
            | "reset"
    );
    // Their constants are no values of a column.
    let has_constants = matches!(first.as_str(), "notify" | "set");
    let has_names =
        has_names || (matches!(first.as_str(), "alter" | "create") && alters_names(text, part));
    let fits = part.iter().all(|(lexeme, span)| match lexeme {
        Lexeme::Word | Lexeme::Comma | Lexeme::Open | Lexeme::Close => true,
        Lexeme::Operator => {
            let operator = &text[span.clone()];
            operator == "." || (has_constants && matches!(operator, "=" | "-" | "+"))
        }
        Lexeme::Other => has_constants || matches!(text.as_bytes()[span.start], b'"' | b'0'..=b'9'),
        Lexeme::Semicolon => false,
    });
    ((has_names || has_constants) && fits).then(|| Effects {
        changes_settings: matches!(first.as_str(), "set" | "reset"),
        changes_texts: effects::changes_texts(&words(text, part)),
        ..Effects::default()
    })
}

/// Statements that the parser does not know, and that change nothing but who owns an object, how it
/// is stored and what is replicated: `ALTER … OWNER TO …`, all of `ALTER SEQUENCE`, publications
/// without conditions, some of `ALTER TABLE`.
fn alters_names(text: &str, part: &Part) -> bool {
    let [first, kind, .., before, word, _] = part else {
        return false;
    };
    let is = |(_, span): &(Lexeme, Range<usize>), word: &str| {
        text[span.clone()].eq_ignore_ascii_case(word)
    };
    let has = |word: &str| part.iter().any(|own| is(own, word));
    if is(kind, "publication") {
        return !has("where");
    }
    if !is(first, "alter") {
        return false;
    }
    // One action, and the last words of the statement are all that it says.
    let is_one = part
        .iter()
        .all(|(lexeme, _)| !matches!(lexeme, Lexeme::Comma | Lexeme::Open))
        && !["add", "drop", "rename", "type", "attach", "default"]
            .iter()
            .any(|word| has(word));
    let stores = ["statistics", "storage", "compression", "tablespace"]
        .iter()
        .any(|own| is(word, own));
    match is(kind, "table") {
        true => {
            is_one && ((is(before, "cluster") && is(word, "on")) || is(before, "set") && stores)
        }
        // Relations share their names: a statement that moves one is looked into.
        false if has("rename") || has("schema") => false,
        false => is(kind, "sequence") || (is(before, "owner") && is(word, "to")),
    }
}

/// The plan of a statement that is no query, `INSERT`, `UPDATE` or `DELETE`; `inner` plans a
/// statement within it.
pub(crate) fn plan(
    statement: &Statement,
    schema: &Schema,
    inner: Planner,
) -> Result<Plan, Refusal> {
    match statement {
        Statement::Copy { .. } => copy(statement, schema),
        Statement::Explain {
            describe_alias: DescribeAlias::Explain,
            analyze,
            verbose,
            query_plan: false,
            estimate: false,
            statement,
            format: None,
            options,
        } => {
            let plan = inner(statement, schema)?;
            explain::plan((*analyze, *verbose), options.as_deref(), plan)
        }
        // What is prepared over a protected table is known by its name, and planned before.
        Statement::Execute { .. } => Ok(Plan::Pass(Effects {
            forgets_locks: true,
            ..Effects::default()
        })),
        Statement::Prepare {
            name,
            data_types,
            statement,
        } => match inner(statement, schema)? {
            Plan::Pass(_) => Err(unsupported("PREPARE of such a statement")),
            _ => Ok(objects::prepare(name, data_types, statement)),
        },
        Statement::Declare { stmts } => match stmts.as_slice() {
            [declare] if declare.for_query.is_some() => {
                let query = declare.for_query.clone();
                let query = query.ok_or_else(|| unsupported("DECLARE without a query"))?;
                objects::declare(declare, inner(&Statement::Query(query), schema)?)
            }
            _ => Err(unsupported("a DECLARE of another dialect")),
        },
        _ => ddl::plan(statement, schema)?.ok_or_else(|| unsupported("a statement of this kind")),
    }
}

/// `COPY` of a table between the client and the server.
fn copy(statement: &Statement, schema: &Schema) -> Result<Plan, Refusal> {
    let Statement::Copy {
        source,
        to,
        target,
        options,
        legacy_options,
        values,
    } = statement
    else {
        return Err(unsupported("a statement of this kind"));
    };
    let into_server = match (to, target) {
        (false, CopyTarget::Stdin) => true,
        (true, CopyTarget::Stdout) => false,
        _ => {
            return Err(unsupported("COPY to or from a file of the server")
                .with_hint("Use STDIN and STDOUT, or \\copy of psql."));
        }
    };
    if !values.is_empty() {
        return Err(unsupported("COPY with rows in its text"));
    }
    let (table_name, columns) = match source {
        CopySource::Table {
            table_name,
            columns,
        } => (table_name, columns),
        CopySource::Query(query) => {
            return copy_query(query, Options::read(options, legacy_options)?, schema);
        }
    };
    let (schema_name, name) = split(table_name).ok_or_else(|| unsupported("a computed name"))?;
    let analysis = Analysis::new(schema);
    let Some(table) = analysis.find_table(schema_name.as_deref(), &name)? else {
        return Err(unsupported("COPY of a table that is not known"));
    };
    let indices = indices(table, columns)?;
    if !into_server && schema.has_groups(table) {
        let query = copied::query_of(table, &indices, schema)?;
        return copy_query(&query, Options::read(options, legacy_options)?, schema);
    }
    let added = match into_server {
        true => left_out(&analysis, table, &indices),
        false => Vec::new(),
    };
    let options = Options::read(options, legacy_options)?;
    let groups = copied::groups(table, &indices, &analysis)?;
    copy_of(table, (&indices, added, groups), into_server, options)
}

/// `COPY (query) TO STDOUT`, of a query that the server can do alone. `COPY` has no parameters:
/// sealed constants are written into its text.
fn copy_query(query: &Query, options: Options, schema: &Schema) -> Result<Plan, Refusal> {
    let (analysis, (query, outputs)) = Analysis::run(schema, |analysis| {
        let mut query = query.clone();
        let outputs = analysis.query(&mut query, None, None)?;
        Ok((query, outputs))
    })?;
    let Some(outputs) = outputs else {
        return Err(unsupported("COPY of a query whose columns are not known"));
    };
    for hole in &analysis.holes {
        match (&hole.source, hole.form) {
            (Source::Literal(_), Form::Sealed(column, Purpose::Store)) => {
                return Err(refuse(format!(
                    "COPY of a query that stores a constant in protected column {}",
                    analysis.title(column)
                ))
                .with_hint("Send the statement that stores by itself."));
            }
            (Source::Literal(_), _) => {}
            (Source::Calculated(..), _) if analysis.parameters.count == 0 => {}
            _ => {
                return Err(refuse("there is no parameter in COPY")
                    .with_state(SqlState::UNDEFINED_PARAMETER));
            }
        }
    }
    let effects = Effects {
        writes: analysis.writes,
        forgets_locks: analysis.fires_triggers,
        uses: analysis.uses,
        ..Effects::default()
    };
    let body = template::of(&mut Statement::Query(Box::new(query)), schema.dialect)?;
    let mut pieces = vec![Piece::Text("COPY (".to_owned())];
    pieces.extend(body.pieces);
    let columns: Vec<String> = outputs
        .iter()
        .map(|column| column.name.clone().unwrap_or_default())
        .collect();
    let (format, options) = options.of_fields(&columns, false)?;
    pieces.push(Piece::Text(format!(") TO STDOUT WITH ({options})")));
    let field = |column: &OutColumn| column.sealed.map_or(OutputKind::Plain, OutputKind::Sealed);
    Ok(Plan::Copy(Box::new(Copy {
        template: Template { pieces },
        holes: analysis.holes,
        into_server: false,
        table: Default::default(),
        columns,
        fields: outputs.iter().map(field).collect(),
        format,
        added: Vec::new(),
        groups: Vec::new(),
        effects,
    })))
}

/// A column that a COPY leaves out, by its index, and its default.
type LeftOut = (usize, ColumnId, Literal);

fn copy_of(
    table: &Table,
    (indices, added, groups): (&[usize], Vec<LeftOut>, Vec<copied::Written>),
    into_server: bool,
    options: Options,
) -> Result<Plan, Refusal> {
    let columns: Vec<String> = indices
        .iter()
        .map(|index| table.columns[*index].name.clone())
        .collect();
    let (format, options) = options.of_fields(&columns, into_server)?;
    let in_group = |place: usize| {
        let mut members = groups.iter().flat_map(|own| &own.group.members);
        members.any(|own| *own == CopiedMember::Field(place))
    };
    let sent = indices.iter().enumerate();
    let sent = sent
        .filter(|(place, _)| !in_group(*place))
        .map(|(_, index)| index);
    let sent = sent.chain(added.iter().map(|(index, ..)| index));
    let sent = sent.chain(groups.iter().map(|own| &own.holder));
    let sent = sent.chain(groups.iter().filter_map(|own| own.last.as_ref()));
    let names = sent.map(|index| quoted(&table.columns[*index].name).to_string());
    let text = format!(
        "COPY {}.{} ({}) {} WITH ({options})",
        quoted(&table.schema),
        quoted(&table.name),
        names.collect::<Vec<_>>().join(", "),
        if into_server {
            "FROM STDIN"
        } else {
            "TO STDOUT"
        },
    );
    let fields = indices
        .iter()
        .map(|index| match table.columns[*index].protected {
            Some(column) => OutputKind::Sealed(column),
            None => OutputKind::Plain,
        });
    Ok(Plan::Copy(Box::new(Copy {
        template: Template {
            pieces: vec![Piece::Text(text)],
        },
        holes: Vec::new(),
        into_server,
        table: (table.schema.clone(), table.name.clone()),
        columns,
        fields: fields.collect(),
        format,
        added: added.into_iter().map(|(_, id, own)| (id, own)).collect(),
        groups: groups.into_iter().map(|own| own.group).collect(),
        effects: Effects {
            writes: into_server.then(|| (table.schema.clone(), table.name.clone())),
            forgets_locks: into_server && table.has_triggers,
            ..Effects::default()
        },
    })))
}

fn indices(table: &Table, columns: &[Ident]) -> Result<Vec<usize>, Refusal> {
    if columns.is_empty() {
        // As the server does: what it computes is neither given nor taken.
        let all = 0..table.columns.len();
        return Ok(all.filter(|at| !table.columns[*at].is_generated).collect());
    }
    let index = |name: &Ident| {
        let name = folded(name);
        table.position(&name).ok_or_else(|| {
            refuse(format!(
                "column {name:?} of relation {:?} does not exist",
                table.name
            ))
            .with_state(SqlState::UNDEFINED_COLUMN)
        })
    };
    let indices: Vec<usize> = columns.iter().map(index).collect::<Result<_, _>>()?;
    for (place, at) in indices.iter().enumerate() {
        if indices[..place].contains(at) {
            let name = &table.columns[*at].name;
            let message = format!("column {name:?} specified more than once");
            return Err(refuse(message).with_state(SqlState::DUPLICATE_COLUMN));
        }
    }
    Ok(indices)
}

/// Protected columns with a default that a COPY leaves out: the server does not know the default.
fn left_out(analysis: &Analysis, table: &Table, indices: &[usize]) -> Vec<LeftOut> {
    let columns = table.columns.iter().enumerate();
    let missing = columns.filter(|(index, _)| !indices.contains(index));
    let with_default = missing.filter_map(|(index, column)| {
        let id = column
            .protected
            .filter(|id| !analysis.schema.is_member(*id))?;
        let default = analysis.column(id).default.clone()?;
        (default != Literal::Null).then_some((index, id, default))
    });
    with_default.collect()
}
