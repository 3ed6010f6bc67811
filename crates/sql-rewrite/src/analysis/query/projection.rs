//! Select lists and `RETURNING`.

use column_value::LogicalType;
use sqlparser::ast::{
    CastKind, DataType, Expr, SelectItem, SelectItemQualifiedWildcardKind,
    WildcardAdditionalOptions,
};
use sqlstate::SqlState;

use super::super::{Analysis, OutColumn, Scope};
use super::{Outputs, Targets};
use crate::{ColumnId, Dialect, Refusal};
use sql_plan::{refuse, unsupported};

impl Analysis<'_> {
    pub fn projection(
        &mut self,
        items: &mut Vec<SelectItem>,
        scope: &Scope,
        targets: Targets,
    ) -> Result<Outputs, Refusal> {
        let mut outputs: Vec<OutColumn> = Vec::with_capacity(items.len());
        let mut all_known = true;
        let mut expanded = Vec::with_capacity(items.len());
        for mut item in std::mem::take(items) {
            let columns = match &item {
                SelectItem::Wildcard(options) => {
                    check_wildcard(options)?;
                    scope.expand(None)?
                }
                SelectItem::QualifiedWildcard(kind, options) => {
                    check_wildcard(options)?;
                    expand_relation(kind, scope)?
                }
                SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. } => {
                    let target = match targets {
                        None => None,
                        Some(targets) => Some(*targets.get(outputs.len()).ok_or_else(|| {
                            refuse("INSERT has more expressions than target columns")
                                .with_state(SqlState::SYNTAX_ERROR)
                        })?),
                    };
                    outputs.push(self.item(&mut item, scope, target)?);
                    expanded.push(item);
                    continue;
                }
                SelectItem::ExprWithAliases { .. } => {
                    return Err(unsupported("several aliases of one expression"));
                }
            };
            match columns {
                Some(columns) => {
                    for (expression, output) in columns {
                        let (item, output) = self.shown(expression, output, scope)?;
                        expanded.push(item);
                        outputs.push(output);
                    }
                }
                None => {
                    all_known = false;
                    expanded.push(item);
                }
            }
        }
        *items = expanded;
        if all_known {
            return Ok(Some(outputs));
        }
        if outputs.iter().any(OutColumn::has_ciphertext) {
            return Err(refuse(
                "* over a table whose columns are not known, beside protected columns",
            )
            .with_hint("Name the columns."));
        }
        Ok(None)
    }

    /// A column that `*` shows.
    fn shown(
        &self,
        mut expression: Expr,
        output: OutColumn,
        scope: &Scope,
    ) -> Result<(SelectItem, OutColumn), Refusal> {
        let is_member = self.take_member(&mut expression, scope)?.is_some();
        let item = match &output.name {
            Some(name) if is_member => SelectItem::ExprWithAlias {
                expr: expression,
                alias: self.dialect().quote(name),
            },
            _ => SelectItem::UnnamedExpr(expression),
        };
        let output = OutColumn {
            held_by: None,
            ..output
        };
        Ok((item, output))
    }

    fn item(
        &mut self,
        item: &mut SelectItem,
        scope: &Scope,
        target: Option<Option<ColumnId>>,
    ) -> Result<OutColumn, Refusal> {
        let (expression, alias) = match item {
            SelectItem::UnnamedExpr(expression) => (expression, None),
            SelectItem::ExprWithAlias { expr, alias } => (expr, Some(self.dialect().fold(alias))),
            _ => return Err(unsupported("* at this place")),
        };
        let is_unknown =
            alias.is_none() && target.is_none() && self.dialect().has_unknown_name(expression);
        let name = alias.or_else(|| self.dialect().output_name(expression));
        let before = self.dialect().output_name(expression);
        let logical = self.plain_type(expression, scope);
        let is_comparison = matches!(
            expression,
            Expr::BinaryOp { .. } | Expr::IsNull(_) | Expr::IsNotNull(_)
        );
        let is_free = self.is_free(expression, scope);
        let is_text = super::super::lower::is_given_as_text(expression, scope);
        let is_label = target.is_none() && self.take_text_of_label(expression, scope);
        let (sealed, gathered) = match target {
            None => self.value_or_gathered(expression, scope)?,
            Some(target) => (self.store(expression, target, scope)?, None),
        };
        // What was changed would be named otherwise: MIN(x) became (array_agg(…))[1], and 1 = 1 a
        // cast of its result.
        let is_folded = is_comparison && matches!(expression, Expr::Cast { .. });
        let unnamed = || is_folded.then(|| self.dialect().unnamed_output().to_owned());
        if let (SelectItem::UnnamedExpr(expression), Some(had)) = (&*item, &before.or_else(unnamed))
            && (sealed.is_some() || gathered.is_some() || is_folded)
            && target.is_none()
            && self.dialect().output_name(expression).as_ref() != Some(had)
        {
            *item = SelectItem::ExprWithAlias {
                expr: expression.clone(),
                alias: self.dialect().quote(had),
            };
        }
        let name = match is_unknown {
            true => Some(name_star(item, self.dialect())?),
            false => name,
        };
        Ok(OutColumn {
            name,
            written: None,
            sealed,
            gathered,
            logical,
            shown_as: sealed
                .filter(|column| is_label || is_text && self.column(*column).logical.is_varchar())
                .map(|_| LogicalType::Text),
            is_free: is_free && sealed.is_none() && gathered.is_none(),
            held_by: None,
        })
    }
}

impl Analysis<'_> {
    /// Takes the cast from `label::text`, where a protected column of an enumeration is named: the
    /// text of a label is the label. Prisma reads all enumerations so.
    fn take_text_of_label(&self, expression: &mut Expr, scope: &Scope) -> bool {
        let Expr::Cast {
            kind: CastKind::Cast | CastKind::DoubleColon,
            expr: inner,
            data_type: DataType::Text,
            format: None,
        } = expression
        else {
            return false;
        };
        let found = match &**inner {
            Expr::Identifier(name) => scope.resolve(std::slice::from_ref(name)),
            Expr::CompoundIdentifier(parts) => scope.resolve(parts),
            _ => return false,
        };
        let sealed = found.ok().and_then(|found| found.sealed);
        let is_label = sealed.is_some_and(|column| {
            let opaque = self.column(column).logical.opaque();
            opaque.is_some_and(|opaque| !opaque.has_hidden_text() && opaque.named().is_some())
        });
        if is_label {
            let inner = std::mem::replace(&mut **inner, Expr::Tuple(Vec::new()));
            *expression = inner;
        }
        is_label
    }
}

/// Gives an output column the name that it has: that of the first column of a query, in which `*`
/// has been written out.
fn name_star(item: &mut SelectItem, dialect: Dialect) -> Result<String, Refusal> {
    if let SelectItem::UnnamedExpr(expression) = &*item
        && let Some(name) = dialect.output_name(expression)
    {
        *item = SelectItem::ExprWithAlias {
            expr: expression.clone(),
            alias: dialect.quote(&name),
        };
        return Ok(name);
    }
    Err(
        unsupported("a subquery with * of a relation whose columns are not known, as a column")
            .with_hint("Name its column, or give it an alias."),
    )
}

/// The columns of `table.*`; None: they are not known, and not protected.
pub(crate) fn expand_relation(
    kind: &SelectItemQualifiedWildcardKind,
    scope: &Scope,
) -> Result<Option<Vec<(Expr, OutColumn)>>, Refusal> {
    let SelectItemQualifiedWildcardKind::ObjectName(name) = kind else {
        return Err(unsupported("* of an expression"));
    };
    let (schema, name) = scope
        .dialect
        .split(name)
        .ok_or_else(|| unsupported("a computed name"))?;
    let relation = scope.relation(schema.as_deref(), &name).ok_or_else(|| {
        refuse(format!("missing FROM-clause entry for table {name:?}"))
            .with_state(SqlState::UNDEFINED_TABLE)
    })?;
    scope.expand(Some(relation))
}

fn check_wildcard(options: &WildcardAdditionalOptions) -> Result<(), Refusal> {
    match options {
        WildcardAdditionalOptions {
            wildcard_token: _,
            opt_ilike: None,
            opt_exclude: None,
            opt_except: None,
            opt_replace: None,
            opt_rename: None,
            opt_alias: None,
        } => Ok(()),
        _ => Err(unsupported("* with options")),
    }
}
