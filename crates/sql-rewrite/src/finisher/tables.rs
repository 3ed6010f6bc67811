//! Statements that the finisher before MariaDB and MySQL evaluates: it evaluates the client's own
//! text over temporary tables, which have the names, columns and keys of the server's.
//!
//! The text goes to the finisher as it came, so it means there what it means to the server, and no
//! tree of it is needed. A tree is only looked at for conditions that the server can decide: a row
//! that fails one need not be fetched, and the finisher evaluates all of them again.
//!
//! Invariants:
//! 1. Every table that the text may read is filled, or the statement is refused
//!    ([`finisher::scan`]).
//! 2. Every parameter and constant of the text may meet a protected column in the finisher. So it
//!    reaches the server sealed, or compared with a plain column by name.

mod alone;
mod created;
mod inserts;
pub(crate) mod public;
mod writes;

use std::ops::ControlFlow;

use column_value::LogicalType;
use sqlparser::ast::{Expr, Ident, ObjectName, Query, Select, Statement, Visitor};

use super::conditions;
use super::legs::{add_condition, read};
use crate::analysis::{Analysis, output_list, template};
use crate::dialect::mysql::finisher::{self, Scanned, Verb};
use crate::dialect::mysql::{MySql, kinds, names, parse, subset};
use crate::{
    DeclaredColumn, Dialect, Effects, FilledColumn, FilledForm, FilledTable, FinisherTables, Plan,
    Refusal, RelationKind, Schema, Source, Table, Translated, verify, walk,
};
use created::{Role, create};
use inserts::Inserted;
use sql_plan::{refuse, unsupported};
use writes::Target;

/// The plan of a text that neither the server nor the proxy can answer.
///
/// # Errors
/// The finisher would answer otherwise than the server.
pub(crate) fn of_text(text: &str, schema: &Schema, own: MySql) -> Result<Plan, Refusal> {
    let scanned = finisher::scan(text, own)?;
    let found = named(&scanned, schema)?;
    let tree = parse::any_tree(text, own);
    let (target, inserted) = writes_of(tree.as_ref(), &scanned, (schema, own))?;
    let tree = tree.filter(|_| scanned.has_plain_conditions);
    let (mut written, mut put) = (None, None);
    let mut tables: Vec<FilledTable> = Vec::new();
    let mut uses_zone = scanned.uses_zone;
    for (table, count) in found {
        let target = target.as_ref().filter(|own| own.table.oid == table.oid);
        let inserted = inserted.as_ref().filter(|own| own.table.oid == table.oid);
        let columns = used(&scanned, (table, target, inserted), schema);
        check_labels(&scanned, (table, &columns), schema)?;
        check_bits(&scanned, (table, &columns), schema)?;
        let filled = columns.iter().map(|index| column(table, *index, schema));
        let filled: Vec<FilledColumn> = filled.collect::<Result<_, _>>()?;
        uses_zone |= filled.iter().any(|one| one.form == FilledForm::Moment);
        let tree = tree.as_ref().filter(|_| count == 1);
        let conditions = tree.and_then(|tree| conditions_on(tree, table, schema));
        if let Some(target) = target {
            written = Some(target.write((tables.len(), &columns, count), &scanned, schema)?);
        }
        if let Some(inserted) = inserted {
            put = Some(inserted.write((tables.len(), &columns), &scanned, schema)?);
        }
        let rows = Rows {
            table,
            columns: &columns,
            constants: &scanned.constants,
            schema,
        };
        let (fetch, fetch_all) = rows.fetches(count, conditions)?;
        tables.push(FilledTable {
            database: table.schema.clone(),
            name: full_name(table),
            create: create((table, role(target, inserted)), &columns, schema)?,
            columns: filled,
            fetch,
            fetch_all,
        });
    }
    if tables.is_empty() {
        return Err(unsupported("a query without a table"));
    }
    if let Some(inserted) = &inserted {
        inserted.check_public(inserts::reads_plain(&tables), schema)?;
    }
    let effects = match (&target, &inserted) {
        (None, None) => Effects::default(),
        (Some(target), _) => target.effects(),
        (None, Some(inserted)) => inserted.effects(),
    };
    let plan = Plan::FinisherTables(Box::new(FinisherTables {
        text: text.to_owned(),
        parameters: scanned.parameters,
        tables,
        uses_zone,
        uses_moment: scanned.uses_moment,
        write: written,
        insert: put,
        effects,
    }));
    verify::check(&plan, schema)?;
    Ok(plan)
}

/// What a text changes, or what it inserts.
type Writes<'s> = (Option<Target<'s>>, Option<Inserted<'s>>);

fn writes_of<'s>(
    tree: Option<&Statement>,
    scanned: &Scanned,
    of: (&'s Schema, MySql),
) -> Result<Writes<'s>, Refusal> {
    Ok(match scanned.verb {
        Verb::Select => (None, None),
        Verb::Write => (Some(Target::of(tree, scanned, of)?), None),
        Verb::Insert => (None, Some(Inserted::of(tree, scanned, of)?)),
    })
}

fn role<'a>(target: Option<&Target<'_>>, inserted: Option<&'a Inserted<'_>>) -> Role<'a> {
    match (target, inserted) {
        (Some(_), _) => Role::Changed,
        (None, Some(inserted)) => Role::Gets(&inserted.given),
        (None, None) => Role::Read,
    }
}

fn full_name(table: &Table) -> String {
    format!(
        "{}.{}",
        names::quote(&table.schema),
        names::quote(&table.name)
    )
}

/// The tables that a text may name, and how often it does.
fn named<'s>(scanned: &Scanned, schema: &'s Schema) -> Result<Vec<(&'s Table, usize)>, Refusal> {
    let mut found: Vec<(&Table, usize)> = Vec::new();
    // Names without a database would be those of its tables.
    let mut path = schema.search_path.iter();
    if let Some(name) = path.find(|name| finisher::is_of_system(name)) {
        return Err(finisher::of_system(name));
    }
    let target = scanned.target.iter();
    let all = scanned.tables.iter().map(|named| (named, 1));
    // Its rows are not read there.
    for ((database, name), times) in all.chain(target.map(|named| (named, 0))) {
        let Some(table) = schema.find(database.as_deref(), name) else {
            if times > 0 && database.is_none() && scanned.ctes.contains(&name.to_lowercase()) {
                continue;
            }
            return Err(unsupported(&format!(
                "table {name}, which is not known to the proxy, in a statement that the finisher \
                 evaluates"
            ))
            .with_hint("A table of the server itself is read by a query of its own."));
        };
        let key = (table.schema.clone(), table.name.clone());
        if let Some(why) = schema.closed.get(&key) {
            return Err(refuse(why.clone()));
        }
        if table.opaque || table.kind != RelationKind::Table || table.columns.is_empty() {
            return Err(unsupported(&format!(
                "relation {name} in a query that the finisher evaluates"
            ))
            .with_hint("Query the tables themselves."));
        }
        match found.iter_mut().find(|(own, _)| own.oid == table.oid) {
            Some((_, count)) => *count += times,
            None => found.push((table, times)),
        }
    }
    Ok(found)
}

/// The indices of the columns of a table that a text may use, with all columns of keys that have
/// one of them, and what a write needs. At least one.
fn used(
    scanned: &Scanned,
    (table, target, inserted): (&Table, Option<&Target>, Option<&Inserted>),
    schema: &Schema,
) -> Vec<usize> {
    let is_whole = scanned.is_whole || inserted.is_some_and(Inserted::is_whole);
    let is_used = |column: &crate::Column| is_whole || scanned.names.contains(&column.name);
    let mut used: Vec<bool> = table.columns.iter().map(is_used).collect();
    for index in target.iter().flat_map(|own| own.needed()) {
        used[index] = true;
    }
    let keys = schema.catalogue.finisher.declared_keys.get(&table.oid);
    for key in keys.into_iter().flatten() {
        let is_part = key.columns.iter().any(|(index, _)| used[*index]);
        let is_plain = |index: usize| table.columns[index].protected.is_none();
        if is_part && key.columns.iter().all(|(index, _)| is_plain(*index)) {
            key.columns
                .iter()
                .for_each(|(index, _)| used[*index] = true);
        }
    }
    if !used.contains(&true) {
        // Its rows are counted: by the column that is shortest to fetch.
        let plain = table.columns.iter().position(|own| own.protected.is_none());
        used[plain.unwrap_or(0)] = true;
    }
    let indices = used.iter().enumerate().filter(|(_, used)| **used);
    indices.map(|(index, _)| index).collect()
}

/// Refuses `MIN` and `MAX` beside an enumeration or a set that a key of the server has: by that,
/// the server finds the first value in the order of the list, and else the first by its letters.
fn check_labels(
    scanned: &Scanned,
    (table, columns): (&Table, &[usize]),
    schema: &Schema,
) -> Result<(), Refusal> {
    let has_call = ["min", "max"]
        .iter()
        .any(|own| scanned.names.contains(*own));
    let is_label = |index: usize| {
        let id = table.columns[index].protected;
        id.is_some_and(|id| schema.column(id).logical.is_of_labels())
    };
    let keys = schema.catalogue.finisher.declared_keys.get(&table.oid);
    let mut parts = keys.into_iter().flatten().flat_map(|key| &key.columns);
    let found = parts.find(|(index, _)| columns.contains(index) && is_label(*index));
    match found.filter(|_| has_call) {
        None => Ok(()),
        Some((index, _)) => Err(unsupported(&format!(
            "MIN or MAX beside {}.{}, whose labels a key has,",
            table.name, table.columns[*index].name
        ))
        .with_hint("Use ORDER BY with LIMIT 1, or two queries.")),
    }
}

/// Refuses what groups rows beside bits: MariaDB gives a group without a key the bits of another
/// one, so the finisher, which has no keys, answers otherwise than the server.
fn check_bits(
    scanned: &Scanned,
    (table, columns): (&Table, &[usize]),
    schema: &Schema,
) -> Result<(), Refusal> {
    const WORDS: [&str; 8] = [
        "distinct",
        "distinctrow",
        "except",
        "group",
        "intersect",
        "over",
        "union",
        "with",
    ];
    let has_bits = |index: &&usize| {
        let id = table.columns[**index].protected;
        id.is_some_and(|id| matches!(schema.column(id).logical, LogicalType::Bits(_)))
    };
    let mut words = WORDS.iter().filter(|own| scanned.names.contains(**own));
    match (columns.iter().find(has_bits), words.next()) {
        (Some(index), Some(word)) => Err(unsupported(&format!(
            "{} beside the bits of {}.{}",
            word.to_ascii_uppercase(),
            table.name,
            table.columns[*index].name
        ))
        .with_hint("Group in the client.")),
        _ => Ok(()),
    }
}

fn declared<'s>(table: &Table, index: usize, schema: &'s Schema) -> Option<&'s DeclaredColumn> {
    let columns = &schema.catalogue.finisher.declared_columns;
    columns.get(&(table.oid, table.columns[index].number))
}

/// How a column is fetched, and its values written.
fn column(table: &Table, index: usize, schema: &Schema) -> Result<FilledColumn, Refusal> {
    let own = &table.columns[index];
    let name = names::quote(own.written()).to_string();
    if let Some(id) = own.protected {
        let logical = schema.column(id).logical;
        let form = match logical {
            logical if logical.has_collation() => FilledForm::Text("utf8mb4".to_owned()),
            LogicalType::Bytes | LogicalType::Bits(_) => FilledForm::Bytes,
            LogicalType::Real => FilledForm::Float,
            LogicalType::TimestampTz(_) => FilledForm::Moment,
            _ => FilledForm::Quoted,
        };
        let sealed = Some(id);
        return Ok(FilledColumn { name, sealed, form });
    }
    let unknown = || {
        unsupported(&format!(
            "column {}.{} of a type that the finisher does not know",
            table.name, own.name
        ))
        .with_hint("Leave the column out, if the statement can do without it.")
    };
    let declared = declared(table, index, schema).ok_or_else(unknown)?;
    let type_name = declared.type_name.to_ascii_lowercase();
    let word = type_name.split(['(', ' ']).next().unwrap_or_default();
    let form = match (word, &declared.collation) {
        (
            "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "decimal" | "double" | "year"
            | "date" | "time" | "datetime",
            _,
        ) => FilledForm::Quoted,
        ("float", _) => FilledForm::Float,
        ("bit", _) => FilledForm::Bits,
        ("timestamp", _) => FilledForm::Moment,
        ("binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob", None) => {
            FilledForm::Bytes
        }
        (
            "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" | "enum" | "set",
            Some(collation),
        ) => {
            let (charset, _) = collation.split_once('_').ok_or_else(unknown)?;
            let warns = !is_mariadb(schema)? && matches!(charset, "utf8" | "utf8mb3");
            // MySQL warns of its name. The bytes are the same.
            FilledForm::Text(if warns { "utf8mb4" } else { charset }.to_owned())
        }
        _ => return Err(unknown()),
    };
    let sealed = None;
    Ok(FilledColumn { name, sealed, form })
}

/// Refuses a write that would cut values.
fn refuse_lax(own: MySql) -> Result<(), Refusal> {
    match own.is_lax {
        false => Ok(()),
        true => Err(
            unsupported("a write that the finisher evaluates without a strict SQL mode")
                .with_hint("Set sql_mode to one with STRICT_TRANS_TABLES."),
        ),
    }
}

/// The name by which conditions qualify the columns of a table, and the conditions.
type Conditions = (Ident, Vec<Expr>);

/// Conditions on all rows of a table that matter, where the text names it once.
fn conditions_on(tree: &Statement, table: &Table, schema: &Schema) -> Option<Conditions> {
    struct Sources<'s> {
        schema: &'s Schema,
        table: &'s Table,
        /// Names of WITH queries: a table of the same name may be meant or not.
        ctes: Vec<String>,
        found: Vec<Conditions>,
    }
    impl Visitor for Sources<'_> {
        type Break = ();

        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            let tables = query.with.iter().flat_map(|with| &with.cte_tables);
            let names = tables.map(|cte| cte.alias.name.value.to_ascii_lowercase());
            self.ctes.extend(names);
            ControlFlow::Continue(())
        }

        fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
            let dialect = self.schema.dialect;
            let find = |name: &ObjectName| {
                let (database, name) = dialect.split(name)?;
                self.schema.find(database.as_deref(), &name)
            };
            let scope = conditions::Scope::of(select, self.schema, find);
            let own = scope.sources.into_iter();
            let own = own.filter(|source| source.table.oid == self.table.oid);
            self.found
                .extend(own.map(|source| (source.alias, source.conditions)));
            ControlFlow::Continue(())
        }
    }
    let mut sources = Sources {
        schema,
        table,
        ctes: Vec::new(),
        found: Vec::new(),
    };
    let of_write = writes::rows_of(tree);
    let visited = match &of_write {
        None => walk::visit(tree, &mut sources),
        Some(query) => match walk::visit(query, &mut sources) {
            ControlFlow::Continue(()) => walk::visit(tree, &mut sources),
            stopped => stopped,
        },
    };
    let is_hidden = sources.ctes.contains(&table.name.to_ascii_lowercase());
    match (visited, sources.found.pop(), sources.found.is_empty()) {
        (ControlFlow::Continue(()), Some(found), true) if !is_hidden => Some(found),
        _ => None,
    }
}

/// The rows of a table.
struct Rows<'a> {
    table: &'a Table,
    columns: &'a [usize],
    constants: &'a [Source],
    schema: &'a Schema,
}

impl Rows<'_> {
    /// The statement that fetches those that meet the conditions which the server can decide, and
    /// one that fetches all, if the first takes parameters.
    fn fetch(
        &self,
        conditions: Option<Conditions>,
    ) -> Result<(Translated, Option<Translated>), Refusal> {
        let own_name = names::quote(&self.table.name);
        let all = self.query(&own_name)?;
        let all = self.translated(&all)?;
        let Some((alias, conditions)) = conditions else {
            return Ok((all, None));
        };
        let mut accepted = self.query(&alias)?;
        let mut fetch = None;
        for condition in conditions {
            let mut tried = accepted.clone();
            add_condition(&mut tried, condition);
            if let Ok(translated) = self.translated(&tried) {
                (accepted, fetch) = (tried, Some(translated));
            }
        }
        let takes_values = |one: &Translated| {
            let mut holes = one.holes.iter();
            holes.any(|hole| !hole.source.parameters().is_empty())
        };
        match fetch {
            Some(fetch) if takes_values(&fetch) => Ok((fetch, Some(all))),
            Some(fetch) => Ok((fetch, None)),
            None => Ok((all, None)),
        }
    }

    /// The same, for a text that names the table so many times.
    fn fetches(
        &self,
        count: usize,
        conditions: Option<Conditions>,
    ) -> Result<(Option<Translated>, Option<Translated>), Refusal> {
        if count == 0 {
            return Ok((None, None));
        }
        let (fetch, all) = self.fetch(conditions)?;
        Ok((Some(fetch), all))
    }

    fn query(&self, alias: &Ident) -> Result<Query, Refusal> {
        let columns = self.columns.iter().map(|index| {
            let name = names::quote(&self.table.columns[*index].name);
            format!("{alias}.{name}")
        });
        let columns: Vec<String> = columns.collect();
        let text = format!(
            "SELECT {} FROM {} AS {alias}",
            columns.join(", "),
            full_name(self.table)
        );
        read(&text, self.schema.dialect)
    }

    /// The statement for the server, if each of its forms is understood and proved.
    fn translated(&self, query: &Query) -> Result<Translated, Refusal> {
        let schema = self.schema;
        let statement = Statement::Query(Box::new(query.clone()));
        subset::check(&statement).map_err(|unread| unread.refusal())?;
        let (analysis, (changed, outputs)) = Analysis::run(schema, |analysis| {
            for constant in self.constants {
                analysis.parameters.hide(constant);
                if let Source::Parameter(number) = constant {
                    analysis.parameters.compute(*number);
                }
            }
            let mut changed = query.clone();
            let outputs = analysis.query(&mut changed, None, None)?;
            Ok((changed, outputs))
        })?;
        analysis.check_parameters()?;
        let mut statement = Statement::Query(Box::new(changed));
        let template = template::of(&mut statement, schema.dialect)?;
        let (template, holes, _) = template::compact(template, &analysis.holes, Vec::new());
        let outputs = output_list(outputs);
        let translated = Translated {
            template,
            holes,
            outputs,
            parameter_types: analysis.parameters.types(),
            locks: None,
        };
        let plan = Plan::One(translated, Effects::default());
        kinds::check(&plan, schema)?;
        verify::check(&plan, schema)?;
        match plan {
            Plan::One(translated, _) => Ok(translated),
            _ => Err(unsupported("a query of this form")),
        }
    }
}

/// Whether the server is MariaDB.
fn is_mariadb(schema: &Schema) -> Result<bool, Refusal> {
    match schema.dialect {
        Dialect::MySql(own) => Ok(own.is_mariadb),
        _ => Err(unsupported("a statement of another dialect")),
    }
}

/// Whether a schema is of a server before which this finisher is.
pub(crate) fn is_for(schema: &Schema) -> bool {
    schema.has_finisher() && matches!(schema.dialect, Dialect::MySql(_))
}
