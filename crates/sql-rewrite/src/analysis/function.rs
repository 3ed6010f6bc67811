//! Functions and aggregates.

use column_value::{LogicalType, WholeType};
use sqlparser::ast::{
    DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArgumentList, FunctionArguments, NamedWindowExpr, OrderBy, OrderByExpr, OrderByKind,
    OrderByOptions, OrderBySort, WindowFrameBound, WindowSpec, WindowType,
};

use super::{Analysis, Constant, Scope};
use crate::dialect::marks::is_marked_bound;
use crate::{ColumnId, Mode, Purpose, Refusal, Use};
use sql_plan::{refuse, unsupported};

/// The hint of a refusal of functions that nothing executes beside protected columns: neither the
/// server nor the proxy nor its finisher.
pub(crate) const NO_OTHER_PATH: &str = "Do its work in statements of the application.";

impl Analysis<'_> {
    /// Whether a function may be called in a statement that names a protected table.
    pub fn check_function(&self, function_schema: Option<&str>, name: &str) -> Result<(), Refusal> {
        let path = &self.schema.search_path;
        if self.dialect().runs_text(function_schema, name, path) {
            let what = format!("function {name}, which runs a text as SQL,");
            return Err(unsupported(&what).with_hint(NO_OTHER_PATH));
        }
        if self
            .schema
            .suspect_functions
            .iter()
            .any(|suspect| suspect == name)
        {
            return Err(refuse(format!(
                "function {name} names a protected table in its text, where it would see \
                 ciphertext, or runs texts that may name one"
            ))
            .with_hint(NO_OTHER_PATH));
        }
        Ok(())
    }

    pub fn function(
        &mut self,
        expression: &mut Expr,
        scope: &Scope,
    ) -> Result<Option<ColumnId>, Refusal> {
        let Expr::Function(Function {
            name,
            uses_odbc_syntax: false,
            parameters: FunctionArguments::None,
            args,
            within_group,
            filter,
            null_treatment,
            over,
        }) = expression
        else {
            return Err(unsupported("a function call of this form"));
        };
        let Some((schema, name)) = self.dialect().split(name) else {
            return Err(unsupported("a computed name of a function"));
        };
        let name = self.dialect().fold_function(name);
        self.check_function(schema.as_deref(), &name)?;
        if let Some(filter) = filter {
            self.plain(filter, scope)?;
        }
        let is_window = over.is_some();
        match over {
            Some(WindowType::WindowSpec(spec)) => self.window(spec, scope)?,
            Some(WindowType::NamedWindow(_)) | None => {}
        }
        for key in within_group.iter_mut() {
            self.plain(&mut key.expr, scope)?;
        }
        let _ = null_treatment;
        let FunctionArguments::List(list) = args else {
            return match args {
                FunctionArguments::None => Ok(None),
                _ => Err(unsupported("a subquery as the arguments of a function")),
            };
        };
        let builtin = schema.is_none_or(|schema| schema == "pg_catalog");
        self.clauses(&mut list.clauses, scope)?;
        let is_usual = builtin && list.clauses.is_empty() && within_group.is_empty();
        let Some(column) = self.call(&name, list, (is_usual, is_window), scope)? else {
            return Ok(None);
        };
        if matches!(name.as_str(), "min" | "max") {
            self.sort_by(column, &name)?;
            if self.column(column).logical == LogicalType::Whole(WholeType::Year) {
                return Err(unsupported(
                    "MIN or MAX of a protected year, of which servers show 0000 in two ways,",
                ));
            }
            if is_window {
                return Err(unsupported(
                    "MIN or MAX of a protected column as a window function",
                ));
            }
            self.dialect().write_extreme(expression, name == "max");
        }
        Ok(Some(column))
    }

    /// Analyses the arguments: some functions take a sealed value, all others take plain ones.
    fn call(
        &mut self,
        name: &str,
        list: &mut FunctionArgumentList,
        (is_usual, is_window): (bool, bool),
        scope: &Scope,
    ) -> Result<Option<ColumnId>, Refusal> {
        let distinct = match list.duplicate_treatment {
            Some(DuplicateTreatment::Distinct) => true,
            Some(DuplicateTreatment::All) | None => false,
        };
        match (is_usual, name, list.args.as_mut_slice()) {
            (true, "count", [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)]) => Ok(None),
            (true, "count", [argument]) => {
                if let Some(column) = self.argument(argument, scope)? {
                    self.note_use([column], Use::NullTested);
                    if distinct {
                        self.group(column, "COUNT(DISTINCT)")?;
                    }
                }
                Ok(None)
            }
            (true, "min" | "max", [argument]) => self.argument(argument, scope),
            (true, "coalesce", arguments) => {
                let values = arguments.iter_mut().map(argument_expression);
                let values: Vec<_> = values.collect::<Result<_, _>>()?;
                self.unify(values, scope)
            }
            (true, "nullif", [one, other]) => self.null_if(
                argument_expression(one)?,
                argument_expression(other)?,
                scope,
            ),
            (true, "lag" | "lead" | "first_value" | "last_value", [argument]) if is_window => {
                self.argument(argument, scope)
            }
            (_, _, arguments) => {
                for argument in arguments {
                    self.plain(argument_expression(argument)?, scope)?;
                }
                Ok(None)
            }
        }
    }

    fn argument(
        &mut self,
        argument: &mut FunctionArg,
        scope: &Scope,
    ) -> Result<Option<ColumnId>, Refusal> {
        self.value(argument_expression(argument)?, scope)
    }

    /// `NULLIF(column, constant)`
    fn null_if(
        &mut self,
        one: &mut Expr,
        other: &mut Expr,
        scope: &Scope,
    ) -> Result<Option<ColumnId>, Refusal> {
        if Constant::of(one)?.is_some() {
            self.plain(one, scope)?;
            self.plain(other, scope)?;
            return Ok(None);
        }
        let column = self.value(one, scope)?;
        match (column, Constant::of(other)?) {
            (Some(column), Some(constant)) => {
                self.demand(column, Mode::Equality, "NULLIF")?;
                *other = self.sealed(constant, column, Purpose::Match)?;
            }
            _ => {
                let other = self.value(other, scope)?;
                self.pair(column, other)?;
            }
        }
        Ok(column)
    }

    fn clauses(
        &mut self,
        clauses: &mut [FunctionArgumentClause],
        scope: &Scope,
    ) -> Result<(), Refusal> {
        for clause in clauses {
            match clause {
                FunctionArgumentClause::OrderBy(keys) => {
                    for key in keys {
                        self.sort_key(key, scope)?;
                    }
                }
                _ => return Err(unsupported("this clause of a function call")),
            }
        }
        Ok(())
    }

    /// A key of `ORDER BY`.
    pub fn sort_key(&mut self, key: &mut OrderByExpr, scope: &Scope) -> Result<(), Refusal> {
        let OrderByExpr {
            expr,
            options,
            with_fill: None,
        } = key
        else {
            return Err(unsupported("WITH FILL"));
        };
        check_sort_options(options)?;
        if let Some(column) = self.value(expr, scope)? {
            self.sort_by(column, "ORDER BY")?;
        }
        Ok(())
    }

    fn window(&mut self, spec: &mut WindowSpec, scope: &Scope) -> Result<(), Refusal> {
        let WindowSpec {
            window_name: _,
            partition_by,
            order_by,
            window_frame,
        } = spec;
        for expression in partition_by {
            if let Some(column) = self.value(expression, scope)? {
                self.group(column, "PARTITION BY")?;
            }
        }
        for key in order_by {
            self.sort_key(key, scope)?;
        }
        let Some(frame) = window_frame else {
            return Ok(());
        };
        for bound in [Some(&mut frame.start_bound), frame.end_bound.as_mut()] {
            match bound {
                Some(
                    WindowFrameBound::Preceding(Some(offset))
                    | WindowFrameBound::Following(Some(offset)),
                ) if !is_marked_bound(offset) => self.plain(offset, scope)?,
                Some(
                    WindowFrameBound::Preceding(_)
                    | WindowFrameBound::Following(_)
                    | WindowFrameBound::CurrentRow,
                )
                | None => {}
            }
        }
        Ok(())
    }

    pub fn named_window(
        &mut self,
        window: &mut NamedWindowExpr,
        scope: &Scope,
    ) -> Result<(), Refusal> {
        match window {
            NamedWindowExpr::NamedWindow(_) => Ok(()),
            NamedWindowExpr::WindowSpec(spec) => self.window(spec, scope),
        }
    }
}

/// Refuses `ORDER BY … USING operator`, which could be any order.
pub(crate) fn check_sort_options(options: &OrderByOptions) -> Result<(), Refusal> {
    match &options.sort {
        None | Some(OrderBySort::Asc | OrderBySort::Desc) => Ok(()),
        Some(OrderBySort::Using(_)) => Err(unsupported("ORDER BY … USING")),
    }
}

/// The expression of an argument without a name.
pub(crate) fn argument_expression(argument: &mut FunctionArg) -> Result<&mut Expr, Refusal> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expression))
        | FunctionArg::Named {
            arg: FunctionArgExpr::Expr(expression),
            ..
        } => Ok(expression),
        _ => Err(unsupported(
            "* or an argument of this form in a function call",
        )),
    }
}

/// The keys of an `ORDER BY` clause.
pub(crate) fn sort_keys(order_by: &mut OrderBy) -> Result<&mut Vec<OrderByExpr>, Refusal> {
    match order_by {
        OrderBy {
            kind: OrderByKind::Expressions(keys),
            interpolate: None,
        } => Ok(keys),
        _ => Err(unsupported("ORDER BY ALL")),
    }
}
