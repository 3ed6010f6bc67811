//! What is proved of columns whose values begin with a token of their collation key: the server
//! compares tokens with each other, or finds the values that begin with one, and nothing else.

use column_codec::TOKEN_PREFIX_SIZE;
use sqlparser::ast::{Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Value};

use super::label::{Label, Sealed};
use super::names::Scope;
use super::{Doubt, Verifier};
use crate::{ColumnId, Form, Purpose, Source};

impl Verifier<'_, '_> {
    fn has_tokens(&self, own: Sealed) -> bool {
        self.labels.schema.column(own.column).form.tokens.is_some()
    }

    /// Checks that no value that begins with a token is compared as a whole: equal texts have other
    /// values.
    pub(super) fn check_tokens(&self, one: &Label, other: &Label) -> Result<(), Doubt> {
        let is_whole = |label: &Label| {
            label
                .sealed
                .is_some_and(|own| self.has_tokens(own) && !own.is_token)
        };
        match is_whole(one) || is_whole(other) {
            false => Ok(()),
            true => Err(Doubt(
                "values are compared as a whole of which only a token is alike".to_owned(),
            )),
        }
    }

    /// The label of `LEFT(column, 18)`. None: it is another call.
    pub(super) fn token(&mut self, call: &Function, scope: &Scope) -> Result<Option<Label>, Doubt> {
        let is_left = matches!(&call.name.0[..], [name] if name.as_ident().is_some_and(
            |name| name.quote_style.is_none() && name.value.eq_ignore_ascii_case("left")));
        let FunctionArguments::List(list) = &call.args else {
            return Ok(None);
        };
        let [
            FunctionArg::Unnamed(FunctionArgExpr::Expr(column)),
            FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(size))),
        ] = &list.args[..]
        else {
            return Ok(None);
        };
        let is_column = matches!(column, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
        let is_size = matches!(&size.value, Value::Number(digits, false)
            if *digits == TOKEN_PREFIX_SIZE.to_string());
        let is_plain = call.over.is_none() && call.filter.is_none() && list.clauses.is_empty();
        if !self.is_mysql() || !is_left || !is_column || !is_size || !is_plain {
            return Ok(None);
        }
        let label = self.label(column, scope)?;
        match label.sealed {
            Some(own) if self.has_tokens(own) => {
                if let FunctionArg::Unnamed(FunctionArgExpr::Expr(size)) = &list.args[1] {
                    self.saw(size);
                }
                Ok(Some(label.token()))
            }
            _ => Ok(None),
        }
    }

    /// The label of `column BETWEEN token AND end`, of one constant. None: it is another range.
    pub(super) fn between_tokens(
        &mut self,
        column: &Expr,
        (low, high): (&Expr, &Expr),
        scope: &Scope,
    ) -> Result<Option<Label>, Doubt> {
        let (Some((start, of_start)), Some((end, of_end))) = (
            self.bound(low, Purpose::Match),
            self.bound(high, Purpose::MatchEnd),
        ) else {
            return self.within_token(column, (low, high), scope);
        };
        if start != end || of_start != of_end {
            return Err(Doubt("a range of the tokens of two values".to_owned()));
        }
        let column = self.label(column, scope)?;
        if column.sealed.is_some_and(|own| own.is_token) {
            return Err(Doubt("a token is looked for in a token".to_owned()));
        }
        let (low, high) = (self.label(low, scope)?, self.label(high, scope)?);
        let low = self.met(column.clone(), low)?;
        let high = self.met(column, high)?;
        self.labels.merge(low, high).map(Some)
    }

    /// The label of `column BETWEEN LEFT(other, 18) AND CONCAT(LEFT(other, 18), _binary X'FF…')`.
    /// None: it is another range.
    fn within_token(
        &mut self,
        column: &Expr,
        (low, high): (&Expr, &Expr),
        scope: &Scope,
    ) -> Result<Option<Label>, Doubt> {
        let (Expr::Function(of_low), Expr::Function(of_high)) = (low, high) else {
            return Ok(None);
        };
        let is_concat = matches!(&of_high.name.0[..], [name] if name.as_ident().is_some_and(
            |name| name.quote_style.is_none() && name.value.eq_ignore_ascii_case("concat")));
        let FunctionArguments::List(list) = &of_high.args else {
            return Ok(None);
        };
        let [
            FunctionArg::Unnamed(FunctionArgExpr::Expr(same)),
            FunctionArg::Unnamed(FunctionArgExpr::Expr(last)),
        ] = &list.args[..]
        else {
            return Ok(None);
        };
        if !is_concat || same != low || !is_last(last) {
            return Ok(None);
        }
        let Some(token) = self.token(of_low, scope)? else {
            return Ok(None);
        };
        for part in [low, high, same] {
            self.saw(part);
        }
        self.label(same, scope)?;
        let last = self.label(last, scope)?;
        self.labels.make_public(&last);
        let column = self.label(column, scope)?;
        match column.sealed {
            Some(own) if self.has_tokens(own) && !own.is_token => {
                self.met(column.token(), token).map(Some)
            }
            _ => Err(Doubt("a token is looked for elsewhere".to_owned())),
        }
    }

    /// The column with tokens and the source of a hole of a purpose.
    fn bound(&self, operand: &Expr, wanted: Purpose) -> Option<(ColumnId, Source)> {
        let Expr::Value(value) = operand else {
            return None;
        };
        let Value::Placeholder(name) = &value.value else {
            return None;
        };
        let hole = self.filling(name)?;
        match hole.form {
            Form::Sealed(id, purpose)
                if purpose == wanted && self.labels.schema.column(id).form.tokens.is_some() =>
            {
                Some((id, hole.source.clone()))
            }
            _ => None,
        }
    }
}

/// Whether it is what no tag is.
fn is_last(operand: &Expr) -> bool {
    /// Digits of the 16 bytes of a tag.
    const DIGITS: usize = 32;
    let Expr::Prefixed { prefix, value } = operand else {
        return false;
    };
    let digits = match &**value {
        Expr::Value(value) => match &value.value {
            Value::HexStringLiteral(digits) => digits,
            _ => return false,
        },
        _ => return false,
    };
    prefix.value == crate::dialect::mysql::bytes::INTRODUCER
        && digits.len() == DIGITS
        && digits.bytes().all(|digit| digit == b'F')
}
