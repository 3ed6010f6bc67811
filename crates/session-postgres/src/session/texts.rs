//! Texts of SQL for the server, with constants in place of holes.

use column_value::ValueError;
use semantics_postgres::{TextContext, assign};
use session_core::plans::TextPlan;
use session_core::{
    Loaded, StatementError, calculated_of_constants, check_size, no_parameter, read_literal, seal,
    seal_literal, seal_together,
};
use sql_plan::{ColumnId, Form, Hole, Plan, Purpose, Source, Template};
use sql_rewrite::ServerType;

use super::format::FormatCode;
use crate::server_types;

/// The text of a Query for the server, with literals sealed as planned.
pub(super) fn render_query(
    text: &str,
    plan: &TextPlan,
    context: &TextContext,
) -> Result<String, StatementError> {
    let mut out = String::new();
    for one in &plan.planned {
        if !out.is_empty() {
            out.push_str("; ");
        }
        let (template, holes) = match &one.plan {
            Plan::One(translated, _) => (&translated.template, &translated.holes),
            Plan::Copy(copy) => (&copy.template, &copy.holes),
            _ => {
                out.push_str(&text[one.span.clone()]);
                continue;
            }
        };
        out.push_str(&render(&plan.loaded, template, holes, context)?);
        check_size::<FormatCode>(out.len())?;
    }
    Ok(out)
}

/// A text with constants in its holes.
pub(super) fn render(
    loaded: &Loaded,
    template: &Template,
    holes: &[Hole],
    context: &TextContext,
) -> Result<String, StatementError> {
    let mut failed = None;
    let rendered = template.render(|hole, out| {
        if failed.is_none() {
            let written = write_constant(loaded, &holes[hole], context, out);
            let written = written
                .and_then(|()| check_size::<FormatCode>(out.len()).map_err(StatementError::from));
            failed = written.err();
        }
    });
    failed.map_or(Ok(rendered), Err)
}

fn write_constant(
    loaded: &Loaded,
    hole: &Hole,
    context: &TextContext,
    out: &mut String,
) -> Result<(), StatementError> {
    let mut sealed = Vec::new();
    let server_type = match hole.form {
        Form::Sealed(column, _) | Form::SealedArray(column, _) => {
            loaded.schema.column(column).server_type()
        }
        Form::Plain => ServerType::Bytes,
    };
    let has_value = match (&hole.source, hole.form) {
        (Source::Literal(literal), Form::Plain) => {
            literal.write(out);
            return Ok(());
        }
        // The planner has turned an array constructor into a list, unless it is empty.
        (Source::Literal(_), Form::SealedArray(..)) => {
            out.push_str("ARRAY[]::");
            out.push_str(server_type.name());
            out.push_str("[]");
            return Ok(());
        }
        (Source::Literal(literal), Form::Sealed(column, purpose)) => {
            seal_literal::<FormatCode>(loaded, literal, (column, purpose), context, &mut sealed)
        }
        (Source::Calculated(value, _), Form::Sealed(column, purpose)) => {
            calculated_of_constants(value, context).and_then(|calculated| match calculated {
                (Some(value), logical) => {
                    let value = (value, logical);
                    seal::<FormatCode>(loaded, (column, purpose), value, context, &mut sealed)?;
                    Ok(true)
                }
                (None, _) => Ok(false),
            })
        }
        (Source::Members(members), Form::Sealed(holder, Purpose::Store)) => {
            seal_members(members, holder, loaded, context, &mut sealed)
        }
        _ => return Err(no_parameter().into()),
    };
    if !has_value? {
        out.push_str("NULL::");
        out.push_str(server_type.name());
        return Ok(());
    }
    server_types::write_constant(server_type, &sealed, out);
    Ok(())
}

/// Seals constants together, for the members of a group. False: NULL stands for them.
fn seal_members(
    members: &[Source],
    holder: ColumnId,
    loaded: &Loaded,
    context: &TextContext,
    out: &mut Vec<u8>,
) -> Result<bool, ValueError> {
    let group = loaded.schema.group_of(holder);
    let columns = group.map(|own| own.members.as_slice()).unwrap_or_default();
    let mut values = Vec::with_capacity(members.len());
    for (source, column) in members.iter().zip(columns) {
        let logical = loaded.schema.column(*column).logical;
        let (value, from) = match source {
            Source::Literal(literal) => read_literal(literal, logical, context)?,
            Source::Calculated(value, _) => calculated_of_constants(value, context)?,
            _ => return Err(no_parameter()),
        };
        let value = value.map(|value| assign(value, from, logical, context));
        values.push(value.transpose()?);
    }
    seal_together(loaded, holder, &values, out)
}
