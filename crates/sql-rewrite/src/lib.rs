//! SQL to plan.
//!
//! A statement, the rules and the schema go in; a [`Plan`] comes out, or a [`Refusal`]. The
//! crate knows no protocol, no key and no value of a parameter; it does no I/O. A plan holds for
//! every execution of the same text under the same schema, so that it can be cached.
//!
//! The rule above all others: what is not proved safe is refused. A literal or parameter
//! reaches the server in clear only where the analysis has shown that it meets no protected column.

mod analysis;
mod binding;
pub mod catalogue;
mod column_id;
pub mod ddl;
mod describe;
mod effects;
pub mod explain;
mod expression;
mod finish;
mod forms;
mod guard;
mod increment;
mod inline;
mod lexer;
mod locks;
mod mention;
mod names;
mod objects;
mod parse;
mod plan;
mod refusal;
mod rules;
mod running_texts;
mod schema;
mod statement;
mod table_guard;
mod translated;
mod type_limits;
mod uses;
mod utility;
mod verify;
mod widen;

pub use column_id::ColumnId;
pub use effects::{Effects, ObjectEffect, TransactionEffect, Use};
pub use expression::{
    AggregateFunction, BinaryOperator, Expression, Literal, ScalarFunction, Source, UnaryOperator,
};
pub use names::NAME_SIZE_MAX;
pub use objects::{Objects, may_fetch, may_name_objects};
pub use parse::Dialect;
pub use plan::{
    Aggregate, Assignment, Copy, CopyFormat, Current, Finish, GroupKey, Plan, Planned,
    ReadModifyWrite, Sort,
};
pub use refusal::Refusal;
pub use rules::{ColumnRule, DEFAULT_SCHEMA, Mode, Rules, RulesError};
pub use schema::{
    ASKED, Answer, CHECKED, CatalogueFacts, Column, Guard, GuardsDue, ProtectedColumn, QUERIES,
    RelationKind, Schema, SchemaError, SeenColumns, SessionFacts, Shared, Table, answers_of,
    fingerprint_of,
};
pub use statement::{plan, plan_with};
pub use translated::{
    Form, Hole, LockKey, LockedColumn, Output, OutputKind, ParameterType, Piece, Purpose, Template,
    Translated,
};
pub use verify::is_of_second_proof;
pub use widen::widen;
