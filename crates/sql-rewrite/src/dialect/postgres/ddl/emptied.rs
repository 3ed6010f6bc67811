//! Indexes of which nothing is left: the server makes them without entries, under their names.
//! Statements that rename or drop one find it, and an index says nothing about the answers of
//! queries.
//!
//! An index keeps its kind, its options and its operator classes, so that whoever looks at the
//! catalogues finds what was asked for. Most kinds have no operator class for ciphertext. So NULL
//! of the declared type stands in place of a protected column, and the condition of the index names
//! the column: it goes with the column.
//!
//! No constant of an expression over protected columns gets to the server.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, CreateIndex, Expr, IndexColumn, IndexType, OrderByExpr, OrderByOptions,
    Statement, Value, VisitorMut,
};

use super::for_server;
use super::indexed::{is_sorted, other_name, text_of};
use crate::dialect::marks;
use crate::dialect::postgres::names::quoted;
use crate::dialect::postgres::parse;
use crate::schema::views::View;
use crate::{ColumnId, Refusal, Schema, Table, walk};

/// The empty index for one of which nothing is left.
///
/// # Errors
/// It has no name, and the server would give it another one than usual.
pub(super) fn make(
    create: &CreateIndex,
    view: &View<'_>,
    table: &Table,
    schema: &Schema,
) -> Result<CreateIndex, Refusal> {
    let same = create
        .name
        .as_ref()
        .and_then(|_| same_kind(create, view, schema));
    match same {
        Some(same) if can_be_written(&same) => Ok(same),
        _ => of_columns(create, view, table),
    }
}

/// Whether the parser reads what would be written. An index that is accepted otherwise is not to be
/// refused for the sake of its kind.
fn can_be_written(create: &CreateIndex) -> bool {
    let statement = Statement::CreateIndex(create.clone());
    for_server(text_of(create), &statement).is_some()
}

/// The index of the same kind. None: an expression cannot be written without its values.
fn same_kind(create: &CreateIndex, view: &View<'_>, schema: &Schema) -> Option<CreateIndex> {
    let takes_ciphertext = takes_ciphertext(create, schema);
    let mut emptying = Emptying {
        view,
        schema,
        read: Vec::new(),
    };
    let mut columns = create.columns.clone();
    for column in &mut columns {
        // An index that sorts keeps its columns rather than their operator classes, which say
        // nothing of what it finds.
        let keeps = takes_ciphertext && (column.operator_class.is_none() || is_sorted(create));
        let own = &mut column.column.expr;
        match view.column(own) {
            Some(Some(_)) if keeps => column.operator_class = None,
            _ => emptying.empty(own)?,
        }
    }
    let mut predicate = Expr::value(Value::Boolean(false));
    emptying.read.sort_unstable();
    emptying.read.dedup();
    for id in emptying.read {
        let column = Expr::Identifier(quoted(&schema.column(id).column));
        predicate = Expr::BinaryOp {
            left: Box::new(predicate),
            op: BinaryOperator::And,
            right: Box::new(Expr::IsNull(Box::new(column))),
        };
    }
    Some(CreateIndex {
        columns,
        predicate: Some(predicate),
        ..create.clone()
    })
}

/// Whether an index of its kind may be over ciphertext.
fn takes_ciphertext(create: &CreateIndex, schema: &Schema) -> bool {
    let methods = &schema.catalogue.finisher.extensions.byte_methods;
    is_sorted(create)
        || create.using.as_ref().is_some_and(|method| {
            matches!(method, IndexType::BRIN)
                || methods.contains(&method.to_string().to_ascii_lowercase())
        })
}

/// Puts NULL into an expression, for protected columns and for constants.
struct Emptying<'a> {
    view: &'a View<'a>,
    schema: &'a Schema,
    /// Protected columns that were read.
    read: Vec<ColumnId>,
}

impl Emptying<'_> {
    /// None: something else is left in it.
    fn empty(&mut self, expr: &mut Expr) -> Option<()> {
        let ControlFlow::Continue(()) = walk::visit_mut(expr, self) else {
            return None;
        };
        // Texts that the parser keeps elsewhere than in its values.
        let has_text = expr.to_string().contains(['\'', '$']);
        (!has_text && self.view.is_free(expr)).then_some(())
    }

    fn null(&self, expr: &Expr) -> Option<Expr> {
        let type_name = match expr {
            Expr::Value(value) => match &value.value {
                Value::SingleQuotedString(_)
                | Value::EscapedStringLiteral(_)
                | Value::DollarQuotedString(_) => return Some(Expr::value(Value::Null)),
                Value::Number(digits, _) => number_type(&digits.to_string()).to_owned(),
                Value::Boolean(_) => "boolean".to_owned(),
                _ => return None,
            },
            Expr::TypedString(typed) => typed.data_type.to_string(),
            Expr::Interval(_) => "interval".to_owned(),
            _ => return None,
        };
        null_of(&type_name)
    }
}

/// The type that the server gives a number.
fn number_type(digits: &str) -> &'static str {
    match (digits.parse::<i32>(), digits.parse::<i64>()) {
        (Ok(_), _) => "integer",
        (_, Ok(_)) => "bigint",
        _ => "numeric",
    }
}

fn null_of(type_name: &str) -> Option<Expr> {
    let null = parse::expression(&format!("CAST(NULL AS {type_name})"))?;
    Some(Expr::Nested(Box::new(null)))
}

impl VisitorMut for Emptying<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let null = match (self.view.column(expr), &*expr) {
            (Some(Some(id)), _) => {
                self.read.push(id);
                null_of(&self.schema.column(id).logical.sql_name())
            }
            (None, Expr::Value(value)) if value.value == Value::Null => {
                return ControlFlow::Continue(());
            }
            (None, Expr::Value(_) | Expr::TypedString(_) | Expr::Interval(_)) => self.null(expr),
            _ => return ControlFlow::Continue(()),
        };
        match null {
            Some(null) => *expr = null,
            None => return ControlFlow::Break(()),
        }
        ControlFlow::Continue(())
    }
}

/// An index that sorts by its columns.
fn of_columns(
    create: &CreateIndex,
    view: &View<'_>,
    table: &Table,
) -> Result<CreateIndex, Refusal> {
    let is_column = |column: &&IndexColumn| view.column(&column.column.expr).is_some();
    let mut columns: Vec<IndexColumn> = create.columns.iter().filter(is_column).cloned().collect();
    let has_others = columns.len() < create.columns.len() || !create.include.is_empty();
    if create.name.is_none() && has_others {
        return Err(other_name(table));
    }
    if columns.is_empty() {
        let own = table.columns.iter().find(|own| own.protected.is_some());
        columns.extend(own.map(|own| IndexColumn {
            column: OrderByExpr {
                expr: Expr::Identifier(quoted(&own.name)),
                options: OrderByOptions::default(),
                with_fill: None,
            },
            operator_class: None,
        }));
    }
    for column in &mut columns {
        column.operator_class = None;
    }
    let mut made = CreateIndex {
        columns,
        include: Vec::new(),
        predicate: Some(Expr::value(Value::Boolean(false))),
        ..create.clone()
    };
    if !is_sorted(create) {
        made.using = None;
        made.with.retain(marks::is_tablespace);
    }
    Ok(made)
}
