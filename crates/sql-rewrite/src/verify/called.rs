//! Labels of what functions give.

use sqlparser::ast::{
    Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArguments, WindowType,
};

use super::label::Label;
use super::names::Scope;
use super::{Doubt, Verifier, groups};

impl Verifier<'_, '_> {
    pub fn function(&mut self, function: &Function, scope: &Scope) -> Result<Label, Doubt> {
        let Function {
            name,
            uses_odbc_syntax: _,
            parameters,
            args,
            filter,
            null_treatment: _,
            over,
            within_group,
        } = function;
        if !matches!(parameters, FunctionArguments::None) {
            return Err(Doubt("a function of another dialect".to_owned()));
        }
        if let Some(filter) = filter {
            let label = self.label(filter, scope)?;
            self.in_clear(label)?;
        }
        if let Some(WindowType::WindowSpec(window)) = over {
            self.window(window, scope)?;
        }
        let list = match args {
            FunctionArguments::None => return Ok(Label::public()),
            FunctionArguments::Subquery(_) => {
                return Err(Doubt("a query as the arguments of a function".to_owned()));
            }
            FunctionArguments::List(list) => list,
        };
        for clause in &list.clauses {
            match clause {
                FunctionArgumentClause::OrderBy(keys) => self.sort_keys(keys, scope)?,
                _ => return Err(Doubt("a clause in a function call".to_owned())),
            }
        }
        for key in within_group {
            let label = self.label(&key.expr, scope)?;
            self.in_clear(label)?;
        }
        let mut arguments = Vec::new();
        for argument in &list.args {
            arguments.extend(self.argument(argument, scope)?);
        }
        if self.dialect().split(name).is_none() {
            return Err(Doubt("a function without a name".to_owned()));
        }
        let name = self.dialect().builtin(name);
        self.called(name.as_deref().unwrap_or_default(), arguments)
    }

    fn argument(&mut self, argument: &FunctionArg, scope: &Scope) -> Result<Option<Label>, Doubt> {
        let (FunctionArg::Unnamed(argument) | FunctionArg::Named { arg: argument, .. }) = argument
        else {
            return Err(Doubt("an argument of another dialect".to_owned()));
        };
        match argument {
            FunctionArgExpr::Expr(expression) => self.label(expression, scope).map(Some),
            FunctionArgExpr::Wildcard => Ok(None),
            _ => Err(Doubt("an argument of another dialect".to_owned())),
        }
    }

    /// The label of a function's result; the name is empty if the function is not the server's.
    fn called(&mut self, name: &str, arguments: Vec<Label>) -> Result<Label, Doubt> {
        for label in &arguments {
            groups::check_unused(label, self.labels)?;
        }
        let is_sealed = arguments.iter().any(|label| label.sealed.is_some());
        if !is_sealed || name == "coalesce" {
            let mut result = match is_sealed || arguments.is_empty() {
                true => Label::null(),
                false => arguments[0].clone(),
            };
            for argument in arguments {
                result = self.labels.merge(result, argument)?;
            }
            return Ok(match is_sealed {
                true => result,
                false => result.computed(),
            });
        }
        match (name, arguments.as_slice()) {
            ("count", [_]) => Ok(Label::public()),
            ("first_value" | "last_value" | "lag" | "lead", [one]) => Ok(one.clone()),
            ("array_agg", [one]) => match one.sealed {
                Some(sealed) if !sealed.is_array => Ok(Label::sealed_array(sealed.column)),
                _ => Err(Doubt("an array of arrays of ciphertext".to_owned())),
            },
            ("nullif", [one, other]) => {
                self.labels.meet(one, other)?;
                Ok(one.clone())
            }
            ("min" | "max", [one]) if super::mysql::is_extreme(one, self.labels.schema) => {
                Ok(one.clone())
            }
            _ => Err(Doubt(format!("function {name:?} of ciphertext"))),
        }
    }
}
