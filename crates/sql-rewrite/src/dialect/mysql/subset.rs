//! The forms of statements whose tree is the server's own. A form that is not listed is refused.
//!
//! Where the parser binds operators otherwise than the server (`a LIKE b = c`), the tree shows it:
//! a comparison, without parentheses, is an operand of another one.

use sqlparser::ast::{
    BinaryOperator, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentList, FunctionArguments, GroupByExpr, Ident, Join, JoinConstraint,
    JoinOperator, LimitClause, LockClause, ObjectName, Offset, OffsetRows, OrderBy, OrderByExpr,
    OrderByKind, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, Statement,
    TableFactor, TableWithJoins, UnaryOperator, Value,
};

use super::{bytes, names, proposed};

use crate::dialect::Unread;
use writes::{of_delete, of_insert, of_update};

mod writes;

/// Functions of the server's own: none of a user's hides them, and none runs a text as SQL.
const FUNCTIONS: &str = "\
    abs avg ceil ceiling char_length concat connection_id count curdate current_date \
    current_timestamp database floor last_insert_id left length lower max min now round sum upper \
    version";

/// Whether a word is a function that is understood.
pub(crate) fn is_function(word: &str) -> bool {
    FUNCTIONS.split(' ').any(|own| own == word)
}

/// What is said of `SELECT … INTO`, wherever `INTO` stands.
pub(super) const INTO: &str = "SELECT … INTO a variable or a file of the server";

type Checked = Result<(), Unread>;

fn form<T>(what: &'static str) -> Result<T, Unread> {
    Err(Unread::Form(what))
}

/// Lets a statement through whose tree is the server's own.
///
/// # Errors
/// It has a form that is not understood.
pub(crate) fn check(statement: &Statement) -> Checked {
    match statement {
        Statement::Query(query) => of_query(query),
        Statement::Insert(insert) => of_insert(insert),
        Statement::Update(update) => of_update(update),
        Statement::Delete(delete) => of_delete(delete),
        // Each has a check of its own: `ddl`.
        Statement::CreateTable(_)
        | Statement::CreateIndex(_)
        | Statement::AlterTable(_)
        | Statement::Drop { .. }
        | Statement::Truncate(_) => Ok(()),
        _ => form("a statement of this kind"),
    }
}

fn of_query(query: &Query) -> Checked {
    let Query {
        with: None,
        body,
        order_by,
        limit_clause,
        fetch: None,
        locks,
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators,
    } = query
    else {
        return form("WITH, or another clause around a query,");
    };
    let SetExpr::Select(select) = &**body else {
        return form("UNION, EXCEPT, INTERSECT or VALUES as a query");
    };
    of_select(select)?;
    if let Some(order_by) = order_by {
        of_order(order_by)?;
        check_order(select, order_by)?;
    }
    let is_lock = |lock: &LockClause| lock.of.is_none();
    if !pipe_operators.is_empty() || !locks.iter().all(is_lock) || locks.len() > 1 {
        return form("several locks, or OF in one,");
    }
    match limit_clause {
        None => Ok(()),
        Some(LimitClause::LimitOffset {
            limit,
            offset,
            limit_by,
        }) if limit_by.is_empty() => {
            limit.iter().try_for_each(of_count)?;
            match offset {
                None => Ok(()),
                Some(Offset {
                    value,
                    rows: OffsetRows::None,
                }) => of_count(value),
                Some(_) => form("OFFSET … ROWS"),
            }
        }
        Some(_) => form("LIMIT of this form"),
    }
}

fn of_count(value: &Expr) -> Checked {
    match value {
        Expr::Value(value) if matches!(value.value, Value::Number(..) | Value::Placeholder(_)) => {
            Ok(())
        }
        _ => form("LIMIT of something else than a number or parameter"),
    }
}

fn of_order(order_by: &OrderBy) -> Checked {
    match order_by {
        OrderBy {
            kind: OrderByKind::Expressions(keys),
            interpolate: None,
        } => keys.iter().try_for_each(|key| {
            let OrderByExpr {
                expr,
                options,
                with_fill: None,
            } = key
            else {
                return form("ORDER BY of this form");
            };
            match options.nulls_first {
                None => of_key(expr),
                Some(_) => form("NULLS FIRST or NULLS LAST"),
            }
        }),
        _ => form("ORDER BY of this form"),
    }
}

/// The most outputs that a query has.
const OUTPUTS_MAX: u64 = 4096;

/// A key of `ORDER BY` or `GROUP BY`. The servers' grammars drop parentheses and a plus, so that
/// behind them a number may be the place of an output. So are a boolean and a parameter; and of a
/// whole number only 32 bits count.
fn of_key(key: &Expr) -> Checked {
    let mut inner = key;
    while let Expr::Nested(next)
    | Expr::UnaryOp {
        op: UnaryOperator::Plus | UnaryOperator::Minus,
        expr: next,
    } = inner
    {
        inner = next;
    }
    match (key, inner) {
        (Expr::Nested(_) | Expr::UnaryOp { .. }, Expr::Value(_)) => {
            form("ORDER BY or GROUP BY of a constant in parentheses or with a sign")
        }
        (Expr::Value(own), _) => match &own.value {
            Value::Boolean(_) | Value::Placeholder(_) => {
                form("ORDER BY or GROUP BY of a parameter, TRUE or FALSE")
            }
            Value::Number(digits, _)
                if digits.bytes().all(|own| own.is_ascii_digit())
                    && digits.parse().map_or(true, |own: u64| own > OUTPUTS_MAX) =>
            {
                form("ORDER BY or GROUP BY of a number that is the place of no output")
            }
            _ => of_value(key),
        },
        _ => of_value(key),
    }
}

fn of_select(select: &Select) -> Checked {
    if select.into.is_some() {
        return form(INTO);
    }
    if !select.named_window.is_empty() {
        return form("a window");
    }
    if select
        .distinct
        .as_ref()
        .is_some_and(|own| *own != sqlparser::ast::Distinct::Distinct)
    {
        return form("DISTINCT of this form");
    }
    for item in &select.projection {
        match item {
            SelectItem::UnnamedExpr(value) => of_value(value)?,
            SelectItem::ExprWithAlias { expr, alias } => {
                of_name(alias)?;
                of_value(expr)?;
            }
            SelectItem::Wildcard(options) if options.to_string().is_empty() => {}
            SelectItem::QualifiedWildcard(
                SelectItemQualifiedWildcardKind::ObjectName(name),
                options,
            ) if options.to_string().is_empty() && name.0.len() == 1 => {}
            _ => return form("an output of this form"),
        }
    }
    let tables = select
        .from
        .iter()
        .map(of_tables)
        .collect::<Result<Vec<_>, _>>()?;
    check_aliases(&tables.concat())?;
    select.selection.iter().try_for_each(of_value)?;
    match &select.group_by {
        GroupByExpr::Expressions(keys, modifiers) if modifiers.is_empty() => {
            keys.iter().try_for_each(of_key)?;
            check_groups(select, keys)?;
        }
        _ => return form("GROUP BY of this form"),
    }
    select.having.iter().try_for_each(of_value)
}

/// A name of an output hides a column of the same name in `GROUP BY` and `HAVING` or not, by rules
/// of the server's.
fn check_groups(select: &Select, keys: &[Expr]) -> Checked {
    let mut own = keys.iter().chain(&select.having);
    match own.any(|part| names_output(select, part)) {
        true => form("GROUP BY or HAVING with the name of an output"),
        false => Ok(()),
    }
}

/// To the server, a name of an output also counts within an expression of `ORDER BY`.
fn check_order(select: &Select, order_by: &OrderBy) -> Checked {
    let OrderByKind::Expressions(keys) = &order_by.kind else {
        return Ok(());
    };
    let mut within = keys
        .iter()
        .filter(|key| !matches!(key.expr, Expr::Identifier(_)));
    match within.any(|key| names_output(select, &key.expr)) {
        true => form("ORDER BY with the name of an output in an expression"),
        false => Ok(()),
    }
}

/// Whether an expression has the name of an output that is not the column of the same name.
fn names_output(select: &Select, part: &Expr) -> bool {
    let aliases = select.projection.iter().filter_map(|item| match item {
        SelectItem::ExprWithAlias { expr, alias } => match expr {
            Expr::Identifier(own) if names::fold(own) == names::fold(alias) => None,
            _ => Some(names::fold(alias)),
        },
        _ => None,
    });
    let aliases: Vec<String> = aliases.collect();
    let found = crate::walk::expressions(part, |expression| match expression {
        Expr::Identifier(name) if aliases.contains(&names::fold(name)) => {
            std::ops::ControlFlow::Break(())
        }
        _ => std::ops::ControlFlow::Continue(()),
    });
    found.is_break()
}

/// The names that tables of a part of `FROM` have in the statement.
fn of_tables(tables: &TableWithJoins) -> Result<Vec<Ident>, Unread> {
    let mut found = vec![of_factor(&tables.relation)?];
    for join in &tables.joins {
        let Join {
            relation,
            global: false,
            join_operator,
        } = join
        else {
            return form("a join of this form");
        };
        found.push(of_factor(relation)?);
        match join_operator {
            JoinOperator::Join(JoinConstraint::On(condition))
            | JoinOperator::Inner(JoinConstraint::On(condition))
            | JoinOperator::Left(JoinConstraint::On(condition))
            | JoinOperator::LeftOuter(JoinConstraint::On(condition)) => of_value(condition)?,
            JoinOperator::CrossJoin(JoinConstraint::None) => {}
            _ => return form("a join other than JOIN … ON, LEFT JOIN … ON and CROSS JOIN"),
        }
    }
    Ok(found)
}

fn of_factor(factor: &TableFactor) -> Result<Ident, Unread> {
    match factor {
        TableFactor::Table {
            name,
            alias,
            args: None,
            with_hints,
            version: None,
            with_ordinality: false,
            partitions,
            json_path: None,
            sample: None,
            index_hints,
        } if with_hints.is_empty() && partitions.is_empty() && index_hints.is_empty() => {
            of_object(name)?;
            match alias {
                Some(alias) if !alias.columns.is_empty() || alias.at.is_some() => {
                    form("an alias with columns")
                }
                Some(alias) => {
                    of_name(&alias.name)?;
                    Ok(alias.name.clone())
                }
                None => match name.0.last().and_then(|last| last.as_ident()) {
                    Some(last) => Ok(last.clone()),
                    None => form("a computed name"),
                },
            }
        }
        _ => form("a query or function in FROM, or hints"),
    }
}

/// To a server with letters of tables as they are, `t` and `T` are two aliases.
fn check_aliases(found: &[Ident]) -> Checked {
    let mut folded: Vec<String> = found.iter().map(names::fold).collect();
    folded.sort_unstable();
    match folded.windows(2).any(|pair| pair[0] == pair[1]) {
        true => form("one name for two tables, or names that differ only in their letters' case,"),
        false => Ok(()),
    }
}

fn of_object(name: &ObjectName) -> Checked {
    let mut parts = name.0.iter().map(|part| part.as_ident());
    match name.0.len() <= 2 && parts.all(|part| part.is_some_and(|own| of_name(own).is_ok())) {
        true => Ok(()),
        false => form("a name of this form"),
    }
}

fn of_name(name: &Ident) -> Checked {
    match name.quote_style {
        None if names::is_variable(name) => form("a user variable in the place of a name"),
        None | Some('`') => Ok(()),
        Some(_) => form("a name in quotes of this kind"),
    }
}

/// A condition or a value.
fn of_value(value: &Expr) -> Checked {
    match value {
        Expr::BinaryOp {
            left,
            op: BinaryOperator::And | BinaryOperator::Or,
            right,
        } => {
            of_value(left)?;
            of_value(right)
        }
        Expr::UnaryOp {
            op: UnaryOperator::Not,
            expr,
        } => of_value(expr),
        Expr::BinaryOp {
            left,
            op:
                BinaryOperator::Eq
                | BinaryOperator::NotEq
                | BinaryOperator::Spaceship
                | BinaryOperator::Lt
                | BinaryOperator::LtEq
                | BinaryOperator::Gt
                | BinaryOperator::GtEq,
            right,
        } => {
            of_operand(left)?;
            of_operand(right)
        }
        Expr::IsNull(operand) | Expr::IsNotNull(operand) => of_operand(operand),
        Expr::Between {
            expr, low, high, ..
        } => [expr, low, high]
            .into_iter()
            .try_for_each(|own| of_operand(own)),
        Expr::InList { expr, list, .. } => match &**expr {
            Expr::Tuple(parts) => of_rows(parts, list),
            _ => {
                of_operand(expr)?;
                list.iter().try_for_each(of_operand)
            }
        },
        Expr::Like {
            any: false,
            expr,
            pattern,
            escape_char: None,
            ..
        } => {
            of_operand(expr)?;
            match **pattern {
                Expr::BinaryOp { .. } => form("a computed pattern without parentheses"),
                _ => of_operand(pattern),
            }
        }
        other => of_operand(other),
    }
}

/// `(a, b) IN ((1, 2), (3, 4))`: the server compares part by part, each by its own types.
fn of_rows(parts: &[Expr], list: &[Expr]) -> Checked {
    parts.iter().try_for_each(of_operand)?;
    list.iter().try_for_each(|row| match row {
        Expr::Tuple(own) if own.len() == parts.len() => own.iter().try_for_each(of_operand),
        _ => form("IN with rows of other lengths"),
    })
}

/// What an operator of comparison may have beside it.
fn of_operand(value: &Expr) -> Checked {
    match value {
        Expr::Identifier(name) if names::is_variable(name) => Ok(()),
        Expr::Identifier(name) => of_name(name),
        Expr::CompoundIdentifier(parts) if parts.len() <= 3 => parts.iter().try_for_each(of_name),
        Expr::Value(value) => match &value.value {
            Value::Number(_, false)
            | Value::SingleQuotedString(_)
            | Value::Boolean(_)
            | Value::Null
            | Value::Placeholder(_) => Ok(()),
            _ => form("a constant of this form"),
        },
        // A user's column of such a name has no text behind it.
        Expr::Prefixed { prefix, value } if is_bytes(prefix, value) => Ok(()),
        Expr::Nested(inner) => of_value(inner),
        Expr::UnaryOp {
            op: UnaryOperator::Minus | UnaryOperator::Plus,
            expr,
        } => match &**expr {
            Expr::Identifier(_)
            | Expr::CompoundIdentifier(_)
            | Expr::Value(_)
            | Expr::Nested(_) => of_operand(expr),
            _ => form("a sign before an expression without parentheses"),
        },
        Expr::BinaryOp {
            left,
            op:
                BinaryOperator::Plus
                | BinaryOperator::Minus
                | BinaryOperator::Multiply
                | BinaryOperator::Divide
                | BinaryOperator::Modulo,
            right,
        } => {
            of_operand(left)?;
            of_operand(right)
        }
        Expr::Function(function) => of_function(function),
        Expr::BinaryOp { .. }
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::Between { .. }
        | Expr::InList { .. }
        | Expr::Like { .. }
        | Expr::UnaryOp { .. } => form(
            "a comparison within another one without parentheses, or an operator that is not \
             understood (write parentheses around what belongs together),",
        ),
        _ => form("an expression of this form (CASE, CAST, a subquery, INTERVAL and others)"),
    }
}

/// Whether an expression has bytes behind its prefix, as the plain form writes them.
fn is_bytes(prefix: &Ident, value: &Expr) -> bool {
    let is_hexadecimal = matches!(value, Expr::Value(value)
        if matches!(value.value, Value::HexStringLiteral(_)));
    is_hexadecimal && bytes::is_prefix(prefix)
}

fn of_function(function: &Function) -> Checked {
    let Function {
        name,
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args,
        filter: None,
        null_treatment: None,
        over: None,
        within_group,
    } = function
    else {
        return form("a function call of this form");
    };
    let own = match &name.0[..] {
        [part] => part.as_ident().filter(|own| own.quote_style.is_none()),
        _ => None,
    };
    if !within_group.is_empty() || !own.is_some_and(|own| is_function(&names::fold(own))) {
        return form("a function that is not understood yet");
    }
    match args {
        FunctionArguments::None => Ok(()),
        FunctionArguments::Subquery(_) => form("a subquery"),
        FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment,
            args,
            clauses,
        }) => {
            let is_distinct = *duplicate_treatment == Some(DuplicateTreatment::Distinct);
            if !clauses.is_empty() || (is_distinct && args.len() != 1) {
                return form("a function call of this form");
            }
            args.iter().try_for_each(|argument| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => of_operand(value),
                FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => Ok(()),
                _ => form("an argument of this form"),
            })
        }
    }
}
