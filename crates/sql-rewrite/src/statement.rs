//! A text to its statements, and each to its plan.

use std::ops::Range;

use sqlparser::ast::{DescribeAlias, Statement};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;

use crate::analysis::{Analysis, output_list, refuse, template, unsupported};
use crate::lexer::{Lexeme, lexemes};
use crate::mention::Mentions;
use crate::{
    Effects, Plan, Planned, Refusal, Schema, Template, Translated, catalogue, ddl, effects, finish,
    increment, locks, utility,
};

/// Whose SQL a text is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// PostgreSQL's.
    #[default]
    Postgres,
}

/// Operators and words like them that may follow each other without a comma: printing and
/// dropping a tree goes as deep as they are nested.
const CHAIN_MAX: usize = 1000;

/// The plans of a text that may hold several statements; none for a text without any.
///
/// # Errors
/// A statement that may touch a protected table, and that cannot be proved safe, refuses the text.
pub fn plan(text: &str, schema: &Schema, dialect: Dialect) -> Result<Vec<Planned>, Refusal> {
    let mentions = Mentions::of(schema);
    let lexemes = lexemes(text);
    let mut planned = Vec::new();
    for part in lexemes.split(|(lexeme, _)| *lexeme == Lexeme::Semicolon) {
        let (Some((_, first)), Some((_, last))) = (part.first(), part.last()) else {
            continue;
        };
        let span = first.start..last.end.min(text.len());
        let plan = plan_statement(text, &span, part, (schema, &mentions, dialect))?;
        planned.push(Planned { span, plan });
    }
    Ok(planned)
}

fn plan_statement(
    text: &str,
    span: &Range<usize>,
    part: &[(Lexeme, Range<usize>)],
    (schema, mentions, dialect): (&Schema, &Mentions, Dialect),
) -> Result<Plan, Refusal> {
    let statement = &text[span.clone()];
    if let Some(plan) = catalogue::plan(statement, schema) {
        return Ok(plan);
    }
    let Some(name) = mentions.find(statement) else {
        let words: Vec<String> = part
            .iter()
            .filter(|(lexeme, _)| *lexeme == Lexeme::Word)
            .map(|(_, place)| text[place.clone()].to_ascii_lowercase())
            .collect();
        return Ok(Plan::Pass(effects::of_words(&words, schema)));
    };
    if utility::passes(text, part) {
        return Ok(Plan::Pass(Effects::default()));
    }
    check_form(statement, part)?;
    let parsed = parse(statement, dialect).map_err(|()| {
        refuse(format!(
            "this statement may touch {name}, and is not understood"
        ))
        .with_state("42601")
        .with_hint("Write it in a plainer form; see the manual on what is understood.")
    })?;
    of_statement(&parsed, schema)
}

/// What the analysis could not carry.
fn check_form(statement: &str, part: &[(Lexeme, Range<usize>)]) -> Result<(), Refusal> {
    if statement.contains(template::MARK) {
        return Err(unsupported("the character U+0001"));
    }
    let mut chain = 0;
    for (lexeme, place) in part {
        match lexeme {
            Lexeme::Comma => chain = 0,
            Lexeme::Operator => chain += 1,
            Lexeme::Word => {
                let length = place.len();
                if length <= 9 {
                    chain += 1;
                }
            }
            _ => {}
        }
        if chain > CHAIN_MAX * 4 {
            return Err(refuse("the statement is nested too deeply").with_state("54001"));
        }
    }
    Ok(())
}

fn parse(statement: &str, dialect: Dialect) -> Result<Statement, ()> {
    let parsed = match dialect {
        Dialect::Postgres => Parser::parse_sql(&PostgreSqlDialect {}, statement),
    };
    let mut statements = parsed.map_err(drop)?;
    match (statements.pop(), statements.is_empty()) {
        (Some(statement), true) => Ok(statement),
        _ => Err(()),
    }
}

/// The plan of a statement that names a protected table.
fn of_statement(statement: &Statement, schema: &Schema) -> Result<Plan, Refusal> {
    match statement {
        Statement::Query(query) => match translate(statement, schema) {
            Ok((translated, effects)) => Ok(Plan::One(translated, effects)),
            Err(refusal) => finish::of_query(query, schema).map_err(|other| worse(refusal, other)),
        },
        Statement::Update(update) => match translate(statement, schema) {
            Ok((translated, effects)) => Ok(Plan::One(translated, effects)),
            Err(refusal) => {
                increment::of_update(update, schema).map_err(|other| worse(refusal, other))
            }
        },
        Statement::Insert(_) | Statement::Delete(_) => {
            let (translated, effects) = translate(statement, schema)?;
            Ok(Plan::One(translated, effects))
        }
        Statement::Copy { .. } => utility::copy(statement, schema),
        Statement::Explain {
            describe_alias: DescribeAlias::Explain,
            analyze,
            verbose,
            query_plan: false,
            estimate: false,
            statement,
            format: None,
            options,
        } => {
            let plan = of_statement(statement, schema)?;
            utility::explain((*analyze, *verbose), options.as_deref(), plan)
        }
        _ => match ddl::plan(statement, schema)? {
            Some(plan) => Ok(plan),
            None => Err(unsupported("a statement of this kind")),
        },
    }
}

/// What to tell of a statement that neither the server nor the proxy can do.
fn worse(by_server: Refusal, by_proxy: Refusal) -> Refusal {
    if by_server.sqlstate != "0A000" {
        return by_server;
    }
    let message = match by_server.message == by_proxy.message {
        true => by_server.message,
        false => format!("{}; the proxy: {}", by_server.message, by_proxy.message),
    };
    Refusal {
        message,
        hint: by_server.hint.or(by_proxy.hint),
        ..by_proxy
    }
}

/// A statement that the server executes as one.
fn translate(statement: &Statement, schema: &Schema) -> Result<(Translated, Effects), Refusal> {
    let (mut analysis, (mut changed, outputs)) = Analysis::run(schema, |analysis| {
        let mut changed = statement.clone();
        let outputs = match &mut changed {
            Statement::Query(query) => analysis.query(query, None, None)?,
            Statement::Insert(insert) => analysis.insert(insert, None)?,
            Statement::Update(update) => analysis.update(update, None)?,
            Statement::Delete(delete) => analysis.delete(delete, None)?,
            _ => return Err(unsupported("a statement of this kind")),
        };
        Ok((changed, outputs))
    })?;
    let outputs = output_list(outputs);
    let locks = match &mut changed {
        Statement::Query(query) => locks::of_query(&mut analysis, query, &outputs),
        _ => None,
    };
    let template = Template::of(&mut changed)?;
    let parameter_types = analysis.parameter_types();
    let effects = Effects {
        writes: analysis.writes,
        forgets_locks: analysis.fires_triggers,
        ..Effects::default()
    };
    let translated = Translated {
        template,
        holes: analysis.holes,
        outputs,
        parameter_types,
        locks,
    };
    Ok((translated, effects))
}
