//! Keys over columns whose values begin with a token of their collation key: over the token, which
//! equal texts share.

use column_codec::TOKEN_PREFIX_SIZE;
use sqlparser::ast::{
    ColumnOption, CreateTable, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, Ident, IndexColumn, ObjectName, TableConstraint, Value,
};

use crate::ProtectedColumn;
use crate::dialect::mysql::names;

/// Has the keys of a table over tokens. False: there are none.
pub(super) fn shorten_keys(create: &mut CreateTable, rules: &[&ProtectedColumn]) -> bool {
    let mut is_changed = false;
    let mut keys = Vec::new();
    for column in &mut create.columns {
        if !has_tokens(&column.name, rules) {
            continue;
        }
        let key = part(column.name.clone());
        column.options.retain(|option| {
            let key = match &option.option {
                ColumnOption::Unique(own) => {
                    let mut own = own.clone();
                    own.columns = vec![key.clone()];
                    TableConstraint::Unique(own)
                }
                ColumnOption::PrimaryKey(own) => {
                    let mut own = own.clone();
                    own.columns = vec![key.clone()];
                    TableConstraint::PrimaryKey(own)
                }
                _ => return true,
            };
            keys.push(key);
            false
        });
    }
    is_changed |= !keys.is_empty();
    // The server makes keys behind columns before the others.
    create.constraints.splice(0..0, keys);
    for constraint in &mut create.constraints {
        is_changed |= shorten(constraint, rules);
    }
    is_changed
}

/// Has a key over tokens. False: it is over none.
pub(super) fn shorten(constraint: &mut TableConstraint, rules: &[&ProtectedColumn]) -> bool {
    match constraint {
        TableConstraint::PrimaryKey(key) => shorten_columns(&mut key.columns, rules),
        TableConstraint::Unique(key) => shorten_columns(&mut key.columns, rules),
        TableConstraint::Index(key) => shorten_columns(&mut key.columns, rules),
        _ => false,
    }
}

/// Has the columns of a key over tokens. False: there are none.
pub(super) fn shorten_columns(columns: &mut [IndexColumn], rules: &[&ProtectedColumn]) -> bool {
    let mut is_changed = false;
    for column in columns {
        let Expr::Identifier(name) = &column.column.expr else {
            continue;
        };
        if has_tokens(name, rules) {
            let short = part(name.clone());
            column.column.expr = short.column.expr;
            is_changed = true;
        }
    }
    is_changed
}

fn has_tokens(name: &Ident, rules: &[&ProtectedColumn]) -> bool {
    let name = names::fold(name);
    let mut rules = rules.iter();
    rules.any(|rule| rule.column == name && rule.form.tokens.is_some())
}

/// `column(18)`, which is read as a call.
fn part(name: Ident) -> IndexColumn {
    let size = Value::Number(TOKEN_PREFIX_SIZE.to_string(), false);
    let size = FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(size.into())));
    let mut column = IndexColumn::from(name.clone());
    column.column.expr = Expr::Function(Function {
        name: ObjectName::from(vec![name]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: vec![size],
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    });
    column
}
