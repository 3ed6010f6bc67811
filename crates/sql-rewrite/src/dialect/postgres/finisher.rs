//! What PostgreSQL evaluates from its arguments alone, so that the finisher gets the same result as
//! the client's server.
//!
//! A function that is not listed is left to the server, or the statement is refused. The finisher's
//! role may not call more either, as a second wall.

mod fields;
mod of_server;
mod server_calls;

use std::ops::ControlFlow;

use sqlparser::ast::{
    DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    JoinConstraint, JoinOperator, ObjectName, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, TableFactor, TableWithJoins, Value, Visit, Visitor,
};

use super::names::{SYSTEM_COLUMNS, builtin, folded, is_built_in, split};
use super::pure_functions::{OF_CHANCE, is_pure};
use super::text_search::{self, count};
use super::{extensions, named_types, parse};
use crate::analysis::Constant;
use crate::dialect::marks;
use crate::sampled::is_of_numbers;
use crate::schema::TextSearch;
use crate::walk;
use crate::{Refusal, Schema, Source, user_casts};
use sql_plan::unsupported;

pub(crate) use fields::cast_times;
use of_server::called;
pub(crate) use of_server::{is_of_moment, of_server, replace_server_calls};
pub use server_calls::{FAILING_FUNCTION, FAILING_SCHEMA};
pub(crate) use server_calls::{has_server_calls, replace_failing_calls};

/// Whether a condition holds by chance, so that it must be evaluated once for each row.
pub(crate) fn is_of_chance(condition: &Expr) -> bool {
    walk::expressions(condition, |part| {
        let is_so = match part {
            Expr::Function(function) => {
                let own = builtin(&function.name);
                let any = split(&function.name);
                own.is_some_and(|name| OF_CHANCE.contains(&name.as_str()))
                    || any.is_some_and(|(_, name)| extensions::may_be_of_chance(&name))
            }
            _ => false,
        };
        match is_so {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    })
    .is_break()
}

/// Types whose texts depend on the catalogues of the server.
const OF_CATALOGUE: &[&str] = &[
    "regclass",
    "regcollation",
    "regconfig",
    "regdictionary",
    "regnamespace",
    "regoper",
    "regoperator",
    "regproc",
    "regprocedure",
    "regrole",
    "regtype",
];

/// Whether the texts of a type's values depend on the catalogues of the server.
pub(crate) fn is_of_catalogue(type_name: &str) -> bool {
    type_name == "aclitem" || OF_CATALOGUE.contains(&type_name)
}

/// The relation in which the finisher finds what the server says.
pub(crate) const SERVER_RELATION: &str = "strongroom_server";
/// The query of the fetch that locks the rows which are written.
pub(crate) const LOCKED_RELATION: &str = "strongroom_locked";
/// The part of the fetch that writes rows and returns them.
pub(crate) const WRITTEN_RELATION: &str = "strongroom_written";
/// The query over pairs of rows of `ON CONFLICT DO UPDATE`, beside the one that computes rows to
/// insert: it is there for the types of its parameters, and no other query names it.
pub(crate) const PAIRS_RELATION: &str = "strongroom_pairs";
/// The query that says which clause of `MERGE` applies to a pair of rows.
pub(crate) const CLAUSE_RELATION: &str = "strongroom_clause";
/// The query of a cursor.
pub(crate) const CURSOR_RELATION: &str = "strongroom_cursor";
/// The types of [`ROW_VERSION`](super::names::ROW_VERSION).
pub(crate) const LOCATOR_TYPES: [&str; 3] = ["tid", "oid", "xid"];
/// The start of the names of the finisher's relations.
pub(crate) const RELATION_PREFIX: &str = "strongroom_";

/// Functions that return several rows, or take several. Other pure functions take and return one.
const OF_ROWS: &str = "\
    any_value array_agg avg bit_and bit_or bit_xor bool_and bool_or corr count covar_pop \
    covar_samp every generate_series generate_subscripts json_agg json_array_elements \
    json_array_elements_text json_each json_each_text json_object_agg json_object_keys \
    json_to_recordset jsonb_agg jsonb_array_elements jsonb_array_elements_text jsonb_each \
    jsonb_each_text jsonb_object_agg jsonb_object_keys jsonb_path_query jsonb_to_recordset max min \
    mode percentile_cont percentile_disc range_agg range_intersect_agg regexp_matches \
    regexp_split_to_table regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope \
    regr_sxx regr_sxy regr_syy stddev stddev_pop stddev_samp string_agg string_to_table sum unnest \
    var_pop var_samp variance";

/// Whether a function takes and returns single values.
pub(crate) fn is_of_a_row(function: &Function) -> bool {
    let name = builtin(&function.name).unwrap_or_default();
    function.over.is_none()
        && function.filter.is_none()
        && function.within_group.is_empty()
        && !OF_ROWS.split_whitespace().any(|own| own == name)
}

/// Whether a name is that of a function which depends on its arguments alone.
pub(crate) fn is_own_function(name: &ObjectName) -> bool {
    builtin(name).is_some_and(|name| is_pure(&name))
}

/// Whether an expression is a constant, or made of nothing that depends on a row, so that the
/// server can evaluate it for all rows: `nextval('numbers')`, `now()`.
///
/// # Errors
/// It has a parameter of another dialect.
pub(crate) fn is_of_no_row(expression: &Expr) -> Result<bool, Refusal> {
    if Constant::of(expression)?.is_some() {
        return Ok(true);
    }
    Ok(walk::visit(expression, &mut OfNoRow).is_continue())
}

/// Stops at what depends on rows, or has a type that the server may take for another.
struct OfNoRow;

impl Visitor for OfNoRow {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        ControlFlow::Break(())
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        let is_own = match expression {
            _ if called(expression).is_some() => true,
            Expr::Function(function) => is_of_a_row(function),
            Expr::Identifier(_)
            | Expr::CompoundIdentifier(_)
            | Expr::Wildcard(_)
            | Expr::QualifiedWildcard(..) => false,
            Expr::Value(value) => !matches!(value.value, Value::Placeholder(_)),
            _ => true,
        };
        match is_own {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }
}

/// The tree of an expression of our own.
pub(crate) fn expression(text: &str) -> Option<Expr> {
    parse::expression(text)
}

/// Refuses what the finisher would evaluate otherwise than the client's server.
///
/// # Errors
/// It names the function or type.
pub(crate) fn check(query: &Query, schema: &Schema) -> Result<(), Refusal> {
    checked(query, Check::new(schema, false))
}

/// The same of a query in which calls that only the server can make fail
/// ([`replace_failing_calls`]).
///
/// # Errors
/// As those of [`check`].
pub(crate) fn check_failing(query: &Query, schema: &Schema) -> Result<(), Refusal> {
    checked(query, Check::new(schema, true))
}

/// The same of an expression.
///
/// # Errors
/// As those of [`check`].
pub(crate) fn check_expression(expression: &Expr, schema: &Schema) -> Result<(), Refusal> {
    checked(expression, Check::new(schema, false))
}

fn checked<T: Visit>(tree: &T, mut check: Check) -> Result<(), Refusal> {
    user_casts::check_unasked(check.schema)?;
    match walk::visit(tree, &mut check) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(refusal) => Err(refusal),
    }
}

/// The refusal of a query with a call, an operator or a text search configuration that the finisher
/// does not know and the server may: by the message of the error.
pub fn unknown_to_finisher(message: &str, schema: &Schema) -> Option<Refusal> {
    if let Some(refusal) = server_calls::failed(message) {
        return Some(refusal);
    }
    if let Some(refusal) = text_search::unknown(message, &schema.catalogue.finisher.text_search) {
        return Some(refusal);
    }
    let is_so = ["operator does not exist: ", "operator is not unique: "]
        .iter()
        .any(|start| message.starts_with(start));
    let operators = &schema.catalogue.finisher.operators;
    let mut words = message.split([' ', '.']).filter(|_| is_so);
    let name = words.find(|word| operators.contains(*word))?;
    Some(foreign_operator(name))
}

/// Refuses an operator that the server may take for one of users: it prefers one for exactly
/// the types of its operands, whosever that is.
///
/// # Errors
/// It names the operator.
pub(crate) fn check_operator(schema: &Schema, name: &str) -> Result<(), Refusal> {
    let own = name.strip_prefix("OPERATOR(");
    let own = own.and_then(|own| own.strip_suffix(')')).unwrap_or(name);
    let (namespace, own) = own.rsplit_once('.').unwrap_or(("", own));
    let own = marks::operator(own);
    if own == "||" {
        // It may cast an operand to a text.
        user_casts::check(schema)?;
    }
    let unquoted = namespace
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    let folded = match unquoted {
        Some(name) => name.replace("\"\"", "\""),
        None => namespace.to_ascii_lowercase(),
    };
    if extensions::has_operator(schema, &folded, own) {
        return Ok(());
    }
    if namespace.is_empty() && extensions::may_confuse_operator(schema, own) {
        return Err(foreign_operator(own));
    }
    let is_builtin = matches!(namespace, "" | "pg_catalog");
    let mut shadows = schema.catalogue.finisher.shadows.iter();
    match is_builtin && (namespace == "pg_catalog" || shadows.all(|shadow| shadow != own)) {
        true => Ok(()),
        false => Err(foreign_operator(own)),
    }
}

/// The refusal of an operator that PostgreSQL itself does not have.
fn foreign_operator(name: &str) -> Refusal {
    unsupported(&format!(
        "operator {name} of an extension or of users, over protected columns"
    ))
    .with_hint(
        "Only operators of PostgreSQL itself are evaluated outside of the server. Write the \
         condition with those, or apply it to the rows in the program.",
    )
}

struct Check<'a> {
    schema: &'a Schema,
    /// Whether calls that only the server can make will fail.
    fails: bool,
}

impl<'a> Check<'a> {
    fn new(schema: &'a Schema, fails: bool) -> Self {
        Self { schema, fails }
    }

    fn text_search(&self) -> &TextSearch {
        &self.schema.catalogue.finisher.text_search
    }

    fn function(&self, name: &ObjectName, arguments: usize) -> Result<(), Refusal> {
        let is_known = builtin(name).is_some_and(|name| {
            (is_pure(&name) || OF_CHANCE.contains(&name.as_str()))
                && !(name == "pg_typeof" && named_types::are_named_otherwise(self.schema))
                && !self.schema.catalogue.finisher.shadows.contains(&name)
        });
        let is_of_extension = || {
            split(name).is_some_and(|(own_schema, name)| {
                let name = (own_schema.as_deref(), name.as_str());
                extensions::has_function(self.schema, name, arguments)
            })
        };
        if is_known || is_syntax(name) || is_of_extension() {
            return Ok(());
        }
        Err(server_calls::refused(&name.to_string()))
    }

    fn data_type(&self, data_type: &DataType) -> Result<(), Refusal> {
        if named_types::is_known(data_type, self.schema) {
            return Ok(());
        }
        let name = data_type.to_string().to_ascii_lowercase();
        let words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
        let mut words = words.filter(|word| is_of_catalogue(word));
        if words.next().is_some() || !is_built_in(data_type) {
            return Err(unsupported(&format!(
                "type {name} in a query that the finisher evaluates"
            )));
        }
        Ok(())
    }
}

/// `ROW(a, b)`, and a mark: no calls, but the parser reads them so.
fn is_syntax(name: &ObjectName) -> bool {
    match name.0.as_slice() {
        [part] => part.as_ident().is_some_and(|own| {
            own.value == marks::SYMMETRIC
                || own.quote_style.is_none() && own.value.eq_ignore_ascii_case("row")
        }),
        _ => false,
    }
}

/// `ARRAY(SELECT ...)`, which is no call: the parser takes the word for a name.
fn is_array_of_rows(function: &Function) -> bool {
    matches!(function.args, FunctionArguments::Subquery(_))
        && function.name.to_string().eq_ignore_ascii_case("array")
}

fn flow(result: Result<(), Refusal>) -> ControlFlow<Refusal> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(refusal) => ControlFlow::Break(refusal),
    }
}

impl Visitor for Check<'_> {
    type Break = Refusal;

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<Refusal> {
        flow(match expression {
            _ if called(expression).is_some() => Ok(()),
            _ if let Some(name) = server_calls::field_of(expression, self.schema) => {
                Err(server_calls::refused(&name))
            }
            _ if self.fails && server_calls::of_server(expression, self.schema).is_some() => Ok(()),
            _ if server_calls::is_null_of_catalogue(expression) => Ok(()),
            Expr::Function(function) if is_array_of_rows(function) => Ok(()),
            Expr::Function(function) => self
                .function(&function.name, count(function))
                .and_then(|()| user_casts::check_call(&function.name, self.schema))
                .and_then(|()| text_search::check(function, self.text_search())),
            _ if text_search::is_known_cast(expression, self.text_search()) => Ok(()),
            Expr::BinaryOp { op, .. } => check_operator(self.schema, &op.to_string()),
            Expr::UnaryOp { op, .. } => check_operator(self.schema, &op.to_string()),
            Expr::AnyOp { compare_op, .. } | Expr::AllOp { compare_op, .. } => {
                check_operator(self.schema, &compare_op.to_string())
            }
            Expr::Cast { data_type, .. } => self.data_type(data_type).and_then(|()| {
                // A constant is read as the type, and is cast by nothing. A parameter may have
                // been declared as another one.
                match Constant::of(expression)?.map(|constant| constant.source) {
                    Some(Source::Literal(_)) => Ok(()),
                    _ => user_casts::check(self.schema),
                }
            }),
            Expr::TypedString(typed) => self.data_type(&typed.data_type),
            _ => Ok(()),
        })
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Refusal> {
        flow(match factor {
            TableFactor::Table {
                name,
                args: Some(_),
                alias,
                ..
            }
            | TableFactor::Function { name, alias, .. } => {
                let columns = alias.iter().flat_map(|alias| &alias.columns);
                let mut types = columns.filter_map(|column| column.data_type.as_ref());
                types
                    .try_for_each(|own| self.data_type(own))
                    .and_then(|()| self.function(name, 0))
                    .and_then(|()| fields::check(factor))
            }
            TableFactor::Table {
                args: None,
                sample,
                version: None,
                ..
            } if sample.as_ref().is_none_or(is_of_numbers) => Ok(()),
            TableFactor::Derived { .. }
            | TableFactor::UNNEST { .. }
            | TableFactor::NestedJoin { .. } => Ok(()),
            _ => Err(unsupported(
                "this form of FROM in a query that the finisher evaluates",
            )),
        })
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Refusal> {
        flow(match select.into {
            None => Ok(()),
            Some(_) => Err(unsupported(
                "SELECT INTO in a query that the finisher evaluates",
            )),
        })
    }

    fn pre_visit_ident(&mut self, ident: &Ident) -> ControlFlow<Refusal> {
        let name = folded(ident);
        flow(if name.starts_with(RELATION_PREFIX) {
            Err(unsupported(&format!("the name {ident}")))
        } else if SYSTEM_COLUMNS.contains(&name.as_str()) {
            Err(unsupported(&format!(
                "column {ident} in a query that the finisher evaluates"
            )))
        } else {
            Ok(())
        })
    }
}

fn has_natural(from: &TableWithJoins) -> bool {
    use JoinOperator as J;
    let mut operators = from.joins.iter().map(|join| &join.join_operator);
    operators.any(|operator| {
        matches!(
            operator,
            J::Join(JoinConstraint::Natural)
                | J::Inner(JoinConstraint::Natural)
                | J::Left(JoinConstraint::Natural)
                | J::LeftOuter(JoinConstraint::Natural)
                | J::Right(JoinConstraint::Natural)
                | J::RightOuter(JoinConstraint::Natural)
                | J::FullOuter(JoinConstraint::Natural)
        )
    })
}

/// Whether a query means all columns of a relation at some place: by `*`, by its name as a row, or
/// by names that two relations share.
pub(crate) fn means_whole_rows(query: &Query, is_relation: impl Fn(&str) -> bool) -> bool {
    struct Whole<F>(F);

    impl<F: Fn(&str) -> bool> Visitor for Whole<F> {
        type Break = ();

        fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
            let has_star = select.projection.iter().any(|item| {
                matches!(
                    item,
                    SelectItem::Wildcard(_)
                        | SelectItem::QualifiedWildcard(
                            SelectItemQualifiedWildcardKind::ObjectName(_)
                                | SelectItemQualifiedWildcardKind::Expr(_),
                            _
                        )
                )
            });
            stop_if(has_star || select.from.iter().any(has_natural))
        }

        fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
            stop_if(match expression {
                Expr::Identifier(name) => (self.0)(&folded(name)),
                Expr::Wildcard(_) | Expr::QualifiedWildcard(..) => true,
                Expr::Function(function) => match &function.args {
                    FunctionArguments::List(list) => list.args.iter().any(|argument| {
                        matches!(
                            argument,
                            FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(_))
                        )
                    }),
                    _ => false,
                },
                _ => false,
            })
        }

        fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
            stop_if(match factor {
                // `t AS u (a, b)` counts the columns of the table.
                TableFactor::Table { alias, .. } => alias
                    .as_ref()
                    .is_some_and(|alias| !alias.columns.is_empty()),
                TableFactor::NestedJoin {
                    table_with_joins, ..
                } => has_natural(table_with_joins),
                _ => false,
            })
        }
    }

    fn stop_if(found: bool) -> ControlFlow<()> {
        match found {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    walk::visit(query, &mut Whole(is_relation)).is_break()
}

#[cfg(all(test, unix))]
mod tests {
    use super::super::pure_functions::RARE;
    use super::*;

    /// The names that a query of the server's catalogue gives.
    fn names(server: &server_testkit::Postgres, condition: &str) -> Vec<String> {
        let query = format!(
            "SELECT DISTINCT proname::text FROM pg_proc p
             WHERE pronamespace = 'pg_catalog'::regnamespace AND {condition}"
        );
        let rows = server.connect().query(&query, &[]).expect("names");
        rows.iter().map(|row| row.get(0)).collect()
    }

    #[test]
    fn functions_are_listed_as_the_server_has_them() {
        if !server_testkit::is_installed() {
            return;
        }
        let server = server_testkit::Postgres::start();
        let is_pure = |name: &String| is_pure(name);
        let volatile = names(&server, "provolatile = 'v'");
        assert!(volatile.iter().any(|name| name == "random"));
        let wrong: Vec<_> = volatile.iter().filter(|name| is_pure(name)).collect();
        assert!(wrong.is_empty(), "depend on more: {wrong:?}");
        let stable = names(&server, "provolatile <> 'i'");
        let rare: Vec<&str> = RARE.split_whitespace().collect();
        let wrong = stable.iter().filter(|name| rare.contains(&name.as_str()));
        assert_eq!(wrong.count(), 0, "functions of the list are not immutable");
        // A window function has OVER, an aggregate of the same name WITHIN GROUP.
        let of_rows = names(
            &server,
            "(prokind = 'a' OR proretset) AND NOT EXISTS (SELECT FROM pg_proc w WHERE w.prokind = \
             'w' AND w.proname = p.proname)",
        );
        assert!(of_rows.iter().any(|name| name == "sum"));
        let listed: Vec<&str> = OF_ROWS.split_whitespace().collect();
        let missing = of_rows.iter().filter(|name| is_pure(name));
        let missing: Vec<_> = missing
            .filter(|name| !listed.contains(&name.as_str()))
            .collect();
        assert!(missing.is_empty(), "are of several rows: {missing:?}");
        let others = names(
            &server,
            "(provolatile = 'i' OR prokind <> 'f' OR proretset
              OR prorettype IN ('cstring'::regtype, 'internal'::regtype)
              OR proacl IS NOT NULL AND NOT EXISTS (
                    SELECT FROM aclexplode(proacl) WHERE grantee = 0))",
        );
        assert!(others.iter().any(|name| name == "pg_reload_conf"));
        let listed: Vec<&str> = server_calls::FUNCTIONS.split_whitespace().collect();
        let wrong = others.iter().filter(|name| listed.contains(&name.as_str()));
        let wrong: Vec<_> = wrong.collect();
        assert!(
            wrong.is_empty(),
            "the server sees calls of these: {wrong:?}"
        );
        let pure: Vec<_> = listed.iter().filter(|name| super::is_pure(name)).collect();
        assert!(pure.is_empty(), "the finisher evaluates {pure:?}");
    }
}
