//! Name resolution of the verifier: relations of a query, and those of the queries around it.

use sqlparser::ast::{Ident, TableAlias};

use super::Doubt;
use super::label::{Label, Labels};
use crate::{Dialect, Table};

/// Columns of a relation or of an answer, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Columns {
    /// Names, where they are known, and labels.
    pub known: Vec<(Option<String>, Label)>,
    /// There are more, of which nothing is known but this.
    pub others: Option<Label>,
}

/// A relation in FROM.
pub(super) struct Relation {
    pub name: String,
    pub columns: Columns,
}

/// Relations that names are looked up in.
#[derive(Default)]
pub(super) struct Scope<'o> {
    pub relations: Vec<Relation>,
    pub outer: Option<&'o Scope<'o>>,
}

impl Columns {
    pub fn of_table(table: &Table) -> Self {
        let label = |protected: Option<_>| protected.map_or_else(Label::public, Label::sealed);
        let columns = table.columns.iter();
        Self {
            known: columns
                .map(|column| (Some(column.name.clone()), label(column.protected)))
                .collect(),
            others: None,
        }
    }

    /// Columns of which only what they are made of is known.
    pub fn unknown(label: Label) -> Self {
        Self {
            known: Vec::new(),
            others: Some(label),
        }
    }

    pub fn labels(&self) -> impl Iterator<Item = &Label> {
        let known = self.known.iter().map(|(_, label)| label);
        known.chain(&self.others)
    }

    pub fn has_sealed(&self) -> bool {
        self.labels().any(|label| label.sealed.is_some())
    }

    /// What any of the columns may be; none of them may be sealed.
    pub fn any(&self, labels: &mut Labels) -> Result<Label, Doubt> {
        let mut own = self.labels().cloned();
        own.try_fold(Label::null(), |all, one| match one.sealed {
            Some(sealed) => Err(Doubt(format!(
                "a whole row, or a column that is not known, may be {}",
                labels.title(sealed)
            ))),
            None => labels.merge(all, one),
        })
    }

    /// The label of a name. None: there is no such column.
    fn find(&self, name: &str, labels: &mut Labels) -> Result<Option<Label>, Doubt> {
        let is_named = |own: &Option<String>| own.as_deref() == Some(name);
        let mut named = self.known.iter().filter(|(own, _)| is_named(own));
        if let Some((_, label)) = named.next() {
            return Ok(Some(label.clone()));
        }
        let nameless = self.known.iter().filter(|(own, _)| own.is_none());
        let maybe = Self {
            known: nameless.cloned().collect(),
            others: self.others.clone(),
        };
        match maybe.known.is_empty() && maybe.others.is_none() {
            true => Ok(None),
            false => maybe.any(labels).map(Some),
        }
    }

    /// The same under the names of an alias.
    pub fn renamed(mut self, alias: Option<&TableAlias>, dialect: Dialect) -> Self {
        let names = alias.into_iter().flat_map(|alias| &alias.columns);
        for (index, name) in names.enumerate() {
            if let Some((own, _)) = self.known.get_mut(index) {
                *own = Some(dialect.fold(&name.name));
            }
        }
        self
    }
}

impl Scope<'_> {
    /// The label of a name as it stands in an expression.
    pub fn label(&self, parts: &[Ident], labels: &mut Labels) -> Result<Label, Doubt> {
        let dialect = labels.schema.dialect;
        let names: Vec<String> = parts.iter().map(|own| dialect.fold(own)).collect();
        match names.as_slice() {
            // The server has its value.
            [_] if dialect.is_variable(&parts[0]) => Ok(Label::public()),
            [column] => self.column(column, labels),
            [.., relation, column] => self.qualified(relation, column, labels),
            [] => Err(Doubt("a name without parts".to_owned())),
        }
    }

    fn column(&self, name: &str, labels: &mut Labels) -> Result<Label, Doubt> {
        // A column that is not known of an inner relation may be meant, or that of an outer one.
        let mut maybe: Option<Label> = None;
        let mut scope = Some(self);
        while let Some(current) = scope {
            // Beside one that is known it would be ambiguous to the server.
            let is_certain = current.relations.iter().any(|relation| relation.has(name));
            let relations = current.relations.iter();
            for relation in relations.filter(|relation| !is_certain || relation.has(name)) {
                let Some(label) = relation.columns.find(name, labels)? else {
                    continue;
                };
                maybe = Some(match maybe {
                    None => label,
                    Some(other) => labels.merge(other, label)?,
                });
            }
            if is_certain {
                break;
            }
            scope = current.outer;
        }
        if let Some(label) = maybe {
            return Ok(label);
        }
        let dialect = labels.schema.dialect;
        if dialect.is_system_column(name) || dialect.is_function_word(name) {
            return Ok(Label::public());
        }
        match self.relation(name) {
            Some(relation) => relation.columns.any(labels),
            None => Err(Doubt(format!("column {name:?} is not known"))),
        }
    }

    fn qualified(&self, relation: &str, column: &str, labels: &mut Labels) -> Result<Label, Doubt> {
        let unknown = || Doubt(format!("column {relation:?}.{column:?} is not known"));
        let found = self.relation(relation).ok_or_else(unknown)?;
        match found.columns.find(column, labels)? {
            Some(label) => Ok(label),
            None if labels.schema.dialect.is_system_column(column) => Ok(Label::public()),
            None => Err(unknown()),
        }
    }

    pub fn relation(&self, name: &str) -> Option<&Relation> {
        let own = self.relations.iter().find(|relation| relation.name == name);
        own.or_else(|| self.outer?.relation(name))
    }
}

impl Relation {
    pub fn has(&self, name: &str) -> bool {
        let mut known = self.columns.known.iter();
        known.any(|(own, _)| own.as_deref() == Some(name))
    }
}
