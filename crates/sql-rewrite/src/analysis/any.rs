//! `= ANY (…)` and `<> ALL (…)`: to the server a sealed value is found in a list.

use sqlparser::ast::{Array, BinaryOperator, CastKind, DataType, Expr, Value};

use super::{Analysis, Scope, refuse, unsupported};
use crate::Refusal;

impl Analysis<'_> {
    /// A protected operand that is looked for in an array or a query. False: the operand is plain,
    /// and nothing was changed.
    pub(super) fn any(&mut self, expression: &mut Expr, scope: &Scope) -> Result<bool, Refusal> {
        let (left, operator, right, is_any) = match expression {
            Expr::AnyOp {
                left,
                compare_op,
                right,
                is_some: _,
            } => (left, compare_op, right, true),
            Expr::AllOp {
                left,
                compare_op,
                right,
            } => (left, compare_op, right, false),
            _ => return Ok(false),
        };
        let mut attempt = self.clone();
        let Some(column) = attempt.value(&mut left.clone(), scope)? else {
            return Ok(false);
        };
        let negated = match (operator, is_any) {
            (BinaryOperator::Eq, true) => false,
            (BinaryOperator::NotEq, false) => true,
            (operator, _) => {
                let word = if is_any { "ANY" } else { "ALL" };
                return Err(refuse(format!(
                    "{operator} {word} on protected column {}",
                    self.title(column)
                ))
                .with_hint("Use = ANY or <> ALL."));
            }
        };
        if let Expr::Subquery(subquery) = &mut **right {
            *expression = Expr::InSubquery {
                expr: left.clone(),
                subquery: subquery.clone(),
                negated,
            };
        } else {
            let Some(list) = elements(right) else {
                return Err(refuse(format!(
                    "an array that is looked through for protected column {} has to be written \
                     out",
                    self.title(column)
                ))
                .with_hint("Use IN with a parameter for each value, or ARRAY[$1, $2]."));
            };
            if list.is_empty() {
                return Err(unsupported("an empty array beside a protected column"));
            }
            *expression = Expr::InList {
                expr: left.clone(),
                list,
                negated,
            };
        }
        self.value(expression, scope)?;
        Ok(true)
    }
}

/// The elements of an array that is written out.
fn elements(array: &Expr) -> Option<Vec<Expr>> {
    match array {
        Expr::Nested(inner) => elements(inner),
        Expr::Array(Array { elem, named: true }) => Some(elem.clone()),
        Expr::Cast {
            kind: CastKind::Cast | CastKind::DoubleColon,
            expr,
            data_type: DataType::Array(_),
            format: None,
        } => elements(expr),
        Expr::Value(value) => {
            let text = match &value.value {
                Value::SingleQuotedString(text) => text,
                _ => return None,
            };
            let constant = |text: String| Expr::Value(Value::SingleQuotedString(text).into());
            let null = || Expr::Value(Value::Null.into());
            let elements = parse(text)?.into_iter();
            Some(
                elements
                    .map(|one| one.map_or_else(null, constant))
                    .collect(),
            )
        }
        _ => None,
    }
}

/// The elements of an array's text (PostgreSQL 8.15.6); None: it has several dimensions, or is
/// malformed.
fn parse(text: &str) -> Option<Vec<Option<String>>> {
    let inside = text.trim().strip_prefix('{')?.strip_suffix('}')?;
    let mut elements = Vec::new();
    let mut characters = inside.chars().peekable();
    if inside.trim().is_empty() {
        return Some(elements);
    }
    loop {
        while characters.next_if(char::is_ascii_whitespace).is_some() {}
        let mut element = String::new();
        let is_quoted = characters.next_if_eq(&'"').is_some();
        loop {
            match characters.peek() {
                Some('\\') => {
                    characters.next();
                    element.push(characters.next()?);
                }
                Some('"') if is_quoted => break,
                Some(',') | None if !is_quoted => break,
                Some('"' | '{' | '}') if !is_quoted => return None,
                None => return None,
                Some(character) => {
                    element.push(*character);
                    characters.next();
                }
            }
        }
        if is_quoted {
            characters.next();
            while characters.next_if(char::is_ascii_whitespace).is_some() {}
            elements.push(Some(element));
        } else {
            let word = element.trim_end();
            let is_null = word.eq_ignore_ascii_case("null");
            if word.is_empty() {
                return None;
            }
            elements.push((!is_null).then(|| word.to_owned()));
        }
        match characters.next() {
            None => return Some(elements),
            Some(',') => {}
            Some(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn elements_of_an_array_are_those_of_the_server() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(parse("{}"), Some(vec![]));
        assert_eq!(
            parse("{a, b c ,NULL}"),
            Some(vec![some("a"), some("b c"), None])
        );
        assert_eq!(
            parse(r#"{"a,b","\"","NULL",\,}"#),
            Some(vec![some("a,b"), some("\""), some("NULL"), some(",")])
        );
        for malformed in [
            "a", "{a", "{a,}", "{{a}}", "{\"a}", "{\"a\"b}", "{a\"b\"}", "{\\",
        ] {
            assert_eq!(parse(malformed), None, "{malformed}");
        }
    }
}
