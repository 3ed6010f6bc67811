//! The statement that writes all rows which were read before: `UPDATE t SET n = strongroom_rows.…
//! FROM unnest($1, $2, $3) AS strongroom_rows (…) WHERE t.ctid = strongroom_rows.…`. Each array has
//! an element for each row.
//!
//! All rows are written by one statement because one row may move another: a foreign key of the
//! table to itself, or a trigger, gives it another place, where a later statement would not find
//! it. Functions would see the earlier rows, too.

use sqlparser::ast::{
    Delete, Expr, Ident, Query, Select, SelectItem, SetExpr, Statement, TableFactor,
    TableWithJoins, Update, UpdateTableFromKind,
};

use crate::analysis::{Analysis, template};
use crate::{ColumnId, Dialect, Form, Purpose, Refusal, Source};
use sql_plan::unsupported;

/// The relation of the rows.
const ROWS: &str = "strongroom_rows";

/// The rows, in the statement that writes them.
struct Rows {
    from: Vec<TableWithJoins>,
    /// Finds them by their locators.
    condition: Option<Expr>,
    /// Their values.
    values: Vec<Expr>,
}

/// The arrays of locators of rows. None: the dialect writes rows one by one.
pub(crate) fn locators(analysis: &mut Analysis) -> Option<Vec<Expr>> {
    let types = analysis.dialect().locator_types();
    let mut arrays = Vec::new();
    for (number, name) in types.iter().enumerate() {
        let mut query = read(
            &format!("SELECT CAST(NULL AS {name}[])"),
            analysis.dialect(),
        )
        .ok()?;
        let item = select_of(&mut query).ok()?.projection.pop()?;
        let SelectItem::UnnamedExpr(Expr::Cast {
            kind,
            data_type,
            format,
            ..
        }) = item
        else {
            return None;
        };
        arrays.push(Expr::Cast {
            kind,
            expr: Box::new(analysis.hole(Source::Locator(number), Form::Plain)),
            data_type,
            format,
        });
    }
    (!arrays.is_empty()).then_some(arrays)
}

/// The arrays of computed values, in their order. Those that are sealed together are one.
pub(crate) fn computed(columns: &[ColumnId], analysis: &mut Analysis) -> Vec<Expr> {
    let columns = columns.iter().enumerate();
    let held = columns.filter(|(_, id)| analysis.schema.holder_of(**id) == Some(**id));
    let held: Vec<(usize, ColumnId)> = held.map(|(number, id)| (number, *id)).collect();
    let arrays = held.into_iter().map(|(number, id)| {
        let form = Form::SealedArray(id, Purpose::Store);
        analysis.hole(Source::Computed(number), form)
    });
    arrays.collect()
}

/// Puts the rows into an `UPDATE` whose last assignments are those of the values. The arrays are
/// those of the locators, then of the values.
pub(crate) fn update(
    update: &mut Update,
    target: &Ident,
    arrays: Vec<Expr>,
    dialect: Dialect,
) -> Result<(), Refusal> {
    let rows = rows(target, arrays, dialect)?;
    let mut assignments = update.assignments.iter_mut().rev();
    for value in rows.values.into_iter().rev() {
        // Between them the columns of last members get what shows that their group has a value.
        let place = assignments
            .by_ref()
            .find(|own| own.value != template::empty_value())
            .filter(|own| template::marked(&own.value).is_some());
        let place = place.ok_or_else(|| unsupported("an UPDATE of this form"))?;
        place.value = value;
    }
    update.from = Some(UpdateTableFromKind::AfterSet(rows.from));
    update.selection = rows.condition;
    Ok(())
}

/// Puts the rows into a `DELETE`. The arrays are those of the locators.
pub(crate) fn delete(
    delete: &mut Delete,
    target: &Ident,
    arrays: Vec<Expr>,
    dialect: Dialect,
) -> Result<(), Refusal> {
    let rows = rows(target, arrays, dialect)?;
    delete.using = Some(rows.from);
    delete.selection = rows.condition;
    Ok(())
}

/// The relation of arrays, the condition that finds their rows, and their other columns.
fn rows(target: &Ident, arrays: Vec<Expr>, dialect: Dialect) -> Result<Rows, Refusal> {
    let locators = dialect.row_locator();
    let count = arrays.len().saturating_sub(locators.len());
    let names = locators.iter().map(|name| format!("strongroom_{name}"));
    let values = (0..count).map(|number| format!("strongroom_value_{number}"));
    let names: Vec<String> = names.chain(values).collect();
    let equal = locators.iter().zip(&names);
    let equal = equal.map(|(own, name)| format!("{target}.{own} = {ROWS}.{name}"));
    let values = names[locators.len()..].iter();
    let values: Vec<String> = values.map(|name| format!("{ROWS}.{name}")).collect();
    let items = if values.is_empty() {
        "1".to_owned()
    } else {
        values.join(", ")
    };
    let text = format!(
        "SELECT {items} FROM UNNEST(NULL) AS {ROWS} ({}) WHERE {}",
        names.join(", "),
        equal.collect::<Vec<_>>().join(" AND ")
    );
    let mut query = read(&text, dialect)?;
    let select = select_of(&mut query)?;
    for from in &mut select.from {
        if let TableFactor::UNNEST { array_exprs, .. } = &mut from.relation {
            array_exprs.clone_from(&arrays);
        }
    }
    let items = select.projection.drain(..).take(values.len());
    let values = items.filter_map(|item| match item {
        SelectItem::UnnamedExpr(value) => Some(value),
        _ => None,
    });
    let values = values.collect();
    Ok(Rows {
        from: std::mem::take(&mut select.from),
        condition: select.selection.take(),
        values,
    })
}

fn read(text: &str, dialect: Dialect) -> Result<Query, Refusal> {
    match dialect.parse(text) {
        Ok(Statement::Query(query)) => Ok(*query),
        _ => Err(unsupported("a table or column with such a name")),
    }
}

fn select_of(query: &mut Query) -> Result<&mut Select, Refusal> {
    match &mut *query.body {
        SetExpr::Select(select) => Ok(select),
        _ => Err(unsupported("a query that is no SELECT")),
    }
}
