//! Columns that could be sealed together, by the statements that a program sends.
//!
//! A group saves the most where its columns are read and written together. Changing one of them
//! alone costs a read before the write, so such columns stay outside.

use std::collections::BTreeSet;

use super::{How, StatementReport, statements};
use crate::dialect::lexeme::lower;
use crate::schema::{Answer, RelationKind};
use crate::{ColumnId, Mode, Rules, Schema, Use};

/// A value that is sealed alone has so many bytes beside its content, without padding.
const SIZE_BESIDE: usize = 25;

/// One in so many executions may change a column without the others.
const ALONE_MAX: usize = 10;

/// Columns of one table that could be sealed together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupProposal {
    /// `schema.table`
    pub table: String,
    /// Their names, in the order of the rules.
    pub columns: Vec<String>,
    /// How many of the statements, as often as each was sent, read or write one of them.
    pub uses: usize,
    /// How many of these change some of them and not the others.
    pub changes: usize,
}

impl GroupProposal {
    /// About how many bytes a row is shorter where all columns have values.
    pub fn size_saved(&self) -> usize {
        (self.columns.len() - 1) * SIZE_BESIDE
    }
}

/// What one statement does with columns that may be members.
struct Used {
    read: BTreeSet<ColumnId>,
    /// Those that get values in rows that are there.
    changed: BTreeSet<ColumnId>,
    all: BTreeSet<ColumnId>,
    count: usize,
}

/// The groups that these texts speak for; each stands with how often it was sent.
pub fn proposed(
    texts: &[(&str, usize)],
    (rules, answers): (&Rules, &[Answer]),
    schema: &Schema,
) -> Vec<GroupProposal> {
    let reports = reports(texts, schema);
    let used: Vec<Used> = reports.iter().map(|own| used(own, schema)).collect();
    let mut tables: Vec<(&str, &str)> = Vec::new();
    for rule in &schema.protected {
        let name = (rule.schema.as_str(), rule.table.as_str());
        if !tables.contains(&name) {
            tables.push(name);
        }
    }
    let tables = tables.into_iter();
    let proposals = tables.filter_map(|table| of_table(table, &used, schema));
    let fits = |own: &GroupProposal| is_possible(own, &reports, (rules, answers), schema);
    proposals.filter(fits).collect()
}

type Counted = (StatementReport, usize);

fn reports(texts: &[(&str, usize)], schema: &Schema) -> Vec<Counted> {
    let of = |(text, count): &(&str, usize)| {
        let reports = statements(text, schema).into_iter();
        reports.map(|report| (report, *count)).collect::<Vec<_>>()
    };
    texts.iter().flat_map(of).collect()
}

/// Whether a column could have a group.
fn may_be_member(id: ColumnId, schema: &Schema) -> bool {
    let rule = schema.column(id);
    let is_shown = schema.tables.values().any(|table| {
        let mut columns = table.columns.iter();
        table.kind == RelationKind::View && columns.any(|own| own.protected == Some(id))
    });
    rule.mode == Mode::Random
        && rule.form.group.is_none()
        && rule.logical.opaque().is_none()
        && rule.draws.is_none()
        && !rule.is_checked()
        && !is_shown
}

fn used((report, count): &Counted, schema: &Schema) -> Used {
    let text = lower(&report.text);
    let first = text.split_whitespace().next().unwrap_or_default();
    let is_new = matches!(first, "insert" | "copy") && !text.contains("conflict");
    let mut used = Used {
        read: BTreeSet::new(),
        changed: BTreeSet::new(),
        all: BTreeSet::new(),
        count: *count,
    };
    for learnt in &report.learnt {
        let mut rules = schema.protected.iter();
        let rule = rules.find(|rule| {
            rule.column == learnt.column
                && learnt.table == format!("{}.{}", rule.schema, rule.table)
        });
        let Some(id) = rule.map(|rule| rule.id) else {
            continue;
        };
        used.all.insert(id);
        for (what, _) in &learnt.uses {
            let found = match what {
                Use::Written if !is_new => &mut used.changed,
                Use::Returned | Use::Fetched => &mut used.read,
                _ => continue,
            };
            found.insert(id);
        }
    }
    used
}

fn of_table(name: (&str, &str), used: &[Used], schema: &Schema) -> Option<GroupProposal> {
    let own = schema.protected.iter();
    let own = own.filter(|rule| (rule.schema.as_str(), rule.table.as_str()) == name);
    let own = own.filter(|rule| used.iter().any(|one| one.all.contains(&rule.id)));
    let own = own.map(|rule| rule.id);
    let mut members: BTreeSet<ColumnId> = own.filter(|id| may_be_member(*id, schema)).collect();
    let sum = |is_meant: &dyn Fn(&Used) -> bool| -> usize {
        let meant = used.iter().filter(|own| is_meant(own));
        meant.map(|own| own.count).sum()
    };
    loop {
        if members.len() < 2 {
            return None;
        }
        let uses = sum(&|own| !own.all.is_disjoint(&members));
        let changes_alone =
            |own: &Used| !own.changed.is_disjoint(&members) && !own.changed.is_superset(&members);
        let changes = |id: &ColumnId| sum(&|own| changes_alone(own) && own.changed.contains(id));
        let most = members.iter().map(|id| (changes(id), *id)).max()?;
        if most.0 * ALONE_MAX > uses {
            members.remove(&most.1);
            continue;
        }
        let reads = |id: &ColumnId| sum(&|own| own.read.contains(id));
        let reads_alone = |id: &ColumnId| {
            sum(&|own| own.read.contains(id) && own.read.is_disjoint(&others(&members, *id)))
        };
        let apart = members
            .iter()
            .find(|id| 2 * reads_alone(id) > reads(id))
            .copied();
        if let Some(apart) = apart {
            members.remove(&apart);
            continue;
        }
        return Some(GroupProposal {
            table: format!("{}.{}", name.0, name.1),
            columns: members
                .iter()
                .map(|id| schema.column(*id).column.clone())
                .collect(),
            uses,
            changes: sum(&changes_alone),
        });
    }
}

fn others(members: &BTreeSet<ColumnId>, but: ColumnId) -> BTreeSet<ColumnId> {
    let others = members.iter().filter(|own| **own != but);
    others.copied().collect()
}

/// Whether no statement would be refused that is not refused now.
fn is_possible(
    proposal: &GroupProposal,
    reports: &[Counted],
    (rules, answers): (&Rules, &[Answer]),
    schema: &Schema,
) -> bool {
    let mut rules = rules.clone();
    for (name, columns) in &mut rules.tables {
        let (own, table) = Rules::split_name(name);
        if format!("{own}.{table}") != proposal.table {
            continue;
        }
        let (own, table) = (own.to_owned(), table.to_owned());
        let not_null = |column: &str| {
            let mut known = schema.protected.iter();
            known.any(|rule| {
                (&rule.schema, &rule.table, rule.column.as_str()) == (&own, &table, column)
                    && rule.not_null
            })
        };
        for (column, rule) in columns {
            if proposal.columns.contains(column) {
                rule.group = Some("proposed".to_owned());
                rule.not_null = not_null(column);
            }
        }
    }
    let (mut grouped, _) = Schema::build_anyway(&rules, answers);
    grouped.catalogue.finisher.is_there = schema.catalogue.finisher.is_there;
    reports.iter().all(|(report, _)| {
        let was_refused = matches!(report.how, How::Refused(_));
        let now = statements(&report.text, &grouped);
        was_refused || !now.iter().any(|own| matches!(own.how, How::Refused(_)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::QUERIES;

    const RULES: &str = r#"
[columns.person]
id = { type = "integer", mode = "equality" }
first = { type = "text" }
city = { type = "text" }
born = { type = "date" }
visits = { type = "integer" }
note = { type = "text" }
[columns.other]
a = { type = "text" }
b = { type = "text" }
"#;

    fn row(columns: &[&str]) -> Vec<Option<String>> {
        let columns = columns.iter();
        columns.map(|text| Some((*text).to_owned())).collect()
    }

    fn proposals(texts: &[(&str, usize)]) -> Vec<GroupProposal> {
        let rules = Rules::from_toml(RULES).expect("right rules");
        let mut answers: Vec<Answer> = vec![Vec::new(); QUERIES.len()];
        answers[0] = vec![row(&["public"])];
        let relation = |oid, name| row(&[oid, "public", name, "r", "false", "", "", ""]);
        answers[1] = vec![relation("10", "person"), relation("11", "other")];
        let columns = [("10", "id first city born visits note"), ("11", "a b")];
        for (table, names) in columns {
            for (name, number) in names.split(' ').zip(1..) {
                let is_first = (name == "first").to_string();
                let number = u8::to_string(&number);
                answers[2].push(row(&[table, &number, name, &is_first, "false", "bytea"]));
            }
        }
        let schema = Schema::build(&rules, &answers).expect("they fit");
        proposed(texts, (&rules, &answers[..]), &schema)
    }

    const INSERT: &str = "INSERT INTO person VALUES ($1, $2, $3, $4, $5, $6)";

    #[test]
    fn columns_that_are_used_together_are_proposed() {
        let texts = [
            (INSERT, 100),
            ("SELECT first, city, born FROM person WHERE id = $1", 50),
            ("SELECT note FROM person WHERE id = $1", 60),
            ("UPDATE person SET city = $1 WHERE id = $2", 3),
            ("UPDATE person SET visits = visits + 1 WHERE id = $1", 80),
            ("SELECT a FROM other", 5),
        ];
        let proposed = proposals(&texts);
        let expected = GroupProposal {
            table: "public.person".to_owned(),
            columns: ["born", "city", "first"].map(str::to_owned).to_vec(),
            uses: 153,
            changes: 3,
        };
        assert_eq!(proposed, [expected]);
        assert_eq!(proposed[0].size_saved(), 50);
    }

    #[test]
    fn what_would_be_refused_is_not_proposed() {
        let together = ("SELECT first, city, born FROM person WHERE id = $1", 50);
        assert_eq!(proposals(&[(INSERT, 1), together]).len(), 1);
        for text in [
            "INSERT INTO person SELECT id, first, city, born, visits, note FROM person",
            "ALTER TABLE person DROP COLUMN note",
        ] {
            let texts = [(INSERT, 1), together, (text, 1)];
            let proposed = proposals(&texts);
            let has = |name: &str| {
                let mut columns = proposed.iter().flat_map(|own| &own.columns);
                columns.any(|own| own == name)
            };
            assert!(!has("note"), "{text}: {proposed:?}");
        }
    }
}
