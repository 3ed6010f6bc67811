//! Plans SQL statements over protected columns.
//!
//! A statement, the rules and the schema go in; a [`Plan`] or a [`Refusal`] comes out. The crate
//! knows no protocol, no key and no value of a parameter, and does no I/O. A plan depends on text,
//! schema and rules alone, so it can be cached and holds for every execution of the text.
//!
//! The first rule: what is not proved safe is refused. A literal or parameter is sent in clear only
//! where the analysis has shown that it meets no protected column.

mod analysis;
mod checked_rules;
mod describe;
mod dialect;
pub mod explain;
mod finish;
mod finisher;
mod guard;
mod increment;
mod inline;
mod lacking;
mod locks;
mod mention;
mod reading;
mod sampled;
mod schema;
mod spread;
mod statement;
pub mod suggest;
mod translate;
mod type_limits;
mod user_casts;
mod uses;
mod verify;
mod walk;

pub use checked_rules::check_rules;
pub use describe::describe;
pub use dialect::Dialect;
pub use dialect::mysql;
pub use dialect::postgres::finisher::{FAILING_FUNCTION, FAILING_SCHEMA, unknown_to_finisher};
pub use dialect::postgres::leading::{is_copy, needs_block};
pub use dialect::postgres::names::NAME_SIZE_MAX;
pub use dialect::postgres::objects::{
    CursorMeaning, Objects, may_fetch, may_name_objects, scrolled,
};
pub use dialect::postgres::{catalogue, ddl};
pub use schema::{
    ASKED, ASKED_OF_CHANGED, Answer, CHECKED, CatalogueFacts, Column, ColumnCheck, ColumnChecks,
    ColumnGroup, ColumnType, DeclaredColumn, DeclaredKey, EXTENSIONS, Extension, FinisherFacts,
    Guard, GuardsDue, NamedTypes, ProtectedColumn, QUERIES, RelationKind, RowRules, Schema,
    SchemaError, SealedForm, SeenColumns, ServerType, SessionFacts, Shared, Table, TemporaryNames,
    answers_of, changed_of, fingerprint_of, names_text,
};
pub use statement::{plan, plan_with};
pub use verify::is_of_second_proof;

use sql_plan::{
    Aggregate, AggregateFunction, Assignment, BinaryOperator, ColumnId, ColumnRule, CopiedGroup,
    CopiedMember, Copy, CopyForced, CopyFormat, Current, Effects, Expression, FilledColumn,
    FilledForm, FilledInsert, FilledTable, FilledWrite, Finish, FinisherMerge, FinisherQuery,
    FinisherTables, FinisherWrite, Form, GroupKey, Hole, InsertForm, InsertedColumn, InsertedRows,
    Literal, LockKey, LockedColumn, MergeClause, Mode, ObjectEffect, Output, OutputKind,
    ParameterType, Piece, Plan, Planned, Purpose, ReadModifyWrite, Refusal, Rules, ScalarFunction,
    Sort, Source, Template, TransactionEffect, Translated, UnaryOperator, Use,
};
