//! A plan in a few lines of text, for tests and for people who ask what the proxy does.

use std::fmt::Write as _;

use crate::{
    Aggregate, Assignment, BinaryOperator, Copy, Expression, Finish, Form, Hole, Literal, LockKey,
    OutputKind, Plan, Purpose, ReadModifyWrite, Schema, Source, Translated, UnaryOperator,
};

/// The plan, line by line. Constants are left out, since they may be confidential.
pub fn describe(plan: &Plan, schema: &Schema) -> String {
    let mut text = String::new();
    match plan {
        Plan::Pass(_) => text.push_str("pass\n"),
        Plan::One(translated, _) => describe_translated(&mut text, "one", translated, schema),
        Plan::ReadModifyWrite(plan) => describe_increment(&mut text, plan, schema),
        Plan::Finish(plan) => describe_finish(&mut text, plan, schema),
        Plan::Finisher(plan) => {
            describe_translated(&mut text, "fetch", &plan.fetch, schema);
            line(&mut text, "finisher", &plan.text);
        }
        Plan::FinisherTables(plan) => {
            for table in &plan.tables {
                if let Some(fetch) = &table.fetch {
                    describe_translated(&mut text, "fetch", fetch, schema);
                }
                line(&mut text, "table", &table.create);
            }
            if let Some(insert) = &plan.insert {
                describe_translated(&mut text, "insert", &insert.write, schema);
            }
        }
        Plan::FinisherWrite(plan) => {
            describe_translated(&mut text, "fetch", &plan.query.fetch, schema);
            line(&mut text, "finisher", &plan.query.text);
            describe_translated(&mut text, "write", &plan.write, schema);
            if let Some(returning) = &plan.returning {
                line(&mut text, "finisher", &returning.text);
            }
            if let Some(upsert) = &plan.upsert {
                line(&mut text, "finisher", &upsert.text);
                describe_translated(&mut text, "update", &upsert.update, schema);
            }
        }
        Plan::FinisherMerge(plan) => {
            describe_translated(&mut text, "fetch", &plan.query.fetch, schema);
            line(&mut text, "finisher", &plan.query.text);
            describe_translated(&mut text, "write", &plan.write, schema);
        }
        Plan::Copy(copy) => describe_copy(&mut text, copy, schema),
    }
    text
}

fn line(text: &mut String, name: &str, content: &str) {
    writeln!(text, "{name}: {content}").expect("a String takes all");
}

fn title(kind: OutputKind, schema: &Schema) -> String {
    match kind {
        OutputKind::Plain => "-".to_owned(),
        OutputKind::Sealed(id) => schema.column(id).column.clone(),
        OutputKind::Gathered(id, function) => {
            format!("{function:?} of {}", schema.column(id).column)
        }
    }
}

fn describe_translated(text: &mut String, name: &str, plan: &Translated, schema: &Schema) {
    let sql = plan.template.render(|number, sql| {
        write!(sql, "{{{}}}", hole(&plan.holes[number], schema)).expect("a String takes all");
    });
    line(text, name, &sql);
    if !plan.outputs.is_empty() {
        let outputs = plan.outputs.iter().map(|output| {
            let hidden = if output.hidden { " hidden" } else { "" };
            format!("{}{hidden}", title(output.kind, schema))
        });
        line(text, "  outputs", &outputs.collect::<Vec<_>>().join(", "));
    }
    if let Some(locks) = &plan.locks {
        describe_lock(text, locks, schema);
    }
}

fn describe_lock(text: &mut String, locks: &LockKey, schema: &Schema) {
    let table = schema.tables.get(&locks.table);
    let key = locks.key.iter().filter_map(|(index, _)| {
        let column = table?.columns.get(*index)?;
        Some(column.name.as_str())
    });
    let key = key.collect::<Vec<_>>().join(", ");
    let read = locks
        .read
        .iter()
        .map(|read| schema.column(read.column).column.as_str());
    let read = read.collect::<Vec<_>>().join(", ");
    line(
        text,
        "  locks",
        &format!("{} by ({key}), reads ({read})", locks.table.1),
    );
}

fn source(own: &Source) -> String {
    match own {
        Source::Parameter(number) => format!("${}", number + 1),
        Source::Literal(Literal::Null) => "null".to_owned(),
        Source::Literal(Literal::TransactionTime) => "now".to_owned(),
        Source::Literal(Literal::Drawn) => "next value".to_owned(),
        Source::Literal(_) => "constant".to_owned(),
        Source::Calculated(..) => "calculated".to_owned(),
        Source::Members(members) => {
            let members: Vec<String> = members.iter().map(source).collect();
            format!("together {}", members.join(", "))
        }
        Source::Computed(number) => format!("computed {number}"),
        Source::Locator(number) => format!("locator {number}"),
    }
}

fn hole(hole: &Hole, schema: &Schema) -> String {
    let from = source(&hole.source);
    match hole.form {
        Form::Plain => format!("{from} plain"),
        Form::Sealed(column, purpose) => {
            format!(
                "{from} {} {}",
                purpose_name(purpose),
                schema.column(column).column
            )
        }
        Form::SealedArray(column, purpose) => {
            format!(
                "{from} each {} {}",
                purpose_name(purpose),
                schema.column(column).column
            )
        }
    }
}

fn purpose_name(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Store => "store",
        Purpose::Match => "match",
        Purpose::MatchEnd => "match end",
        Purpose::Bound => "bound",
    }
}

fn describe_increment(text: &mut String, plan: &ReadModifyWrite, schema: &Schema) {
    describe_translated(text, "read", &plan.read, schema);
    for Assignment { column, value } in &plan.assignments {
        let content = format!("{} = {}", schema.column(*column).column, expression(value));
        line(text, "compute", &content);
    }
    describe_translated(text, "write", &plan.write, schema);
    if let Some(write) = &plan.write_all {
        describe_translated(text, "write all", write, schema);
    }
    if let Some(write) = &plan.write_by_key {
        describe_translated(text, "write by key", write, schema);
    }
    if let Some(locks) = &plan.locks {
        describe_lock(text, locks, schema);
    }
}

fn describe_finish(text: &mut String, plan: &Finish, schema: &Schema) {
    describe_translated(text, "fetch", &plan.fetch, schema);
    if let Some(filter) = &plan.filter {
        line(text, "filter", &expression(filter));
    }
    for key in &plan.group_by {
        line(text, "group by", &expression(&key.value));
    }
    for Aggregate {
        function,
        distinct,
        argument,
        filter,
    } in &plan.aggregates
    {
        let distinct = if *distinct { "distinct " } else { "" };
        let argument = argument.as_ref().map_or("*".to_owned(), expression);
        let filter = filter.as_ref().map_or(String::new(), |filter| {
            format!(" where {}", expression(filter))
        });
        line(
            text,
            "aggregate",
            &format!("{function:?}({distinct}{argument}){filter}"),
        );
    }
    if let Some(having) = &plan.having {
        line(text, "having", &expression(having));
    }
    for (name, value, logical) in &plan.project {
        let logical = logical.map_or(String::new(), |logical| format!(" {logical}"));
        line(
            text,
            "project",
            &format!("{name} = {}{logical}", expression(value)),
        );
    }
    if plan.distinct {
        text.push_str("distinct\n");
    }
    for key in &plan.order_by {
        let descending = if key.descending { " desc" } else { "" };
        let nulls = if key.nulls_first { " nulls first" } else { "" };
        line(
            text,
            "order by",
            &format!("{}{descending}{nulls}", expression(&key.value)),
        );
    }
    for (name, bound) in [("limit", &plan.limit), ("offset", &plan.offset)] {
        if let Some(bound) = bound {
            line(text, name, &expression(bound));
        }
    }
}

fn describe_copy(text: &mut String, copy: &Copy, schema: &Schema) {
    let sql = copy.template.render(|number, sql| {
        write!(sql, "{{{}}}", hole(&copy.holes[number], schema)).expect("a String takes all");
    });
    line(text, "copy", &sql);
    let fields = copy.fields.iter().map(|kind| title(*kind, schema));
    line(text, "  fields", &fields.collect::<Vec<_>>().join(", "));
    if !copy.added.is_empty() {
        let added = copy.added.iter().map(|(column, default)| {
            let default = source(&Source::Literal(default.clone()));
            format!("{} {default}", title(OutputKind::Sealed(*column), schema))
        });
        line(text, "  added", &added.collect::<Vec<_>>().join(", "));
    }
}

fn expression(value: &Expression) -> String {
    let list = |values: &[Expression]| {
        let values: Vec<String> = values.iter().map(expression).collect();
        values.join(", ")
    };
    match value {
        Expression::Column(index) => format!("#{index}"),
        Expression::Value(from, logical) => format!("{}::{logical}", source(from)),
        Expression::Aggregate(index) => format!("aggregate {index}"),
        Expression::Group(index) => format!("group {index}"),
        Expression::Unary(operator, inner) => {
            let inner = expression(inner);
            match operator {
                UnaryOperator::Negate => format!("-({inner})"),
                UnaryOperator::Not => format!("not ({inner})"),
                UnaryOperator::IsNull => format!("({inner}) is null"),
                UnaryOperator::IsNotNull => format!("({inner}) is not null"),
            }
        }
        Expression::Binary(operator, left, right) => format!(
            "({} {} {})",
            expression(left),
            operator_text(*operator),
            expression(right)
        ),
        Expression::Like {
            operand,
            pattern,
            escape: _,
            case_sensitive,
        } => {
            let word = if *case_sensitive { "like" } else { "ilike" };
            format!("({} {word} {})", expression(operand), expression(pattern))
        }
        Expression::In(operand, values) => {
            format!("({} in ({}))", expression(operand), list(values))
        }
        Expression::InArray(operand, from, logical) => {
            format!(
                "({} in any {}::{logical}[])",
                expression(operand),
                source(from)
            )
        }
        Expression::Coalesce(values) => format!("coalesce({})", list(values)),
        Expression::Case(whens, otherwise) => {
            let mut text = "case".to_owned();
            for (when, then) in whens {
                write!(text, " when {} then {}", expression(when), expression(then))
                    .expect("a String takes all");
            }
            if let Some(otherwise) = otherwise {
                write!(text, " else {}", expression(otherwise)).expect("a String takes all");
            }
            text
        }
        Expression::Cast(inner, logical) => format!("cast({} as {logical})", expression(inner)),
        Expression::Call(function, inner) => {
            format!(
                "{}({})",
                format!("{function:?}").to_lowercase(),
                expression(inner)
            )
        }
    }
}

fn operator_text(operator: BinaryOperator) -> &'static str {
    match operator {
        BinaryOperator::Add => "+",
        BinaryOperator::Subtract => "-",
        BinaryOperator::Multiply => "*",
        BinaryOperator::Divide => "/",
        BinaryOperator::Power => "^",
        BinaryOperator::Concatenate => "||",
        BinaryOperator::Equal => "=",
        BinaryOperator::NotEqual => "<>",
        BinaryOperator::Less => "<",
        BinaryOperator::LessOrEqual => "<=",
        BinaryOperator::Greater => ">",
        BinaryOperator::GreaterOrEqual => ">=",
        BinaryOperator::And => "and",
        BinaryOperator::Or => "or",
    }
}
