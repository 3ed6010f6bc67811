//! Plans for statements on protected columns, and what plans are made of.
//!
//! [`Rules`] say which columns are protected. A [`Plan`] says what the server gets for a statement,
//! what fills its holes, which of its columns are opened, and what is computed afterwards. Its
//! [`Effects`] say what the statement changes beside rows. A [`Refusal`] says why a statement is
//! not executed. The crate `sql-rewrite` makes plans; the crate `finish` and the proxy's sessions
//! carry them out. No parser, no protocol, no key, no I/O.
#![forbid(unsafe_code)]

mod column_id;
mod cursors;
mod effects;
mod expression;
mod finisher;
mod plan;
mod refusal;
mod rules;
mod translated;

pub use column_id::ColumnId;
pub use cursors::{Direction, KeptCursor, Passed, Scroll};
pub use effects::{Effects, ObjectEffect, TransactionEffect, Use};
pub use expression::{
    AggregateFunction, BinaryOperator, Expression, Literal, ScalarFunction, Source, UnaryOperator,
};
pub use finisher::{
    Element, FetchedColumnPlan, FetchedRelation, FilledColumn, FilledForm, FilledInsert,
    FilledTable, FilledWrite, FinisherMerge, FinisherQuery, FinisherTables, FinisherWrite,
    InsertForm, InsertedColumn, InsertedRows, MergeClause, Upsert,
};
pub use plan::{
    Aggregate, Assignment, CopiedGroup, CopiedMember, Copy, CopyForced, CopyFormat, Current,
    Finish, GroupKey, Plan, Planned, ReadModifyWrite, Sort,
};
pub use refusal::{Refusal, refuse, unsupported};
pub use rules::{
    ColumnRule, DEFAULT_SCHEMA, Draws, Mode, Rules, RulesError, constant_value, few_values,
    moment_digits, parse_default,
};
pub use translated::{
    ALTER_BLOCK_START, BLOCK_START, Form, Hole, LockKey, LockedColumn, Output, OutputKind,
    ParameterType, Piece, Purpose, Template, Translated,
};
