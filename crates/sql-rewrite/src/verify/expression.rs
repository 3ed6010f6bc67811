//! Labels of expressions.

use sqlparser::ast::{
    AccessExpr, Array, BinaryOperator, CaseWhen, Expr, Ident, Interval, OrderByExpr, Query,
    Subscript, Value, WindowFrameBound, WindowSpec,
};

use super::label::{Atom, Label};
use super::names::{Columns, Scope};
use super::{Doubt, Verifier};
use crate::dialect::{marks, mysql::bytes::is_prefix as is_bytes};
use crate::{Form, Purpose, Source};

/// Bytes of the stack that are left when more is taken, and how much more.
const STACK_LEFT: usize = 128 * 1024;
const STACK_MORE: usize = 4 * 1024 * 1024;

impl Verifier<'_, '_> {
    /// What an expression is made of.
    pub fn label(&mut self, expression: &Expr, scope: &Scope) -> Result<Label, Doubt> {
        stacker::maybe_grow(STACK_LEFT, STACK_MORE, || {
            self.saw(expression);
            self.label_of(expression, scope)
        })
    }

    fn label_of(&mut self, expression: &Expr, scope: &Scope) -> Result<Label, Doubt> {
        match expression {
            Expr::Identifier(name) => self.named(std::slice::from_ref(name), scope),
            Expr::CompoundIdentifier(parts) => self.named(parts, scope),
            Expr::Nested(inner) => self.label(inner, scope),
            Expr::Prefixed { prefix, value } if is_bytes(prefix) => self.label(value, scope),
            Expr::Value(value) => self.value(&value.value),
            Expr::TypedString(typed) => self.value(&typed.value.value),
            Expr::Subquery(query) => self.single(query, scope),
            Expr::Exists { subquery, .. } => {
                self.query(subquery, Some(scope))?;
                Ok(Label::public())
            }
            Expr::Case {
                operand,
                conditions,
                else_result,
                ..
            } => self.case(
                (operand.as_deref(), conditions, else_result.as_deref()),
                scope,
            ),
            Expr::Function(function) => self.call(function, scope),
            Expr::CompoundFieldAccess { root, access_chain } => {
                let root = self.label(root, scope)?;
                self.accessed(root, access_chain, scope)
            }
            _ => self.predicate(expression, scope),
        }
    }

    fn named(&mut self, parts: &[Ident], scope: &Scope) -> Result<Label, Doubt> {
        let label = scope.label(parts, self.labels)?;
        super::groups::check_read(&label, self.labels)?;
        Ok(label)
    }

    fn value(&mut self, value: &Value) -> Result<Label, Doubt> {
        let atom = match value {
            Value::Null => return Ok(Label::null()),
            Value::Placeholder(name) => return self.hole(name),
            Value::Number(..) | Value::Boolean(_) => Atom::Other,
            Value::SingleQuotedString(text)
            | Value::EscapedStringLiteral(text)
            | Value::UnicodeStringLiteral(text) => {
                let is_empty = text.is_empty();
                let label = self.labels.given(Atom::of_text(text));
                return Ok(Label { is_empty, ..label });
            }
            Value::DollarQuotedString(text) => Atom::of_text(&text.value),
            Value::NationalStringLiteral(text)
            | Value::SingleQuotedByteStringLiteral(text)
            | Value::HexStringLiteral(text) => Atom::of_text(text),
            _ => return Err(Doubt("a constant of another dialect".to_owned())),
        };
        Ok(self.labels.given(atom))
    }

    /// What fills a hole, by its name in the text.
    pub(super) fn filling(&self, name: &str) -> Option<&crate::Hole> {
        let number = name.strip_prefix('$')?.parse::<usize>().ok()?;
        self.holes.get(number.checked_sub(1)?)
    }

    /// The columns of rows that are made of arrays which the proxy computed, one for each. None:
    /// there are others, which may have several columns.
    pub fn columns_of_arrays(&mut self, arrays: &[Expr]) -> Result<Option<Columns>, Doubt> {
        let filled_by = |value: &Expr| match value {
            Expr::Value(value) => match &value.value {
                Value::Placeholder(name) => self.filling(name).map(|hole| &hole.source),
                _ => None,
            },
            _ => None,
        };
        let is_computed = |array: &Expr| match array {
            // The server is told the type of a locator.
            Expr::Cast { expr, .. } => matches!(filled_by(expr), Some(Source::Locator(_))),
            array => matches!(filled_by(array), Some(Source::Computed(_))),
        };
        if !self.computes.arrays || !arrays.iter().all(is_computed) {
            return Ok(None);
        }
        let mut columns = Columns::default();
        for array in arrays {
            let label = self.label(array, &Scope::default())?;
            columns.known.push((None, label.element()));
        }
        Ok(Some(columns))
    }

    fn hole(&mut self, name: &str) -> Result<Label, Doubt> {
        let hole = self.filling(name);
        let hole = hole.ok_or_else(|| Doubt(format!("nothing fills {name}")))?;
        super::mysql::check_compared(hole, self.labels.schema)?;
        super::groups::check_hole(hole, self.computes.groups, self.labels.schema)?;
        match (hole.form, &hole.source) {
            (Form::Sealed(column, Purpose::Store), _) => Ok(Label::sealed(column)),
            (Form::SealedArray(column, Purpose::Store), _) => Ok(Label::sealed_array(column)),
            (Form::Sealed(column, Purpose::Match | Purpose::MatchEnd | Purpose::Bound), _) => {
                Ok(Label::sealed(column).compared())
            }
            (Form::SealedArray(_, Purpose::MatchEnd), _) => {
                Err(Doubt("an array of ends of tokens".to_owned()))
            }
            (Form::SealedArray(column, Purpose::Match | Purpose::Bound), _) => {
                Ok(Label::sealed_array(column).compared())
            }
            (Form::Plain, Source::Locator(_)) => Ok(Label::public()),
            // What it is made of is looked at where its rows are computed.
            (Form::Plain, Source::Computed(_)) if self.computes.arrays => Ok(Label::public()),
            (Form::Plain, Source::Computed(_)) => {
                Err(Doubt("a computed value goes in clear".to_owned()))
            }
            (Form::Plain, source) => {
                let atoms = super::computed::atoms_of(source);
                let mut label = Label::null();
                for atom in atoms {
                    let given = self.labels.given(atom);
                    label = self.labels.merge(label, given)?;
                }
                Ok(label)
            }
        }
    }

    /// A subquery that gives one value.
    fn single(&mut self, query: &Query, scope: &Scope) -> Result<Label, Doubt> {
        let columns = self.query(query, Some(scope))?;
        match (columns.known.as_slice(), &columns.others) {
            ([(_, label)], None) => Ok(label.clone()),
            _ => columns.any(self.labels),
        }
    }

    fn case(
        &mut self,
        (operand, whens, otherwise): (Option<&Expr>, &[CaseWhen], Option<&Expr>),
        scope: &Scope,
    ) -> Result<Label, Doubt> {
        let operand = operand
            .map(|operand| self.label(operand, scope))
            .transpose()?;
        let mut result = Label::null();
        for CaseWhen {
            condition,
            result: then,
        } in whens
        {
            let condition = self.label(condition, scope)?;
            match &operand {
                Some(operand) => self.labels.meet(operand, &condition)?,
                None => drop(self.in_clear(condition)?),
            }
            let then = self.label(then, scope)?;
            result = self.labels.merge(result, then)?;
        }
        match otherwise {
            None => Ok(result),
            Some(otherwise) => {
                let otherwise = self.label(otherwise, scope)?;
                self.labels.merge(result, otherwise)
            }
        }
    }

    fn accessed(
        &mut self,
        root: Label,
        chain: &[AccessExpr],
        scope: &Scope,
    ) -> Result<Label, Doubt> {
        let mut label = root;
        for access in chain {
            match access {
                AccessExpr::Subscript(Subscript::Index { index }) => {
                    let index = self.label(index, scope)?;
                    self.in_clear(index)?;
                    label = label.element();
                }
                AccessExpr::Subscript(Subscript::Slice {
                    lower_bound,
                    upper_bound,
                    stride,
                }) => {
                    for bound in [lower_bound, upper_bound, stride].into_iter().flatten() {
                        let bound = self.label(bound, scope)?;
                        self.in_clear(bound)?;
                    }
                }
                AccessExpr::Dot(_) => return Err(Doubt("a field of a row".to_owned())),
            }
        }
        Ok(label)
    }

    fn predicate(&mut self, expression: &Expr, scope: &Scope) -> Result<Label, Doubt> {
        match expression {
            Expr::IsNull(inner) | Expr::IsNotNull(inner) => {
                let label = self.label(inner, scope)?;
                super::groups::check_unused(&label, self.labels)?;
                self.labels.make_public(&label);
                Ok(Label::public())
            }
            Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
                self.compare(left, right, scope)
            }
            Expr::InList { expr, list, .. } => {
                let mut result = Label::public();
                for value in list {
                    let one = self.compare(expr, value, scope)?;
                    result = self.labels.merge(result, one)?;
                }
                Ok(result)
            }
            Expr::InSubquery { expr, subquery, .. } => self.compare_rows(expr, subquery, scope),
            Expr::Between {
                expr, low, high, ..
            } => {
                if let Some(label) = self.between_tokens(expr, (low, high), scope)? {
                    return Ok(label);
                }
                let low = self.compare(expr, low, scope)?;
                let high = self.compare(expr, high, scope)?;
                self.labels.merge(low, high)
            }
            Expr::BinaryOp { left, op, right } => self.binary(left, op, right, scope),
            Expr::AnyOp { left, right, .. } | Expr::AllOp { left, right, .. } => match &**right {
                Expr::Subquery(query) => {
                    self.saw(right);
                    self.compare_rows(left, query, scope)
                }
                _ => {
                    let one = self.label(left, scope)?;
                    let elements = self.label(right, scope)?.element();
                    self.compared(one, elements)
                }
            },
            _ => self.computed(expression, scope),
        }
    }

    fn binary(
        &mut self,
        left: &Expr,
        operator: &BinaryOperator,
        right: &Expr,
        scope: &Scope,
    ) -> Result<Label, Doubt> {
        use BinaryOperator as B;
        match operator {
            B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq => {
                self.compare(left, right, scope)
            }
            B::Spaceship if super::mysql::is_given(right, self.holes, self.dialect()) => {
                let (left, right) = (self.label(left, scope)?, self.label(right, scope)?);
                self.met(left, right)
            }
            B::And | B::Or => {
                let left = self.label(left, scope)?;
                let right = self.label(right, scope)?;
                self.in_clear(left)?;
                self.in_clear(right)?;
                Ok(Label::public())
            }
            _ => {
                let left = self.label(left, scope)?;
                let right = self.label(right, scope)?;
                let (left, right) = (self.in_clear(left)?, self.in_clear(right)?);
                self.labels.merge(left, right).map(Label::computed)
            }
        }
    }

    /// A comparison; rows are compared column by column.
    fn compare(&mut self, left: &Expr, right: &Expr, scope: &Scope) -> Result<Label, Doubt> {
        if let (Some(lefts), Some(rights)) = (row(left), row(right)) {
            self.saw_row(left);
            self.saw_row(right);
            if lefts.len() != rights.len() {
                return self.all_in_clear(lefts.iter().chain(rights), scope);
            }
            let mut result = Label::public();
            for (left, right) in lefts.iter().zip(rights) {
                let one = self.compare(left, right, scope)?;
                result = self.labels.merge(result, one)?;
            }
            return Ok(result);
        }
        if let (Some(_), Expr::Subquery(query)) = (row(left), right) {
            self.saw(right);
            return self.compare_rows(left, query, scope);
        }
        let left = self.label(left, scope)?;
        let right = self.label(right, scope)?;
        self.compared(left, right)
    }

    fn compared(&mut self, left: Label, right: Label) -> Result<Label, Doubt> {
        self.check_tokens(&left, &right)?;
        self.met(left, right)
    }

    /// The result where values meet that may be compared.
    pub(super) fn met(&mut self, left: Label, right: Label) -> Result<Label, Doubt> {
        self.labels.meet(&left, &right)?;
        let clear = [left.clear, right.clear].concat();
        Ok(Label {
            clear,
            ..Label::public()
        })
    }

    /// A value, or a row of them, beside the rows of a query.
    fn compare_rows(&mut self, left: &Expr, query: &Query, scope: &Scope) -> Result<Label, Doubt> {
        let columns = self.query(query, Some(scope))?;
        let lefts = match row(left) {
            Some(parts) => {
                self.saw_row(left);
                parts
            }
            None => std::slice::from_ref(left),
        };
        if columns.others.is_none() && columns.known.len() != lefts.len() {
            columns.any(self.labels)?;
            return self.all_in_clear(lefts, scope);
        }
        let mut result = Label::public();
        for (index, left) in lefts.iter().enumerate() {
            let right = match columns.others {
                None => columns.known[index].1.clone(),
                Some(_) => columns.any(self.labels)?,
            };
            let left = self.label(left, scope)?;
            let one = self.compared(left, right)?;
            result = self.labels.merge(result, one)?;
        }
        Ok(result)
    }

    /// Rows of different lengths, which the server refuses.
    fn all_in_clear<'e>(
        &mut self,
        expressions: impl IntoIterator<Item = &'e Expr>,
        scope: &Scope,
    ) -> Result<Label, Doubt> {
        for expression in expressions {
            let label = self.label(expression, scope)?;
            self.in_clear(label)?;
        }
        Ok(Label::public())
    }

    /// A value that the server computes with.
    pub fn in_clear(&mut self, label: Label) -> Result<Label, Doubt> {
        match label.sealed {
            None => Ok(label),
            Some(sealed) => Err(Doubt(format!(
                "the server would compute with protected column {}",
                self.labels.title(sealed)
            ))),
        }
    }

    /// What the server computes from values in clear.
    fn computed(&mut self, expression: &Expr, scope: &Scope) -> Result<Label, Doubt> {
        let mut result = Label::null();
        for operand in operands(expression)? {
            let label = self.label(operand, scope)?;
            let label = self.in_clear(label)?;
            result = self.labels.merge(result, label)?;
        }
        Ok(result)
    }

    pub fn window(&mut self, window: &WindowSpec, scope: &Scope) -> Result<(), Doubt> {
        let WindowSpec {
            window_name: _,
            partition_by,
            order_by,
            window_frame,
        } = window;
        for key in partition_by {
            self.label(key, scope)?;
        }
        self.sort_keys(order_by, scope)?;
        let Some(frame) = window_frame else {
            return Ok(());
        };
        for bound in [Some(&frame.start_bound), frame.end_bound.as_ref()] {
            let Some(
                WindowFrameBound::Preceding(Some(offset))
                | WindowFrameBound::Following(Some(offset)),
            ) = bound
            else {
                continue;
            };
            if marks::is_marked_bound(offset) {
                self.saw(offset);
                continue;
            }
            let label = self.label(offset, scope)?;
            let label = self.in_clear(label)?;
            self.labels.make_public(&label);
        }
        Ok(())
    }

    /// Rows are sorted by ciphertext or by what is in clear: nothing meets.
    pub fn sort_keys(&mut self, keys: &[OrderByExpr], scope: &Scope) -> Result<(), Doubt> {
        keys.iter()
            .try_for_each(|key| self.label(&key.expr, scope).map(drop))
    }

    fn saw_row(&mut self, expression: &Expr) {
        self.saw(expression);
        if let Expr::Nested(inner) = expression {
            self.saw_row(inner);
        }
    }
}

/// The operands of an expression that the server computes from values in clear.
fn operands(expression: &Expr) -> Result<Vec<&Expr>, Doubt> {
    let mut operands: Vec<&Expr> = Vec::new();
    match expression {
        Expr::IsTrue(inner)
        | Expr::IsNotTrue(inner)
        | Expr::IsFalse(inner)
        | Expr::IsNotFalse(inner)
        | Expr::IsUnknown(inner)
        | Expr::IsNotUnknown(inner)
        | Expr::UnaryOp { expr: inner, .. }
        | Expr::Cast { expr: inner, .. }
        | Expr::Collate { expr: inner, .. }
        | Expr::Extract { expr: inner, .. }
        | Expr::Ceil { expr: inner, .. }
        | Expr::Floor { expr: inner, .. }
        | Expr::Interval(Interval { value: inner, .. }) => operands.push(inner),
        Expr::Tuple(parts) | Expr::Array(Array { elem: parts, .. }) => operands.extend(parts),
        Expr::Position { expr, r#in } => operands.extend([&**expr, &**r#in]),
        Expr::Substring {
            expr,
            substring_from,
            substring_for,
            ..
        } => {
            operands.push(expr);
            operands.extend(substring_from.as_deref());
            operands.extend(substring_for.as_deref());
        }
        Expr::Trim {
            expr, trim_what, ..
        } => {
            operands.push(expr);
            operands.extend(trim_what.as_deref());
        }
        Expr::AtTimeZone {
            timestamp,
            time_zone,
        } => operands.extend([&**timestamp, &**time_zone]),
        Expr::Like {
            expr,
            pattern,
            escape_char,
            ..
        }
        | Expr::ILike {
            expr,
            pattern,
            escape_char,
            ..
        }
        | Expr::SimilarTo {
            expr,
            pattern,
            escape_char,
            ..
        } => {
            operands.extend([&**expr, &**pattern]);
            operands.extend(escape_char.as_deref());
        }
        _ => {
            return Err(Doubt(format!(
                "an expression of this form: {}",
                kind(expression)
            )));
        }
    }
    Ok(operands)
}

/// The parts of a row.
fn row(expression: &Expr) -> Option<&[Expr]> {
    match expression {
        Expr::Tuple(parts) => Some(parts),
        Expr::Nested(inner) => row(inner),
        _ => None,
    }
}

/// The form of an expression, without its content.
fn kind(expression: &Expr) -> String {
    let debug = format!("{expression:?}");
    let end = debug.find(|letter: char| !letter.is_alphanumeric());
    debug[..end.unwrap_or(debug.len())].to_owned()
}
