//! The schema: relations of the server, and the rules for their columns.

use std::collections::{BTreeSet, HashMap};

use column_codec::Layout;
use column_value::{Collation, EqualityForm, LogicalType, Pad};
use sql_plan::{ColumnRule, Draws};

use crate::dialect::Dialect;
use crate::dialect::lexeme::lower;
use crate::{ColumnId, Mode};

pub(crate) mod build;
pub(crate) mod cells;
mod checks;
mod extensions;
mod groups;
mod guards;
mod named_types;
mod session;
mod shared;
pub(crate) mod views;

pub use crate::dialect::postgres::queries::{
    ASKED, ASKED_OF_CHANGED, Answer, CHECKED, EXTENSIONS, QUERIES, answers_of, changed_of,
    fingerprint_of, names_text,
};
pub use build::SeenColumns;
pub use checks::{ColumnCheck, ColumnChecks};
pub use extensions::{Extension, Extensions};
pub use groups::ColumnGroup;
pub use guards::{Guard, GuardsDue};
pub use named_types::NamedTypes;
pub use session::{SessionFacts, TemporaryNames};
pub use shared::Shared;

/// All that plan and codec need to know of a protected column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtectedColumn {
    /// Its index in [`Schema::protected`].
    pub id: ColumnId,
    /// Schema of the table, `public` where the rule names none.
    pub schema: String,
    /// Table.
    pub table: String,
    /// Column.
    pub column: String,
    /// The type that clients see.
    pub logical: LogicalType,
    /// The mode.
    pub mode: Mode,
    /// The domain; of a column without one `column:schema.table.column`. No domain of a rule has
    /// a colon.
    pub domain: String,
    /// What its rule says of the form of its values.
    pub form: SealedForm,
    /// The default.
    pub default: Option<crate::Literal>,
    /// The sequence, if that is its default.
    pub draws: Option<Draws>,
    /// Whether the server has the column as NOT NULL; of one that is sealed with others, whether
    /// its rule says so.
    pub not_null: bool,
    /// Check constraints, which the finisher evaluates.
    pub checks: ColumnChecks,
}

/// What a rule says of the form of sealed values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SealedForm {
    /// Bits of mode `order`.
    pub bits: Option<u8>,
    /// How far texts are padded.
    pub pad: Pad,
    /// In which form mode `equality` keeps values.
    pub equality: EqualityForm,
    /// The collation by whose keys equal texts are found. Values begin with a token of it, and are
    /// of mode `random` otherwise: only what knows of tokens may compare them.
    pub tokens: Option<Collation>,
    /// The number of its group among [`CatalogueFacts::groups`]: it is sealed with others.
    pub group: Option<u32>,
}

impl SealedForm {
    /// That of a rule, but for its group.
    pub fn of(rule: &ColumnRule) -> Self {
        Self {
            bits: rule.bits,
            pad: rule.pad.unwrap_or_default(),
            equality: rule.equality.unwrap_or_default(),
            tokens: rule.tokens(),
            group: None,
        }
    }

    /// What such values of a type look like to the server.
    pub fn layout(self, logical: LogicalType, mode: Mode) -> Layout {
        Layout {
            logical,
            mode: match self.tokens {
                Some(collation) => column_codec::Mode::Token(collation),
                None => sealed_mode(mode),
            },
            bits: self.bits,
            pad: self.pad,
            equality: self.equality,
        }
    }
}

/// The type that the server has for a protected column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerType {
    /// `bytea`
    Bytes,
    /// `bigint`, of the 8 bytes of the sealed value, high byte first.
    Number,
}

impl ServerType {
    /// That of values which look so.
    pub fn of(layout: Layout) -> Self {
        match layout.is_number() {
            true => Self::Number,
            false => Self::Bytes,
        }
    }

    /// PostgreSQL's name of it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytea",
            Self::Number => "bigint",
        }
    }
}

/// The mode as the sealed values have it.
pub(crate) fn sealed_mode(mode: Mode) -> column_codec::Mode {
    match mode {
        Mode::Random => column_codec::Mode::Random,
        Mode::Equality => column_codec::Mode::Equality,
        Mode::Order => column_codec::Mode::Order,
    }
}

impl ProtectedColumn {
    /// What its values look like to the server.
    pub fn layout(&self) -> Layout {
        self.form.layout(self.logical, self.mode)
    }

    /// The server's type for it.
    pub fn server_type(&self) -> ServerType {
        ServerType::of(self.layout())
    }

    /// Whether statements may give it no values (`GENERATED ALWAYS AS IDENTITY`).
    pub(crate) fn is_always(&self) -> bool {
        self.draws.as_ref().is_some_and(|draws| draws.always)
    }

    /// The warning if its table has no such column.
    pub fn missing_text(&self) -> String {
        format!(
            "{}.{} has no column {}: its rule protects nothing. Mend the name in the rule, or add \
             the column through the proxy",
            self.schema, self.table, self.column
        )
    }
}

/// What a relation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RelationKind {
    /// A table, partitioned or not.
    Table,
    /// A view, materialised or not.
    View,
    /// A table of another server.
    Foreign,
}

/// One column as the server has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name as the catalogue has it; before MySQL, in small letters.
    pub name: String,
    /// That name as the server writes it, where it has capital letters before MySQL.
    pub written: Option<String>,
    /// Number in the catalogue, from 1.
    pub number: i16,
    /// Whether it is NOT NULL.
    pub not_null: bool,
    /// Whether the server has a default, or makes the value itself.
    pub has_default: bool,
    /// Whether the server computes it from other columns.
    pub is_generated: bool,
    /// The protected column that it is, or (of a view) that it shows unchanged.
    pub protected: Option<ColumnId>,
    /// The server's own type of it, where it is one that [`LogicalType`] knows; else None.
    pub physical: Option<LogicalType>,
}

impl Column {
    /// Its name as answers have it.
    pub fn written(&self) -> &str {
        self.written.as_ref().unwrap_or(&self.name)
    }
}

/// What a column is in the catalogue, beside what [`LogicalType`] says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnType {
    /// The name of its type, with its limits, as the server prints it. A type of users has its
    /// schema before its name.
    pub name: String,
    /// Its collation, unless it is that of the type.
    pub collation: Option<String>,
}

/// One relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Schema.
    pub schema: String,
    /// Name as the catalogue has it.
    pub name: String,
    /// The catalogue's number of it; 0 while there is no such table.
    pub oid: u32,
    /// What kind of relation it is.
    pub kind: RelationKind,
    /// Columns in their order.
    pub columns: Vec<Column>,
    /// Unique keys as indices of `columns`, the primary key first.
    pub unique_keys: Vec<Vec<usize>>,
    /// Whether the first of them is the primary key.
    pub has_primary_key: bool,
    /// A view that computes something from a protected column: nothing may read it.
    pub opaque: bool,
    /// Whether triggers fire on it, or rules of the server rewrite what is done to it: they see
    /// and may write ciphertext.
    pub has_triggers: bool,
    /// Whether privileges are granted on single columns. Then a user who may read one column need
    /// not be allowed to read another.
    pub has_column_privileges: bool,
    /// What else decides about its rows.
    pub rows: RowRules,
}

/// What the server does with rows of a table that are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowRules {
    /// Policies say which rows a user sees and writes.
    pub has_policies: bool,
    /// A constraint, other than a guard, was not validated: rows that are there may break it.
    pub has_unvalidated: bool,
    /// Foreign keys with actions lead from it back to it, by way of others or not: when one of its
    /// rows is changed or deleted, others may be, too.
    pub are_moved_by_keys: bool,
}

impl Table {
    /// A table of this schema and name, of which nothing else is known.
    pub(crate) fn empty((schema, name): &(String, String)) -> Self {
        Self {
            schema: schema.clone(),
            name: name.clone(),
            oid: 0,
            kind: RelationKind::Table,
            columns: Vec::new(),
            unique_keys: Vec::new(),
            has_primary_key: false,
            opaque: false,
            has_triggers: false,
            has_column_privileges: false,
            rows: RowRules::default(),
        }
    }

    /// Index of a column in [`Table::columns`].
    pub fn position(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|own| own.name == column)
    }

    /// Its primary key, as indices of its columns.
    pub fn primary_key(&self) -> Option<&[usize]> {
        let first = self.unique_keys.first().filter(|_| self.has_primary_key);
        first.map(Vec::as_slice)
    }

    /// Whether any of its columns is protected, or computed from one that is. A table that is not
    /// there yet is here because it has rules.
    pub fn is_protected(&self) -> bool {
        self.oid == 0 || self.opaque || self.columns.iter().any(|column| column.protected.is_some())
    }
}

/// Relations of the server and rules, at one moment.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// The dialect of its server.
    pub dialect: Dialect,
    /// Relations by schema and name. They are most of it: copies for other search paths share
    /// them.
    pub tables: Shared<HashMap<(String, String), Table>>,
    /// Protected columns by [`ColumnId`].
    pub protected: Vec<ProtectedColumn>,
    /// Schemas that unqualified names are looked up in, in their order.
    pub search_path: Vec<String>,
    /// What the session has of its own: an unqualified name means that first.
    pub temporary: TemporaryNames,
    /// Functions of users, without their schema, whose text names a protected table, runs other
    /// texts as SQL, or names another such function: calling them is refused.
    pub suspect_functions: Vec<String>,
    /// What is read from the catalogues beside relations.
    pub catalogue: Shared<CatalogueFacts>,
    /// Columns that have rules and are in clear. As long as there is one, no statement that touches
    /// a protected column may be answered.
    pub unfit: Vec<SchemaError>,
    /// Relations, by schema and name, that lost a column with a rule, and why their statements are
    /// refused. They are [`Table::opaque`], too.
    pub closed: HashMap<(String, String), String>,
    /// Of views that rows may be written through, by schema and name: columns with a default of the
    /// tables below them that they do not show. A row that comes through such a view has none.
    pub hidden_defaults: HashMap<(String, String), Vec<ColumnId>>,
    /// The guards that the server has.
    pub guards: Vec<Guard>,
    /// Whether tables are created without guards.
    pub leaves_guards_out: bool,
}

/// What is needed to show clients a catalogue with the logical types, and what a finisher needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CatalogueFacts {
    /// Columns of the server's `pg_attribute`: they differ between versions.
    pub attribute_columns: Vec<String>,
    /// Columns of the server's `pg_class`.
    pub class_columns: Vec<String>,
    /// Columns of the server's `information_schema.columns`.
    pub information_columns: Vec<String>,
    /// Columns of indexes that are protected: number of the index, number of the column in it.
    pub index_columns: Vec<(u32, i16, ColumnId)>,
    /// Protected texts that are compared and sorted by their bytes, before MySQL.
    pub binary_texts: Vec<ColumnId>,
    /// Protected texts and bytes that are declared `LONGTEXT` and `LONGBLOB`, before MySQL.
    pub long: Vec<ColumnId>,
    /// Enumerations of users, and types of extensions.
    pub named_types: NamedTypes,
    /// Groups of protected columns.
    pub groups: Vec<ColumnGroup>,
    /// Tables that are partitioned, by their numbers (PostgreSQL).
    pub partitioned: BTreeSet<u32>,
    /// What queries need that are left to a finisher.
    pub finisher: FinisherFacts,
    /// Collations of tables, by schema and name (MySQL).
    pub collations: HashMap<(String, String), String>,
    /// Names of the unique keys of tables, by schema and name, in their order (MySQL).
    pub unique_key_names: HashMap<(String, String), Vec<String>>,
}

/// A column as the server declares it (MySQL).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeclaredColumn {
    /// Its type, with its limits.
    pub type_name: String,
    /// The collation of a text.
    pub collation: Option<String>,
    /// What is behind the type: `NOT NULL`, that it has a default, and what numbers rows.
    pub tail: String,
    /// Its default, as a rule has it. None: it has none, or it is another expression, or the server
    /// changes the column at each `UPDATE`.
    pub default: Option<String>,
}

/// A key as the server declares it (MySQL).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredKey {
    /// Its name, which errors have.
    pub name: String,
    /// Whether it is the primary key.
    pub is_primary: bool,
    /// Whether its values are unique.
    pub is_unique: bool,
    /// Indices of its columns, and how many letters of a text are part of it.
    pub columns: Vec<(usize, Option<u32>)>,
}

/// What is needed to leave queries to a finisher.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FinisherFacts {
    /// Whether there is one.
    pub is_there: bool,
    /// The major version of which the proxy has no programs, though it should have a finisher.
    pub lacking: Option<u16>,
    /// Names of functions and operators of users that a call with values of the server's own types
    /// may mean.
    pub shadows: Vec<String>,
    /// Names of operators of users and of extensions.
    pub operators: BTreeSet<String>,
    /// Names of functions of users and of extensions that the server itself does not have, and of
    /// which none is volatile.
    pub steady_functions: BTreeSet<String>,
    /// Text search configurations.
    pub text_search: TextSearch,
    /// Extensions of PostgreSQL's own whose functions the finisher evaluates.
    pub extensions: Extensions,
    /// Types of columns that are the server's own, by number of the relation and of the column.
    pub column_types: HashMap<(u32, i16), ColumnType>,
    /// All columns of tables by number of the relation and of the column (MySQL).
    pub declared_columns: HashMap<(u32, i16), DeclaredColumn>,
    /// All keys of tables by number of the relation (MySQL).
    pub declared_keys: HashMap<u32, Vec<DeclaredKey>>,
    /// Whether texts of the database sort by their bytes. Otherwise the proxy, which compares
    /// bytes, leaves orders of texts to the finisher.
    pub sorts_by_bytes: bool,
    /// Whether a column has a nondeterministic collation: by it, texts of other bytes may be equal.
    pub has_nondeterministic: bool,
}

/// Which text search configurations the finisher has as the server has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextSearch {
    /// Their names.
    pub known: BTreeSet<String>,
    /// Whether the server has no others.
    pub is_all: bool,
}

/// Whether a schema is one of temporary relations.
pub(crate) fn is_of_temporaries(schema: &str) -> bool {
    schema.starts_with("pg_temp")
}

/// Rules and server do not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{schema}.{table}.{column}: {problem}")]
pub struct SchemaError {
    /// Schema.
    pub schema: String,
    /// Table.
    pub table: String,
    /// Column.
    pub column: String,
    /// What does not fit and what to do.
    pub problem: String,
    /// Whether it is only about a column that is in clear: statements that touch no protected
    /// column are still safe.
    pub is_own: bool,
}

impl Schema {
    /// Whether queries may be left to a finisher.
    pub fn has_finisher(&self) -> bool {
        self.catalogue.finisher.is_there
    }

    /// Whether a protected column has values that are kept unread.
    pub fn has_opaque(&self) -> bool {
        let mut columns = self.protected.iter();
        columns.any(|column| column.logical.opaque().is_some())
    }

    /// Whether the proxy leaves orders of texts to the finisher.
    pub(crate) fn leaves_text_order(&self) -> bool {
        self.has_finisher() && !self.catalogue.finisher.sorts_by_bytes
    }

    /// Protected columns that their tables do not have: those rules protect nothing.
    pub fn missing_columns(&self) -> impl Iterator<Item = &ProtectedColumn> {
        self.protected.iter().filter(|protected| {
            let name = (protected.schema.clone(), protected.table.clone());
            let table = self.tables.get(&name).filter(|table| table.oid != 0);
            table.is_some_and(|table| table.position(&protected.column).is_none())
        })
    }

    /// Whether a protected column is declared `LONGTEXT` or `LONGBLOB`, before MySQL.
    pub fn is_long(&self, id: ColumnId) -> bool {
        self.catalogue.long.contains(&id)
    }

    /// Whether each value of one protected column is one of another.
    pub(crate) fn have_one_type(&self, one: ColumnId, other: ColumnId) -> bool {
        self.column(one).logical == self.column(other).logical
            && self.is_long(one) == self.is_long(other)
    }

    /// The protected column of an id that this schema gave out.
    pub fn column(&self, id: ColumnId) -> &ProtectedColumn {
        &self.protected[id.0 as usize]
    }

    /// A protected column as messages name it.
    pub(crate) fn title(&self, id: ColumnId) -> String {
        let column = self.column(id);
        format!("{}.{}", column.table, column.column)
    }

    /// Whether the database has a table with rules, or something that shows one. Rules hold for
    /// every database, and most may have none of the tables.
    pub(crate) fn has_ruled_tables(&self) -> bool {
        let is_there = |table: &Table| table.oid != 0;
        let mut tables = self.tables.values();
        // A table in clear has rules too.
        let mut ruled = self.protected.iter().filter_map(|rule| {
            let name = (rule.schema.clone(), rule.table.clone());
            self.tables.get(&name)
        });
        tables.any(|table| is_there(table) && table.is_protected()) || ruled.any(is_there)
    }

    /// The rule of a column, whether the table is there or not.
    pub fn rule(&self, schema: &str, table: &str, column: &str) -> Option<&ProtectedColumn> {
        self.protected
            .iter()
            .find(|rule| rule.schema == schema && rule.table == table && rule.column == column)
    }

    /// Takes note of the defaults that a view hides, which is in [`Schema::tables`] and reads these
    /// relations.
    pub(crate) fn note_hidden_defaults(
        &mut self,
        view: &(String, String),
        reads: &[(String, String)],
    ) {
        let columns = self.tables.get(view).into_iter();
        let columns = columns.flat_map(|view| &view.columns);
        let shown: Vec<ColumnId> = columns.filter_map(|own| own.protected).collect();
        let mut hidden: Vec<ColumnId> = reads
            .iter()
            .flat_map(|read| self.defaults_below(read))
            .collect();
        hidden.retain(|id| !shown.contains(id));
        match hidden.is_empty() {
            true => drop(self.hidden_defaults.remove(view)),
            false => drop(self.hidden_defaults.insert(view.clone(), hidden)),
        }
    }

    /// Columns with a default of a relation, and those that it hides.
    fn defaults_below(&self, name: &(String, String)) -> Vec<ColumnId> {
        let columns = self.tables.get(name).into_iter();
        let columns = columns.flat_map(|table| &table.columns);
        let own = columns
            .filter_map(|own| own.protected)
            .filter(|id| self.column(*id).default.is_some());
        let hidden = self.hidden_defaults.get(name).into_iter().flatten();
        own.chain(hidden.copied()).collect()
    }

    /// Whether a protected relation of this name is in any schema, however its letters are written,
    /// or a view that hides defaults.
    pub(crate) fn has_protected(&self, name: &str) -> bool {
        let name = lower(name);
        let mut ruled = self.protected.iter();
        let mut hiding = self.hidden_defaults.keys();
        ruled.any(|column| lower(&column.table) == name)
            || hiding.any(|(_, view)| lower(view) == name)
            || self
                .tables
                .values()
                .any(|table| table.is_protected() && lower(&table.name) == name)
    }

    /// Whether a relation that is not protected has the name of one that is, in another schema:
    /// what was meant for that would be stored in clear.
    pub(crate) fn hides_protected(&self, table: &Table) -> bool {
        let own = (table.schema.clone(), table.name.clone());
        let mut ruled = self.protected.iter();
        let mut others = self.tables.values();
        !table.is_protected()
            && !self.hidden_defaults.contains_key(&own)
            && (ruled.any(|rule| rule.table == table.name && rule.schema != table.schema)
                || others.any(|other| other.is_protected() && other.name == table.name))
    }

    /// A relation by the name of a statement: through the search path where it names no schema.
    pub fn find(&self, schema: Option<&str>, table: &str) -> Option<&Table> {
        let at = |schema: &str| self.tables.get(&(schema.to_owned(), table.to_owned()));
        match schema {
            Some(schema) => at(schema),
            None => {
                let mut path = self.search_path.iter();
                if !self.temporary.relations.iter().any(|own| own == table) {
                    return path.find_map(|schema| at(schema));
                }
                // They come first, but where the path names them at another place.
                let is_named = path.clone().any(|schema| is_of_temporaries(schema));
                path.take_while(|schema| is_named && !is_of_temporaries(schema))
                    .find_map(|schema| at(schema))
            }
        }
    }
}
