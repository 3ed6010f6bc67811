//! Cursors whose rows the proxy keeps: their `DECLARE`, and where `FETCH` and `MOVE` go.

use sqlparser::ast::Declare;

use crate::{FinisherQuery, ObjectEffect, Plan, Refusal};
use sql_plan::{Direction, KeptCursor, unsupported};

/// Fails when it is read: the proxy has the rows.
const UNREAD: &str = "SELECT pg_catalog.current_setting('strongroom.cursor')";
/// The end of the transaction reads it.
const UNREAD_HELD: &str = "SELECT WHERE false";

/// The plan of `DECLARE` over a query that the finisher answers.
pub(super) fn keep(
    declare: &Declare,
    name: &str,
    prefix: String,
    mut query: Box<FinisherQuery>,
) -> Result<Plan, Refusal> {
    let locks = declare
        .for_query
        .as_ref()
        .is_some_and(|own| !own.locks.is_empty());
    let has = |flag: Option<bool>| flag == Some(true);
    if locks && (has(declare.scroll) || has(declare.hold) || has(declare.sensitive)) {
        return Err(unsupported(
            "a cursor that locks rows and has SCROLL, INSENSITIVE or WITH HOLD",
        )
        .with_hint("Leave the word out."));
    }
    let hold = has(declare.hold);
    let unread = match hold {
        true => UNREAD_HELD,
        false => UNREAD,
    };
    query.effects.objects.push(ObjectEffect::Keeps(KeptCursor {
        name: name.to_owned(),
        hold,
        is_scroll: declare.scroll != Some(false) && !locks,
        text: prefix + unread,
    }));
    Ok(Plan::Finisher(query))
}

/// Where `FETCH` or `MOVE` goes, by the words between it and the name of the cursor (PostgreSQL,
/// `fetch_args`).
pub(super) fn direction(words: &[String]) -> Option<Direction> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let words = match words.as_slice() {
        [before @ .., "from" | "in"] => before,
        all => all,
    };
    let number = |digits: &[&str]| digits.concat().parse::<i64>().ok();
    let all = i64::MAX;
    Some(match words {
        [] | ["next"] | ["forward"] => Direction::Forward(1),
        ["prior"] | ["backward"] => Direction::Backward(1),
        ["first"] => Direction::Absolute(1),
        ["last"] => Direction::Absolute(-1),
        ["all"] | ["forward", "all"] => Direction::Forward(all),
        ["backward", "all"] => Direction::Backward(all),
        ["absolute", digits @ ..] => Direction::Absolute(number(digits)?),
        ["relative", digits @ ..] => Direction::Relative(number(digits)?),
        ["forward", digits @ ..] => Direction::Forward(number(digits)?),
        ["backward", digits @ ..] => Direction::Backward(number(digits)?),
        digits => Direction::Forward(number(digits)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_are_those_of_the_server() {
        use Direction as D;
        for (text, wanted) in [
            ("", Some(D::Forward(1))),
            ("from", Some(D::Forward(1))),
            ("next in", Some(D::Forward(1))),
            ("5", Some(D::Forward(5))),
            ("- 5 from", Some(D::Forward(-5))),
            ("+ 5 from", Some(D::Forward(5))),
            ("all from", Some(D::Forward(i64::MAX))),
            ("forward 3 from", Some(D::Forward(3))),
            ("backward all", Some(D::Backward(i64::MAX))),
            ("prior from", Some(D::Backward(1))),
            ("first", Some(D::Absolute(1))),
            ("last from", Some(D::Absolute(-1))),
            ("absolute - 2", Some(D::Absolute(-2))),
            ("relative 0 in", Some(D::Relative(0))),
            ("absolute", None),
            ("some from", None),
            ("forward x", None),
        ] {
            let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            assert_eq!(direction(&words), wanted, "{text}");
        }
    }
}
