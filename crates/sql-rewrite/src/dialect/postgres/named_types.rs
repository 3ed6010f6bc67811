//! Names of enumerations, and of types of extensions, in statements.
//!
//! The finisher has the server's, but not its search path. So each name of one is replaced by its
//! schema and name in quotes, before anything else looks at a statement.

use std::borrow::Cow;
use std::ops::ControlFlow;

use column_value::{NamedKind, OpaqueType};
use sqlparser::ast::{
    ArrayElemTypeDef, DataType, Expr, Ident, ObjectName, ObjectNamePart, Statement, VisitorMut,
};

use sql_plan::unsupported;

use super::names::{is_built_in, split};
use crate::dialect::lexeme::lower;
use crate::schema::Schema;
use crate::{Refusal, walk};

/// The type without a fixed number that a name means.
pub(crate) fn meant(name: &ObjectName, schema: &Schema) -> Option<OpaqueType> {
    let types = &schema.catalogue.named_types;
    let (own, name) = split(name)?;
    if let Some(own) = own {
        return types.get(&own, &name);
    }
    if schema.temporary.types.contains(&name) {
        return None;
    }
    for own in &schema.search_path {
        if let Some(found) = types.get(own, &name) {
            return Some(found);
        }
        // Tables have types of their names.
        let table = schema.tables.get(&(own.clone(), name.clone()));
        if types.has_other(own, &name) || table.is_some_and(|table| table.oid != 0) {
            return None;
        }
    }
    None
}

/// The type without a fixed number that a type is, or the array of one.
pub(crate) fn of_type(data_type: &DataType, schema: &Schema) -> Option<OpaqueType> {
    match data_type {
        DataType::Array(
            ArrayElemTypeDef::SquareBracket(element, _) | ArrayElemTypeDef::Qualified(element, _),
        ) => of_type(element, schema).map(OpaqueType::array),
        DataType::Custom(name, limits) if limits.is_empty() && !is_built_in(data_type) => {
            meant(name, schema)
        }
        _ => None,
    }
}

/// Whether a type is one of these that the finisher has, or the array of one, by a name that
/// [`spell`] has written.
pub(super) fn is_known(data_type: &DataType, schema: &Schema) -> bool {
    match data_type {
        DataType::Array(
            ArrayElemTypeDef::SquareBracket(element, _) | ArrayElemTypeDef::Qualified(element, _),
        ) => is_known(element, schema),
        DataType::Custom(name, _) => name.0.len() == 2 && of_type(data_type, schema).is_some(),
        _ => false,
    }
}

/// Whether the server and the finisher may print the name of such a type differently: both leave
/// the schema out where the search path finds it, and only the server has other types of the name.
pub(super) fn are_named_otherwise(schema: &Schema) -> bool {
    let types = &schema.catalogue.named_types;
    !types.is_empty() && (types.has_others() || !schema.temporary.types.is_empty())
}

/// A statement with schemas before the names of such types.
pub(crate) fn spelled<'s>(statement: &'s Statement, schema: &Schema) -> Cow<'s, Statement> {
    if schema.catalogue.named_types.is_empty() {
        return Cow::Borrowed(statement);
    }
    let mut spelled = statement.clone();
    let ControlFlow::Continue(()) = walk::visit_mut(&mut spelled, &mut Spelling { schema });
    Cow::Owned(spelled)
}

/// Refuses to drop, rename or move the enumeration of a protected column, to rename its labels, and
/// to drop the extension of its type. The server does not know that the column has the type, and
/// sealed values hold the old labels.
///
/// # Errors
/// It names the type and a column.
pub(crate) fn check_change(
    statement: &str,
    words: &[String],
    schema: &Schema,
) -> Result<(), Refusal> {
    let word = |index: usize| words.get(index).map_or("", String::as_str);
    let changes = matches!(
        (word(0), word(1)),
        ("alter" | "drop", "type") | ("drop", "extension")
    );
    // Labels behind the others change no value.
    let adds = word(0) == "alter" && words.windows(2).any(|pair| pair == ["add", "value"]);
    if !changes || adds {
        return Ok(());
    }
    let text = lower(statement);
    let mut columns = schema.protected.iter();
    let found = columns.find_map(|column| {
        let own = column.logical.opaque()?.named()?;
        text.contains(&lower(&own.name)).then_some((own, column))
    });
    let Some((own, column)) = found else {
        return Ok(());
    };
    let hint = match own.kind {
        NamedKind::Enumeration => {
            "Labels can be added. For anything else make a new type, add a column of it with a \
             rule of its own, and update that from the old one."
        }
        NamedKind::Extension(_) => "Drop the column first.",
    };
    let what = format!(
        "a change of type {}.{}, which protected column {}.{} has",
        own.schema, own.name, column.table, column.column
    );
    Err(unsupported(&what).with_hint(hint))
}

struct Spelling<'a> {
    schema: &'a Schema,
}

impl Spelling<'_> {
    fn data_type(&self, data_type: &mut DataType) {
        match data_type {
            DataType::Array(
                ArrayElemTypeDef::SquareBracket(element, _)
                | ArrayElemTypeDef::Qualified(element, _),
            ) => self.data_type(element),
            _ => {
                let meant = of_type(data_type, self.schema).and_then(OpaqueType::named);
                if let (Some(own), DataType::Custom(name, _)) = (meant, data_type) {
                    let parts = [&own.schema, &own.name];
                    let quoted = parts.map(|part| Ident::with_quote('"', part.as_str()));
                    *name = ObjectName(quoted.map(ObjectNamePart::Identifier).into());
                }
            }
        }
    }
}

impl VisitorMut for Spelling<'_> {
    type Break = std::convert::Infallible;

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<Self::Break> {
        match expression {
            Expr::Cast { data_type, .. } => self.data_type(data_type),
            Expr::TypedString(typed) => self.data_type(&mut typed.data_type),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
