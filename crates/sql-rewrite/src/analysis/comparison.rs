//! Comparisons: which values the server can compare on ciphertext.

use column_value::LogicalType;
use sqlparser::ast::{Expr, Query};
use sqlstate::SqlState;

use super::{Analysis, Clear, Constant, Scope};
use crate::analysis::joinable::joinable;
use crate::{ColumnId, Mode, Purpose, Refusal, Use};
use sql_plan::{refuse, unsupported};

/// What a comparison needs of the ciphertext.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// `=`, `<>`, `IN`, `IS DISTINCT FROM`
    Equality,
    /// `<`, `<=`, `>`, `>=`, `BETWEEN`
    Order,
}

impl Comparison {
    pub(super) fn purpose(self) -> Purpose {
        match self {
            Self::Equality => Purpose::Match,
            Self::Order => Purpose::Bound,
        }
    }
}

impl Analysis<'_> {
    /// `left = right` and the like; seals a constant on either side.
    pub fn compare(
        &mut self,
        left: &mut Expr,
        right: &mut Expr,
        comparison: Comparison,
        scope: &Scope,
    ) -> Result<(), Refusal> {
        if let (Expr::Tuple(lefts), Expr::Tuple(rights)) = (&mut *left, &mut *right) {
            if lefts.len() != rights.len() {
                return Err(refuse("unequal number of entries in row expressions")
                    .with_state(SqlState::SYNTAX_ERROR));
            }
            for (left, right) in lefts.iter_mut().zip(rights) {
                match comparison {
                    Comparison::Equality => self.compare(left, right, comparison, scope)?,
                    // By the first part that differs: not by each, so nothing can be sealed.
                    Comparison::Order => {
                        self.plain(left, scope)?;
                        self.plain(right, scope)?;
                    }
                }
            }
            return Ok(());
        }
        match (Constant::of(left)?, Constant::of(right)?) {
            (Some(_), Some(_)) => {
                self.plain(left, scope)?;
                self.plain(right, scope)
            }
            (None, Some(constant)) => {
                let column = self.value(left, scope)?;
                self.meet(left, column, right, constant, comparison, scope)
            }
            (Some(constant), None) => {
                let column = self.value(right, scope)?;
                self.meet(right, column, left, constant, comparison, scope)
            }
            (None, None) if self.calculates(left, right, comparison, scope)? => Ok(()),
            (None, None) => {
                let (left, right) = (self.value(left, scope)?, self.value(right, scope)?);
                self.pair(left, right)?;
                match (comparison, left) {
                    (Comparison::Order, Some(column)) => self.demand(column, Mode::Order, "<"),
                    _ => Ok(()),
                }
            }
        }
    }

    /// Compares one operand with others. A constant operand is sealed for one column or not at all,
    /// so it must fit all of them.
    pub fn compare_each<'e>(
        &mut self,
        operand: &mut Expr,
        others: impl IntoIterator<Item = &'e mut Expr>,
        comparison: Comparison,
        scope: &Scope,
    ) -> Result<(), Refusal> {
        let original = operand.clone();
        let mut earlier: Option<Expr> = None;
        for other in others {
            operand.clone_from(&original);
            self.compare(operand, other, comparison, scope)?;
            if earlier.is_some_and(|earlier| earlier != *operand) {
                return Err(unsupported(
                    "a constant that is compared with values of several columns",
                ));
            }
            earlier = Some(operand.clone());
        }
        Ok(())
    }

    /// A constant is compared with an operand that has been analysed.
    fn meet(
        &mut self,
        operand: &Expr,
        column: Option<ColumnId>,
        index: &mut Expr,
        constant: Constant,
        comparison: Comparison,
        scope: &Scope,
    ) -> Result<(), Refusal> {
        let Some(column) = column else {
            let how = match is_column(operand) {
                true => Clear::ByColumn,
                false => Clear::Free,
            };
            return self.plain_as(index, how, scope);
        };
        match comparison {
            Comparison::Equality => self.demand(column, Mode::Equality, "=")?,
            Comparison::Order => self.demand(column, Mode::Order, "<")?,
        }
        *index = self.sealed(constant, column, comparison.purpose())?;
        Ok(())
    }

    /// Compares two columns with each other.
    pub fn pair(&mut self, left: Option<ColumnId>, right: Option<ColumnId>) -> Result<(), Refusal> {
        joinable(self.schema, left, right)?;
        self.note_use(left.into_iter().chain(right), Use::Paired);
        Ok(())
    }

    /// Groups by a column.
    pub fn group(&mut self, column: ColumnId, operation: &str) -> Result<(), Refusal> {
        self.demand(column, Mode::Equality, operation)?;
        let is_bits = matches!(self.column(column).logical, LogicalType::Bits(_));
        if is_bits && operation != "COUNT(DISTINCT)" {
            return Err(refuse(format!(
                "{operation} of protected column {}, whose bits a server may show as a number",
                self.title(column)
            ))
            .with_hint("Group in the client."));
        }
        self.note_use([column], Use::Grouped);
        Ok(())
    }

    /// Sorts by a column.
    pub fn sort_by(&mut self, column: ColumnId, operation: &str) -> Result<(), Refusal> {
        self.demand(column, Mode::Order, operation)?;
        self.note_use([column], Use::Sorted);
        Ok(())
    }

    /// Refuses what the mode of a column does not allow on the server.
    pub fn demand(&self, column: ColumnId, mode: Mode, operation: &str) -> Result<(), Refusal> {
        let protected = self.column(column);
        let fits = match mode {
            Mode::Random => true,
            Mode::Equality => protected.mode != Mode::Random,
            Mode::Order => protected.mode == Mode::Order,
        };
        if fits {
            return Ok(());
        }
        if let Some(collation) = protected.form.tokens {
            return Err(refuse(format!(
                "{operation} on protected column {}: the server compares it with constants and \
                 with columns alone, by =, <> and IN, since equal texts of {collation} differ",
                self.title(column)
            ))
            .with_hint("A finisher answers such a query ([finish] engine = \"mariadb\")."));
        }
        let (has, needs) = (mode_name(protected.mode), mode_name(mode));
        Err(refuse(format!(
            "{operation} on protected column {}: it has mode {has}, the server needs mode {needs}",
            self.title(column)
        )))
    }

    /// `operand IN (…)`
    pub fn in_list(
        &mut self,
        operand: &mut Expr,
        list: &mut [Expr],
        scope: &Scope,
    ) -> Result<(), Refusal> {
        if matches!(operand, Expr::Tuple(_)) {
            return self.compare_each(operand, list, Comparison::Equality, scope);
        }
        if let Some(constant) = Constant::of(operand)? {
            return self.constant_in_list(operand, constant, list, scope);
        }
        let column = self.value(operand, scope)?;
        for entry in list {
            match Constant::of(entry)? {
                Some(constant) => {
                    self.meet(
                        operand,
                        column,
                        entry,
                        constant,
                        Comparison::Equality,
                        scope,
                    )?;
                }
                None => {
                    let other = self.value(entry, scope)?;
                    self.pair(column, other)?;
                }
            }
        }
        Ok(())
    }

    /// `$1 IN (column, column)`
    fn constant_in_list(
        &mut self,
        operand: &mut Expr,
        constant: Constant,
        list: &mut [Expr],
        scope: &Scope,
    ) -> Result<(), Refusal> {
        let mut columns = Vec::new();
        for entry in list {
            columns.push(self.value(entry, scope)?);
        }
        match columns.split_first() {
            Some((Some(first), others)) if others.iter().all(|other| *other == Some(*first)) => {
                self.demand(*first, Mode::Equality, "=")?;
                *operand = self.sealed(constant, *first, Purpose::Match)?;
                Ok(())
            }
            _ if columns.iter().all(Option::is_none) => self.plain(operand, scope),
            _ => Err(unsupported(
                "a constant that is looked for among several columns",
            )),
        }
    }

    /// `operand IN (SELECT …)`
    pub fn in_subquery(
        &mut self,
        operand: &mut Expr,
        subquery: &mut Query,
        scope: &Scope,
    ) -> Result<(), Refusal> {
        let outputs = self.query(subquery, Some(scope), None)?;
        let operands: Vec<&mut Expr> = match operand {
            Expr::Tuple(parts) => parts.iter_mut().collect(),
            single => vec![single],
        };
        let Some(outputs) = outputs else {
            return operands
                .into_iter()
                .try_for_each(|part| self.plain(part, scope));
        };
        if outputs.len() != operands.len() {
            return Err(refuse("the subquery has another number of columns")
                .with_state(SqlState::SYNTAX_ERROR));
        }
        for (part, output) in operands.into_iter().zip(outputs) {
            match (Constant::of(part)?, output.sealed) {
                (Some(constant), Some(column)) => {
                    self.demand(column, Mode::Equality, "=")?;
                    *part = self.sealed(constant, column, Purpose::Match)?;
                }
                _ => {
                    let column = self.value(part, scope)?;
                    self.pair(column, output.sealed)?;
                }
            }
        }
        Ok(())
    }
}

pub(super) fn is_column(expression: &Expr) -> bool {
    match expression {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => true,
        Expr::Nested(inner) => is_column(inner),
        _ => false,
    }
}

pub(crate) fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Random => "random",
        Mode::Equality => "equality",
        Mode::Order => "order",
    }
}
