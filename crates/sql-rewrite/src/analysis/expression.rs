//! Expressions: a node that is not known here is refused.

use sqlparser::ast::{
    AccessExpr, Array, BinaryOperator, CaseWhen, CastKind, CeilFloorKind, DataType, Expr, Interval,
    Subscript, UnaryOperator, Value,
};

use super::comparison::Comparison;
use super::{Analysis, Clear, Constant, Scope, constant};
use crate::analysis::joinable::joinable;
use crate::dialect::mysql::bytes;
use crate::{ColumnId, Dialect, Mode, Refusal, Use};
use sql_plan::{refuse, unsupported};

impl Analysis<'_> {
    /// Analyses an expression. Returns the protected column whose sealed values it has, if any; it
    /// is sealed alone.
    pub fn value(
        &mut self,
        expression: &mut Expr,
        scope: &Scope,
    ) -> Result<Option<ColumnId>, Refusal> {
        let sealed = self.value_or_member(expression, scope)?;
        self.refuse_member(sealed)?;
        Ok(sealed)
    }

    fn value_or_member(
        &mut self,
        expression: &mut Expr,
        scope: &Scope,
    ) -> Result<Option<ColumnId>, Refusal> {
        match expression {
            Expr::Identifier(name) => self.column_value(std::slice::from_ref(name), scope),
            Expr::CompoundIdentifier(parts) => self.column_value(parts, scope),
            Expr::Nested(inner) => self.value(inner, scope),
            Expr::Value(value) => {
                constant::check_plain_value(&value.value)?;
                self.clear(&mut value.value, Clear::Free)?;
                Ok(None)
            }
            Expr::Subquery(query) => {
                let outputs = self.query(query, Some(scope), None)?;
                self.single(outputs.as_deref())
            }
            Expr::Cast {
                kind,
                expr,
                data_type,
                format: None,
            } => {
                let kept = self.cast(expr, (kind, data_type), scope)?;
                if kept.is_some() {
                    let inner = std::mem::replace(&mut **expr, Expr::Tuple(Vec::new()));
                    *expression = inner;
                }
                Ok(kept)
            }
            Expr::Case {
                operand,
                conditions,
                else_result,
                case_token: _,
                end_token: _,
            } => self.case(
                operand.as_deref_mut(),
                conditions,
                else_result.as_deref_mut(),
                scope,
            ),
            Expr::Function(_) => self.function(expression, scope),
            _ => self.predicate(expression, scope).map(|()| None),
        }
    }

    /// An expression that must not be sealed.
    pub fn plain(&mut self, expression: &mut Expr, scope: &Scope) -> Result<(), Refusal> {
        self.plain_as(expression, Clear::Free, scope)
    }

    pub fn plain_as(
        &mut self,
        expression: &mut Expr,
        how: Clear,
        scope: &Scope,
    ) -> Result<(), Refusal> {
        match expression {
            Expr::Value(value) => {
                constant::check_plain_value(&value.value)?;
                return self.clear(&mut value.value, how);
            }
            Expr::Nested(inner) => return self.plain_as(inner, how, scope),
            Expr::Cast {
                kind: CastKind::Cast | CastKind::DoubleColon,
                expr,
                data_type: _,
                format: None,
            } if how == Clear::ByColumn && Constant::of(expr)?.is_some() => {
                return self.plain_as(expr, how, scope);
            }
            _ => {}
        }
        match self.value(expression, scope)? {
            None => Ok(()),
            Some(column) => Err(refuse(format!(
                "an operation on protected column {} that the server cannot do on ciphertext",
                self.title(column)
            ))),
        }
    }

    fn plain_all<'e>(
        &mut self,
        expressions: impl IntoIterator<Item = &'e mut Expr>,
        scope: &Scope,
    ) -> Result<(), Refusal> {
        expressions
            .into_iter()
            .try_for_each(|expression| self.plain(expression, scope))
    }

    /// Predicates. Other nodes are left to [`Self::computation`].
    fn predicate(&mut self, expression: &mut Expr, scope: &Scope) -> Result<(), Refusal> {
        if let Some(known) = known(expression, self.dialect())? {
            let value = Expr::Value(known.into());
            *expression = match self.dialect() {
                Dialect::MySql(_) => value,
                // Elsewhere than in a condition the type shows, and NULL has none by itself.
                _ => Expr::Cast {
                    kind: CastKind::Cast,
                    expr: Box::new(value),
                    data_type: DataType::Boolean,
                    format: None,
                },
            };
            return Ok(());
        }
        if self.by_tokens(expression, scope)? {
            return Ok(());
        }
        match expression {
            Expr::IsNull(inner) => {
                self.refuse_zero_date(inner, scope)?;
                self.null(inner, scope)
            }
            Expr::IsNotNull(inner) => self.null(inner, scope),
            Expr::IsFalse(inner)
            | Expr::IsNotFalse(inner)
            | Expr::IsTrue(inner)
            | Expr::IsNotTrue(inner)
            | Expr::IsUnknown(inner)
            | Expr::IsNotUnknown(inner) => self.plain(inner, scope),
            Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
                self.compare(left, right, Comparison::Equality, scope)
            }
            Expr::InList {
                expr,
                list,
                negated: _,
            } => self.in_list(expr, list, scope),
            Expr::InSubquery {
                expr,
                subquery,
                negated: _,
            } => self.in_subquery(expr, subquery, scope),
            Expr::Between {
                expr,
                negated: _,
                low,
                high,
            } => self.between(expr, low, high, scope),
            Expr::BinaryOp { left, op, right } => self.binary(left, op, right, scope),
            Expr::UnaryOp { op, expr } => match op {
                UnaryOperator::Not
                | UnaryOperator::Plus
                | UnaryOperator::Minus
                | UnaryOperator::BitwiseNot
                | UnaryOperator::PGAbs => self.plain(expr, scope),
                _ => Err(unsupported(&format!("operator {op}"))),
            },
            Expr::Exists {
                subquery,
                negated: _,
            } => self.query(subquery, Some(scope), None).map(drop),
            Expr::Like { .. }
            | Expr::ILike { .. }
            | Expr::SimilarTo { .. }
            | Expr::AnyOp { .. }
            | Expr::AllOp { .. } => self.matching(expression, scope),
            _ => self.computation(expression, scope),
        }
    }

    /// What computes a plain value from plain values. No other node is known.
    fn computation(&mut self, expression: &mut Expr, scope: &Scope) -> Result<(), Refusal> {
        match expression {
            Expr::TypedString(typed) if !typed.uses_odbc_syntax => {
                constant::check_plain_value(&typed.value.value)?;
                self.clear(&mut typed.value.value, Clear::Free)
            }
            // Bytes as MySQL has them in hexadecimal.
            Expr::Prefixed { prefix, value } if bytes::is_prefix(prefix) => match &mut **value {
                Expr::Value(value) => self.clear(&mut value.value, Clear::Free),
                _ => Err(unsupported("a constant with a prefix")),
            },
            Expr::Tuple(parts) => self.plain_all(parts, scope),
            Expr::Array(Array { elem, named: _ }) => self.plain_all(elem, scope),
            Expr::Interval(Interval { value, .. }) => self.plain(value, scope),
            Expr::Extract { expr, .. } => self.plain(expr, scope),
            Expr::Ceil { expr, field } | Expr::Floor { expr, field } => match field {
                CeilFloorKind::DateTimeField(_) | CeilFloorKind::Scale(_) => {
                    self.plain(expr, scope)
                }
            },
            Expr::Position { expr, r#in } => self.plain_all([&mut **expr, &mut **r#in], scope),
            Expr::Substring {
                expr,
                substring_from,
                substring_for,
                ..
            } => {
                self.plain(expr, scope)?;
                self.plain_all(substring_from.as_deref_mut(), scope)?;
                self.plain_all(substring_for.as_deref_mut(), scope)
            }
            Expr::Trim {
                expr,
                trim_what,
                trim_characters: None,
                trim_where: _,
            } => {
                self.plain(expr, scope)?;
                self.plain_all(trim_what.as_deref_mut(), scope)
            }
            Expr::AtTimeZone {
                timestamp,
                time_zone,
            } => self.plain_all([&mut **timestamp, &mut **time_zone], scope),
            Expr::Collate { expr, collation: _ } => self.plain(expr, scope),
            Expr::CompoundFieldAccess { root, access_chain } => {
                self.plain(root, scope)?;
                access_chain
                    .iter_mut()
                    .try_for_each(|access| self.subscript(access, scope))
            }
            _ => Err(unsupported(node_name(expression))),
        }
    }

    /// An operand beside a pattern or an array.
    fn matching(&mut self, expression: &mut Expr, scope: &Scope) -> Result<(), Refusal> {
        if self.any(expression, scope)? {
            return Ok(());
        }
        match expression {
            Expr::Like {
                any: false,
                expr,
                pattern,
                escape_char,
                negated: _,
            }
            | Expr::ILike {
                any: false,
                expr,
                pattern,
                escape_char,
                negated: _,
            }
            | Expr::SimilarTo {
                expr,
                pattern,
                escape_char,
                negated: _,
            } => {
                self.plain_like(expr, pattern, scope)?;
                self.plain_all(escape_char.as_deref_mut(), scope)
            }
            Expr::AnyOp {
                left,
                right,
                compare_op: _,
                is_some: _,
            }
            | Expr::AllOp {
                left,
                right,
                compare_op: _,
            } => self.plain_like(left, right, scope),
            _ => Err(unsupported(node_name(expression))),
        }
    }

    /// Two operands; the second may be a parameter that is compared with a plain column.
    fn plain_like(
        &mut self,
        operand: &mut Expr,
        other: &mut Expr,
        scope: &Scope,
    ) -> Result<(), Refusal> {
        self.plain(operand, scope)?;
        let how = match operand {
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) => Clear::ByColumn,
            _ => Clear::Free,
        };
        self.plain_as(other, how, scope)
    }

    fn subscript(&mut self, access: &mut AccessExpr, scope: &Scope) -> Result<(), Refusal> {
        match access {
            AccessExpr::Dot(_) => Err(unsupported("a field of a composite value")),
            AccessExpr::Subscript(Subscript::Index { index }) => self.plain(index, scope),
            AccessExpr::Subscript(Subscript::Slice {
                lower_bound,
                upper_bound,
                stride,
            }) => {
                self.plain_all(lower_bound, scope)?;
                self.plain_all(upper_bound, scope)?;
                self.plain_all(stride, scope)
            }
        }
    }

    fn null(&mut self, operand: &mut Expr, scope: &Scope) -> Result<(), Refusal> {
        if let Some(number) = Constant::of(operand)?.and_then(|constant| constant.parameter()) {
            if let Some(sealed) = self.null_test(number)? {
                *operand = sealed;
                return Ok(());
            }
            return self.plain_as(operand, Clear::ByColumn, scope);
        }
        let column = self.value(operand, scope)?;
        self.note_use(column, Use::NullTested);
        Ok(())
    }

    fn between(
        &mut self,
        operand: &mut Expr,
        low: &mut Expr,
        high: &mut Expr,
        scope: &Scope,
    ) -> Result<(), Refusal> {
        if Constant::of(operand)?.is_some() {
            // `$1 BETWEEN a AND b`: the operand would have to be sealed for two columns.
            return self.plain_all([operand, low, high], scope);
        }
        self.compare_each(operand, [low, high], Comparison::Order, scope)
    }

    fn binary(
        &mut self,
        left: &mut Expr,
        operator: &BinaryOperator,
        right: &mut Expr,
        scope: &Scope,
    ) -> Result<(), Refusal> {
        use BinaryOperator as B;
        match operator {
            B::Eq | B::NotEq => self.compare(left, right, Comparison::Equality, scope),
            B::Lt | B::LtEq | B::Gt | B::GtEq => {
                self.compare(left, right, Comparison::Order, scope)
            }
            B::And | B::Or => self.chain(left, operator, right, scope),
            operator if is_plain(operator) => self.chain(left, operator, right, scope),
            _ => Err(unsupported(&format!("operator {operator}"))),
        }
    }

    /// Chains like `a AND b AND c …` and `a + b - c …` nest on the left. They may be long, so they
    /// are walked without recursion.
    fn chain(
        &mut self,
        left: &mut Expr,
        operator: &BinaryOperator,
        right: &mut Expr,
        scope: &Scope,
    ) -> Result<(), Refusal> {
        let mut rights = vec![right];
        let mut left = left;
        let is_alike = |op: &BinaryOperator| op == operator || (is_plain(operator) && is_plain(op));
        while matches!(&*left, Expr::BinaryOp { op, .. } if is_alike(op)) {
            let Expr::BinaryOp {
                left: inner, right, ..
            } = left
            else {
                unreachable!("the loop's condition has matched");
            };
            rights.push(right);
            left = inner;
        }
        self.plain(left, scope)?;
        rights
            .into_iter()
            .rev()
            .try_for_each(|right| self.plain(right, scope))
    }

    /// A cast to the type that clients see does nothing; any other needs the value.
    fn cast(
        &mut self,
        inner: &mut Expr,
        (kind, data_type): (&CastKind, &sqlparser::ast::DataType),
        scope: &Scope,
    ) -> Result<Option<ColumnId>, Refusal> {
        match kind {
            CastKind::Cast | CastKind::DoubleColon => {}
            CastKind::TryCast | CastKind::SafeCast => return Err(unsupported("TRY_CAST")),
        }
        let Some(column) = self.value(inner, scope)? else {
            return Ok(None);
        };
        if constant::logical_type(data_type) == Some(self.column(column).logical) {
            self.check_unmixed(column)?;
            return Ok(Some(column));
        }
        Err(refuse(format!(
            "a cast of protected column {} to {data_type}",
            self.title(column)
        )))
    }

    fn case(
        &mut self,
        operand: Option<&mut Expr>,
        conditions: &mut [CaseWhen],
        otherwise: Option<&mut Expr>,
        scope: &Scope,
    ) -> Result<Option<ColumnId>, Refusal> {
        let mut results = Vec::new();
        match operand {
            Some(operand) => {
                let mut whens = Vec::new();
                for CaseWhen { condition, result } in conditions {
                    whens.push(condition);
                    results.push(result);
                }
                self.compare_each(operand, whens, Comparison::Equality, scope)?;
            }
            None => {
                for CaseWhen { condition, result } in conditions {
                    self.plain(condition, scope)?;
                    results.push(result);
                }
            }
        }
        results.extend(otherwise);
        self.unify(results, scope)
    }

    /// Values one of which becomes the result: all plain, or all sealed alike; NULL counts as both.
    pub fn unify<'e>(
        &mut self,
        values: impl IntoIterator<Item = &'e mut Expr>,
        scope: &Scope,
    ) -> Result<Option<ColumnId>, Refusal> {
        let mut common: Option<Option<ColumnId>> = None;
        for value in values {
            if Constant::of(value)?.is_some_and(|constant| constant.is_null()) {
                continue;
            }
            let sealed = self.value(value, scope)?;
            match (common, sealed) {
                (None, _) => common = Some(sealed),
                (Some(earlier), _) if earlier == sealed => {}
                (Some(Some(one)), Some(other))
                    if self.schema.have_one_type(one, other)
                        && self.column(one).mode != Mode::Random =>
                {
                    joinable(self.schema, Some(one), Some(other))?;
                }
                (Some(Some(column)), _) | (Some(None), Some(column)) => {
                    return Err(refuse(format!(
                        "protected column {} and other values as results of one expression",
                        self.title(column)
                    )));
                }
                (Some(None), None) => {}
            }
        }
        Ok(common.flatten())
    }
}

/// What constants alone say.
fn known(expression: &Expr, dialect: Dialect) -> Result<Option<Value>, Refusal> {
    Ok(match expression {
        Expr::IsNull(inner) | Expr::IsNotNull(inner) => {
            let constant = Constant::of(inner)?.filter(|constant| constant.parameter().is_none());
            let asks_null = matches!(expression, Expr::IsNull(_));
            constant.map(|constant| Value::Boolean(constant.is_null() == asks_null))
        }
        Expr::BinaryOp { left, op, right } => match (Constant::of(left)?, Constant::of(right)?) {
            (Some(left), Some(right)) => constant::compared(&left, op, &right, dialect),
            _ => None,
        },
        _ => None,
    })
}

/// Operators between plain values.
fn is_plain(operator: &BinaryOperator) -> bool {
    use BinaryOperator as B;
    matches!(
        operator,
        B::Plus
            | B::Minus
            | B::Multiply
            | B::Divide
            | B::Modulo
            | B::StringConcat
            | B::BitwiseOr
            | B::BitwiseAnd
            | B::PGBitwiseXor
            | B::PGBitwiseShiftLeft
            | B::PGBitwiseShiftRight
            | B::PGExp
            | B::PGOverlap
            | B::PGRegexMatch
            | B::PGRegexIMatch
            | B::PGRegexNotMatch
            | B::PGRegexNotIMatch
            | B::PGLikeMatch
            | B::PGILikeMatch
            | B::PGNotLikeMatch
            | B::PGNotILikeMatch
            | B::PGStartsWith
            | B::Arrow
            | B::LongArrow
            | B::HashArrow
            | B::HashLongArrow
            | B::AtAt
            | B::AtArrow
            | B::ArrowAt
    )
}

/// A name for a node that is refused.
fn node_name(expression: &Expr) -> &'static str {
    match expression {
        Expr::Wildcard(_) | Expr::QualifiedWildcard(..) => "* in an expression",
        Expr::Overlay { .. } => "OVERLAY",
        Expr::IsJson { .. } => "IS JSON",
        Expr::IsNormalized { .. } => "IS NORMALIZED",
        Expr::GroupingSets(_) | Expr::Cube(_) | Expr::Rollup(_) => "GROUPING SETS",
        Expr::Prefixed { .. } => "a constant with a prefix",
        Expr::Lambda(_) | Expr::Map(_) | Expr::Struct { .. } | Expr::Dictionary(_) => {
            "an expression of another dialect"
        }
        _ => "this kind of expression",
    }
}
