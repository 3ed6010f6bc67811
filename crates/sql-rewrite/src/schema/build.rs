//! Builds a [`Schema`] from the rules and the answers of the catalogue.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{
    Answer, Column, ColumnChecks, NamedTypes, ProtectedColumn, QUERIES, RelationKind, RowRules,
    Schema, SchemaError, SessionFacts, Table, views,
};
use crate::dialect::lexeme::{lower, names_word};
use crate::dialect::postgres::{extensions, table_checks, text_search};
use crate::schema::cells::{number, text, truth};
use crate::{ColumnId, ColumnRule, Rules};
use sql_plan::{Draws, parse_default};

mod changed;
mod checks;
mod closed;
mod columns;
pub(crate) mod fitting;
mod groups;
mod guards;

pub use closed::SeenColumns;

/// Names of a relation, as the catalogue has them.
type Name = (String, String);

impl Schema {
    /// Builds the schema from the rules and the server's `answers` to [`QUERIES`], in their order.
    ///
    /// A table that has rules and is not there yet is in [`Schema::tables`] without columns.
    ///
    /// # Errors
    /// Every place where rules and server do not fit.
    pub fn build(rules: &Rules, answers: &[Answer]) -> Result<Self, Vec<SchemaError>> {
        match Self::build_anyway(rules, answers) {
            (schema, errors) if errors.is_empty() => Ok(schema),
            (_, errors) => Err(errors),
        }
    }

    /// The same where columns that are in clear are all that does not fit: they are in
    /// [`Schema::unfit`]. Tables that lack a column that was `seen` are in [`Schema::closed`].
    ///
    /// # Errors
    /// Every place where rules and server do not fit, if one of them is of another kind.
    pub fn build_with_unfit(
        rules: &Rules,
        answers: &[Answer],
        seen: &SeenColumns,
    ) -> Result<Self, Vec<SchemaError>> {
        let (mut schema, errors) = Self::build_since(rules, answers, seen);
        if errors.iter().any(|error| !error.is_own) {
            return Err(errors);
        }
        schema.unfit = errors;
        Ok(schema)
    }

    /// The same for callers that only ask what the rules would mean, and send nothing. Where rules
    /// and server do not fit, as while tables are still in clear, the rules win; the second value
    /// says what does not fit.
    pub fn build_anyway(rules: &Rules, answers: &[Answer]) -> (Self, Vec<SchemaError>) {
        Self::build_since(rules, answers, &SeenColumns::new())
    }

    fn build_since(
        rules: &Rules,
        answers: &[Answer],
        seen: &SeenColumns,
    ) -> (Self, Vec<SchemaError>) {
        assert_eq!(answers.len(), QUERIES.len(), "an answer to each query");
        let mut building = Building::new(rules);
        building.schema.catalogue.named_types = NamedTypes::read(&answers[10]);
        building.read_relations(&answers[1]);
        building.read_columns(&answers[2]);
        building.read_parents(&answers[4]);
        building.apply_rules();
        building.form_groups();
        building.close_tables(seen);
        building.read_indexes(&answers[3]);
        building.read_guards(&answers[5]);
        building.close_newer(&answers[5]);
        building.read_checks(&answers[5]);
        building.check_constraints(&answers[5]);
        building.check_partitions(&answers[1]);
        let dependencies = building.check_dependencies(&answers[6]);
        let session = SessionFacts::read(&answers[0]);
        building.schema.catalogue.finisher.sorts_by_bytes = session.sorts_by_bytes();
        building.schema.search_path = session.search_path;
        building.schema.temporary = session.temporary;
        // Views may call functions, and functions may read views.
        building.schema.suspect_functions = building.suspect_functions(&answers[7]);
        building.schema.catalogue.finisher.shadows = answers[7]
            .iter()
            .filter(|row| truth(row, 2))
            .map(|row| text(row, 0))
            .collect();
        let of_kind = |kind: &'static str| {
            let rows = answers[7].iter().filter(move |row| text(row, 3) == kind);
            rows.map(|row| text(row, 0))
        };
        building.schema.catalogue.finisher.operators = of_kind("operator").collect();
        building.schema.catalogue.finisher.steady_functions = of_kind("steady").collect();
        building.resolve_views(&dependencies);
        building.schema.suspect_functions = building.suspect_functions(&answers[7]);
        for row in &answers[8] {
            let facts = &mut building.schema.catalogue;
            match text(row, 0).as_str() {
                "pg_attribute" => facts.attribute_columns.push(text(row, 1)),
                "pg_class" => facts.class_columns.push(text(row, 1)),
                _ => facts.information_columns.push(text(row, 1)),
            }
        }
        building.schema.catalogue.finisher.text_search = text_search::read(&answers[9]);
        building.schema.catalogue.finisher.extensions = extensions::read(&answers[11]);
        (building.schema, building.errors)
    }
}

/// The problem of a column with a default in the server.
pub(crate) const DEFAULT_IN_SERVER: &str = "has a default in the server, which would be stored in \
                                            clear: drop it there, and write `default = …` in the \
                                            rule";

/// A schema while it is built.
struct Building<'a> {
    rules: &'a Rules,
    schema: Schema,
    names: HashMap<u32, Name>,
    definitions: HashMap<u32, String>,
    parents: BTreeMap<u32, Vec<u32>>,
    /// Constraints of which it is clear what they do, by their numbers: those that stand for checks
    /// of rules, and guards of tables that are closed.
    understood: HashSet<u32>,
    /// Columns that have a rule and are not sealed, by their tables.
    in_clear: HashSet<(Name, String)>,
    errors: Vec<SchemaError>,
}

/// The schema and the table of a rule.
fn name_of_rule(rule: &ProtectedColumn) -> (&String, &String) {
    (&rule.schema, &rule.table)
}

impl<'a> Building<'a> {
    fn new(rules: &'a Rules) -> Self {
        Self {
            rules,
            schema: Schema {
                leaves_guards_out: rules.leaves_guards_out,
                ..Schema::default()
            },
            names: HashMap::new(),
            definitions: HashMap::new(),
            parents: BTreeMap::new(),
            understood: HashSet::new(),
            in_clear: HashSet::new(),
            errors: Vec::new(),
        }
    }

    fn table(&self, oid: u32) -> Option<&Table> {
        self.schema.tables.get(self.names.get(&oid)?)
    }

    fn table_mut(&mut self, oid: u32) -> Option<&mut Table> {
        self.schema.tables.get_mut(self.names.get(&oid)?)
    }

    fn is_in_clear(&self, table: &Name, column: &str) -> bool {
        self.in_clear.contains(&(table.clone(), column.to_owned()))
    }

    fn error(&mut self, table: &Name, column: &str, problem: impl Into<String>) {
        let is_own = self.is_in_clear(table, column);
        self.note_error(table, column, problem.into(), is_own);
    }

    fn note_error(&mut self, table: &Name, column: &str, problem: String, is_own: bool) {
        self.errors.push(SchemaError {
            schema: table.0.clone(),
            table: table.1.clone(),
            column: column.to_owned(),
            problem,
            is_own,
        });
    }

    fn read_relations(&mut self, answer: &Answer) {
        for row in answer {
            let oid = number(row, 0);
            let name = (text(row, 1), text(row, 2));
            let kind = match text(row, 3).as_str() {
                "v" | "m" => RelationKind::View,
                "f" => RelationKind::Foreign,
                _ => RelationKind::Table,
            };
            if kind == RelationKind::View {
                self.definitions.insert(oid, text(row, 5));
            }
            let partitioned = &mut self.schema.catalogue.partitioned;
            match text(row, 3) == "p" {
                true => partitioned.insert(oid),
                false => partitioned.remove(&oid),
            };
            self.names.insert(oid, name.clone());
            let table = Table {
                schema: name.0.clone(),
                name: name.1.clone(),
                oid,
                kind,
                columns: Vec::new(),
                unique_keys: Vec::new(),
                has_primary_key: false,
                opaque: false,
                has_triggers: truth(row, 4),
                has_column_privileges: false,
                rows: RowRules {
                    has_policies: truth(row, 8),
                    has_unvalidated: truth(row, 9),
                    are_moved_by_keys: truth(row, 10),
                },
            };
            self.schema.tables.insert(name, table);
        }
    }

    fn read_parents(&mut self, answer: &Answer) {
        for row in answer {
            let parents = self.parents.entry(number(row, 0)).or_default();
            parents.push(number(row, 1));
        }
    }

    /// Gives every rule its number, in the order of the rules, and marks the columns.
    fn apply_rules(&mut self) {
        for (table_name, columns) in &self.rules.tables {
            let (schema, table) = Rules::split_name(table_name);
            let name = (schema.to_owned(), table.to_owned());
            let known = self.schema.tables.contains_key(&name);
            for (column, rule) in columns {
                let count = self.schema.protected.len();
                let id = ColumnId(u32::try_from(count).expect("rules are fewer than 2^32"));
                let protected = self.protect(id, &name, column, rule);
                self.schema.protected.push(protected);
            }
            if !known {
                self.schema.tables.insert(name.clone(), Table::empty(&name));
            }
        }
        self.inherit_rules();
        self.check_parents();
    }

    fn protect(
        &mut self,
        id: ColumnId,
        name: &Name,
        column: &str,
        rule: &ColumnRule,
    ) -> ProtectedColumn {
        let mut not_null = false;
        let mut problem = None;
        if let Some(table) = self.schema.tables.get_mut(name) {
            if table.kind != RelationKind::Table {
                problem = Some("is no table of this server: only tables can be protected".into());
            }
            if let Some(own) = table.columns.iter_mut().find(|own| own.name == column) {
                own.protected = Some(id);
                not_null = own.not_null;
                if own.has_default {
                    problem = Some(DEFAULT_IN_SERVER.to_owned());
                }
            }
        }
        let logical = self.schema.catalogue.named_types.of_rule(rule.logical);
        if logical.is_none() {
            self.miss_type(name, column, rule.logical);
        }
        let logical = logical.unwrap_or(rule.logical);
        let default = rule
            .default
            .as_deref()
            .map(|text| parse_default(text, logical));
        let default = match default.transpose() {
            Ok(default) => default,
            Err(wrong) => {
                problem = Some(wrong);
                None
            }
        };
        let checks = match table_checks::read_all(column, logical, &rule.checks) {
            Ok(checks) => checks,
            Err(wrong) => {
                problem = Some(wrong);
                Vec::new()
            }
        };
        if let Some(problem) = problem {
            self.error(name, column, problem);
        }
        let form = self.form(name, rule);
        let own_domain = || format!("column:{}.{}.{column}", name.0, name.1);
        let mut rules = self.rules.table(&name.0, &name.1).into_iter().flatten();
        let are_in_table = rules.any(|(_, rule)| !rule.checks.is_empty());
        ProtectedColumn {
            id,
            schema: name.0.clone(),
            table: name.1.clone(),
            column: column.to_owned(),
            logical,
            mode: rule.mode,
            domain: rule.domain.clone().unwrap_or_else(own_domain),
            form,
            draws: rule.default.as_deref().and_then(Draws::parse),
            default,
            not_null: form.group.map_or(not_null, |_| rule.not_null),
            checks: ColumnChecks {
                own: checks,
                are_in_table,
            },
        }
    }

    /// A row of a partition or child is a row of its parent: its values are sealed as the
    /// parent's.
    fn inherit_rules(&mut self) {
        for child in self.parents.keys().copied().collect::<Vec<_>>() {
            let inherited = self.inherited(child, &mut HashSet::new());
            let Some(name) = self.names.get(&child).cloned() else {
                continue;
            };
            for (column, id) in inherited {
                let Some(own) = self
                    .schema
                    .tables
                    .get_mut(&name)
                    .and_then(|table| table.columns.iter_mut().find(|own| own.name == column))
                else {
                    continue;
                };
                match own.protected {
                    None => own.protected = Some(id),
                    Some(present) if present == id => {}
                    Some(_) => {
                        let problem = "has a rule of its own beside that of the table which it \
                                       is a part of: remove one";
                        self.note_error(&name, &column, problem.to_owned(), false);
                    }
                }
            }
        }
    }

    /// What is written through a parent is written to its children: one without the rule of a
    /// child would write in clear.
    fn check_parents(&mut self) {
        for child in self.parents.keys().copied().collect::<Vec<_>>() {
            for parent in self.ancestors(child) {
                self.check_parent(child, parent);
            }
        }
    }

    fn check_parent(&mut self, child: u32, parent: u32) {
        let (Some(table), Some(above)) = (self.table(child), self.table(parent)) else {
            return;
        };
        let is_open = |column: &&Column| {
            let index = above.position(&column.name);
            column.protected.is_some()
                && index.is_some_and(|index| above.columns[index].protected.is_none())
        };
        let open: Vec<String> = table
            .columns
            .iter()
            .filter(is_open)
            .map(|column| column.name.clone())
            .collect();
        let name = (table.schema.clone(), table.name.clone());
        let problem = format!(
            "is written through {}.{} too, where it has no rule: give the rule to that table, and \
             its partitions and children have it",
            above.schema, above.name
        );
        // Even where the child is in clear: what is written there now has a rule.
        for column in open {
            self.note_error(&name, &column, problem.clone(), false);
        }
    }

    fn ancestors(&self, child: u32) -> HashSet<u32> {
        let mut found = HashSet::new();
        let mut waiting = vec![child];
        while let Some(next) = waiting.pop() {
            for parent in self.parents.get(&next).into_iter().flatten() {
                if found.insert(*parent) {
                    waiting.push(*parent);
                }
            }
        }
        found
    }

    fn inherited(&self, child: u32, seen: &mut HashSet<u32>) -> BTreeMap<String, ColumnId> {
        let mut columns = BTreeMap::new();
        if !seen.insert(child) {
            return columns;
        }
        for parent in self.parents.get(&child).into_iter().flatten() {
            columns.extend(self.inherited(*parent, seen));
            let own = self
                .table(*parent)
                .into_iter()
                .flat_map(|table| &table.columns);
            columns.extend(own.filter_map(|own| Some((own.name.clone(), own.protected?))));
        }
        columns
    }

    /// Views in the order in which they depend on each other.
    fn resolve_views(&mut self, dependencies: &BTreeMap<u32, HashSet<u32>>) {
        let mut waiting: Vec<u32> = self.definitions.keys().copied().collect();
        waiting.sort_unstable();
        while !waiting.is_empty() {
            let ready: Vec<u32> = waiting
                .iter()
                .copied()
                .filter(|view| {
                    let reads = dependencies.get(view);
                    !reads.is_some_and(|reads| reads.iter().any(|read| waiting.contains(read)))
                })
                .collect();
            for view in &ready {
                let reads = dependencies.get(view).into_iter().flatten();
                let mut tables = reads.filter_map(|oid| self.table(*oid));
                if tables.any(Table::is_protected) {
                    self.resolve_view(*view);
                }
                self.close_view(*view, dependencies);
                self.note_hidden_defaults(*view, dependencies.get(view));
            }
            if ready.is_empty() {
                // The server allows no circle. Should there be one, nothing in it is read.
                for view in waiting.drain(..) {
                    if let Some(table) = self.schema.tables.get_mut(&self.names[&view]) {
                        table.opaque = true;
                    }
                }
            }
            waiting.retain(|view| !ready.contains(view));
        }
    }

    fn resolve_view(&mut self, view: u32) {
        let shown = views::shown_columns(&self.definitions[&view], &self.schema);
        let Some(table) = self.table_mut(view) else {
            return;
        };
        match shown {
            Some(shown) if shown.len() == table.columns.len() => {
                for (column, protected) in table.columns.iter_mut().zip(shown) {
                    column.protected = protected;
                }
            }
            Some(_) | None => table.opaque = true,
        }
    }

    fn note_hidden_defaults(&mut self, view: u32, reads: Option<&HashSet<u32>>) {
        let is_ruled = self.table(view).is_some_and(|own| own.has_triggers);
        if !is_ruled && !views::may_take_rows(&self.definitions[&view], self.schema.dialect) {
            return;
        }
        let names = |oid: &u32| self.names.get(oid).cloned();
        let reads: Vec<Name> = reads.into_iter().flatten().filter_map(names).collect();
        let view = self.names[&view].clone();
        self.schema.note_hidden_defaults(&view, &reads);
    }

    /// Functions that name a protected relation, or run texts that could; and those that call one
    /// of them.
    fn suspect_functions(&self, answer: &Answer) -> Vec<String> {
        let functions: Vec<(String, String)> = answer
            .iter()
            .map(|row| (text(row, 0), lower(&text(row, 1))))
            .collect();
        let protected = self
            .schema
            .tables
            .values()
            .filter(|table| table.is_protected());
        let hiding = self.schema.hidden_defaults.keys().map(|(_, view)| view);
        let mut marked: Vec<String> = protected
            .map(|table| &table.name)
            .chain(hiding)
            .map(|name| lower(name))
            .collect();
        // A text that is put together can name what is there.
        let can_name = self.schema.has_ruled_tables();
        let run_texts = functions
            .iter()
            .filter(|(_, body)| can_name && self.schema.dialect.runs_texts(body));
        let mut suspects: Vec<String> = run_texts.map(|(name, _)| name.clone()).collect();
        if marked.is_empty() {
            return Vec::new();
        }
        suspects.dedup();
        marked.extend(suspects.iter().map(|name| lower(name)));
        while let Some(word) = marked.pop() {
            for (name, body) in &functions {
                if !suspects.contains(name) && names_word(body, &word) {
                    suspects.push(name.clone());
                    marked.push(lower(name));
                }
            }
        }
        suspects.sort_unstable();
        suspects.dedup();
        suspects
    }
}
