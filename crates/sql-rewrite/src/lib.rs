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
pub mod ddl;
mod describe;
mod effects;
pub mod explain;
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
mod running_texts;
mod schema;
mod statement;
mod table_guard;
mod type_limits;
mod uses;
mod utility;
mod verify;

pub use describe::describe;
pub use names::NAME_SIZE_MAX;
pub use objects::{Objects, may_fetch, may_name_objects};
pub use parse::Dialect;
pub use schema::{
    ASKED, Answer, CHECKED, CatalogueFacts, Column, Guard, GuardsDue, ProtectedColumn, QUERIES,
    RelationKind, Schema, SchemaError, SeenColumns, SessionFacts, Shared, Table, answers_of,
    fingerprint_of,
};
pub use statement::{plan, plan_with};
pub use verify::is_of_second_proof;

use sql_plan::{
    Aggregate, AggregateFunction, Assignment, BinaryOperator, ColumnId, ColumnRule, Copy,
    CopyFormat, Current, Effects, Expression, Finish, Form, GroupKey, Hole, Literal, LockKey,
    LockedColumn, Mode, ObjectEffect, Output, OutputKind, ParameterType, Piece, Plan, Planned,
    Purpose, ReadModifyWrite, Refusal, Rules, ScalarFunction, Sort, Source, Template,
    TransactionEffect, Translated, UnaryOperator, Use,
};
