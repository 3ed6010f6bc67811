//! A statement of rows for the server to execute as one: its values are sealed, its names are those
//! of the server.

use sqlparser::ast::Statement;

use crate::analysis::template;
use crate::analysis::{Analysis, output_list};
use crate::{Effects, Refusal, Schema, Translated, locks};

/// A statement that the server executes as one.
pub(crate) fn translate(
    statement: &Statement,
    schema: &Schema,
) -> Result<(Translated, Effects), Refusal> {
    translate_hiding(statement, schema, |_| Ok(()))
}

/// The statement for the server. `hide` marks what is not to be sent in clear.
pub(crate) fn translate_hiding(
    statement: &Statement,
    schema: &Schema,
    hide: impl Fn(&mut Analysis) -> Result<(), Refusal>,
) -> Result<(Translated, Effects), Refusal> {
    let (mut analysis, (mut changed, outputs)) = Analysis::run(schema, |analysis| {
        hide(analysis)?;
        let mut changed = statement.clone();
        let outputs = match &mut changed {
            Statement::Query(query) => analysis.query(query, None, None)?,
            other => analysis.writing(other)?,
        };
        Ok((changed, outputs))
    })?;
    let outputs = output_list(outputs);
    let locks = match &mut changed {
        Statement::Query(query) => locks::of_query(&mut analysis, query, &outputs),
        _ => None,
    };
    let locking = match &changed {
        Statement::Query(query) if locks.is_some() => Some(query.clone()),
        _ => None,
    };
    let template = template::of(&mut changed, schema.dialect)?;
    let parameter_types = analysis.parameters.types();
    let effects = Effects {
        writes: analysis.writes,
        forgets_locks: analysis.fires_triggers,
        uses: analysis.uses,
        ..Effects::default()
    };
    let mut translated = Translated {
        template,
        holes: analysis.holes,
        outputs,
        parameter_types,
        locks,
    };
    let wider = locking.and_then(|query| locks::wider(query, &translated, schema));
    if let Some(locks) = &mut translated.locks {
        locks.wider = wider.map(Box::new);
    }
    Ok((translated, effects))
}
