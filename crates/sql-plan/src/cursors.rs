//! Cursors whose rows the proxy keeps, since the finisher has computed them.
//!
//! The server has a cursor of the same name over nothing, so that it decides which cursors there
//! are: names, transactions, savepoints, `WITH HOLD`. The proxy decides which rows are fetched.

/// `DECLARE … CURSOR` over a query that the finisher answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptCursor {
    /// The name.
    pub name: String,
    /// Whether it outlives a transaction that is committed.
    pub hold: bool,
    /// Whether it may be read backwards.
    pub is_scroll: bool,
    /// The `DECLARE` for the server.
    pub text: String,
}

/// `FETCH` or `MOVE` of such a cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scroll {
    /// The name of the cursor.
    pub name: String,
    /// Whether the rows are only counted: `MOVE`.
    pub is_move: bool,
    /// Where to.
    pub direction: Direction,
}

/// Where a cursor is moved to (PostgreSQL, `FetchStmt`). [`i64::MAX`] rows are all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// So many rows on; 0 is the same row again.
    Forward(i64),
    /// So many rows back.
    Backward(i64),
    /// To the row of this number, from 1; a negative one counts from the end.
    Absolute(i64),
    /// To the row so many rows on.
    Relative(i64),
}

/// The rows of a cursor that are passed over, and where it is afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The number of the first row, from 1.
    pub first: usize,
    /// How many rows.
    pub count: usize,
    /// Whether they come in reverse order.
    pub is_backward: bool,
    /// The number of the row that the cursor is on: 0 before the first, one more than there are
    /// behind the last.
    pub position: usize,
}

impl Passed {
    fn none(position: usize) -> Self {
        Self {
            first: 1,
            count: 0,
            is_backward: false,
            position,
        }
    }

    /// The row of a number, among so many.
    fn one(number: usize, rows: usize) -> Self {
        match (1..=rows).contains(&number) {
            true => Self {
                first: number,
                count: 1,
                is_backward: false,
                position: number,
            },
            false => Self::none(number.min(rows + 1)),
        }
    }
}

impl Direction {
    /// What is passed by a cursor over so many rows, which stands on the row of a number.
    /// `is_move`: no row is returned. None: the cursor would be read backwards, and may not.
    pub fn pass(
        self,
        (rows, position): (usize, usize),
        is_move: bool,
        is_scroll: bool,
    ) -> Option<Passed> {
        let is_on_row = (1..=rows).contains(&position);
        let none = Passed::none;
        let one = |number| Passed::one(number, rows);
        let size = |count: i64| usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
        match self {
            Self::Forward(0) | Self::Backward(0) | Self::Relative(0) => match is_on_row {
                // To return it, the server reads backwards.
                true => (is_scroll || is_move).then(|| one(position)),
                false => Some(none(position)),
            },
            Self::Forward(count) if count < 0 => {
                Self::Backward(count.saturating_neg()).pass((rows, position), is_move, is_scroll)
            }
            Self::Backward(count) if count < 0 => {
                Self::Forward(count.saturating_neg()).pass((rows, position), is_move, is_scroll)
            }
            Self::Forward(count) => {
                let left = rows.saturating_sub(position);
                let wanted = size(count);
                Some(Passed {
                    first: position + 1,
                    count: left.min(wanted),
                    is_backward: false,
                    position: match wanted <= left {
                        true => position + wanted,
                        false => rows + 1,
                    },
                })
            }
            Self::Backward(count) => {
                let before = position.saturating_sub(1);
                let wanted = size(count);
                let count = before.min(wanted);
                is_scroll.then(|| Passed {
                    first: before,
                    count,
                    is_backward: true,
                    position: match wanted <= before {
                        true => position - wanted,
                        false => 0,
                    },
                })
            }
            Self::Absolute(0) => (is_scroll || position == 0).then(|| none(0)),
            Self::Absolute(number) if number > 0 => {
                let number = size(number);
                (is_scroll || number > position).then(|| one(number))
            }
            // The server goes to the end, and reads backwards.
            Self::Absolute(number) => {
                let number = (rows + 1).saturating_sub(size(number));
                is_scroll.then(|| one(number))
            }
            Self::Relative(count) if count > 0 => Some(one(position.saturating_add(size(count)))),
            Self::Relative(count) => is_scroll.then(|| one(position.saturating_sub(size(count)))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of the rows, and where the cursor is afterwards.
    fn passed(direction: Direction, position: usize) -> (Vec<usize>, usize) {
        let passed = direction.pass((3, position), false, true).expect("it may");
        let rows = (0..passed.count).map(|index| match passed.is_backward {
            true => passed.first - index,
            false => passed.first + index,
        });
        (rows.collect(), passed.position)
    }

    #[test]
    fn a_cursor_moves_as_that_of_the_server() {
        use Direction as D;
        for (direction, position, rows, after) in [
            (D::Forward(1), 0, &[1][..], 1),
            (D::Forward(2), 1, &[2, 3], 3),
            (D::Forward(3), 1, &[2, 3], 4),
            (D::Forward(i64::MAX), 0, &[1, 2, 3], 4),
            (D::Forward(1), 4, &[], 4),
            (D::Forward(0), 2, &[2], 2),
            (D::Forward(0), 4, &[], 4),
            (D::Forward(-1), 3, &[2], 2),
            (D::Backward(1), 4, &[3], 3),
            (D::Backward(2), 3, &[2, 1], 1),
            (D::Backward(i64::MAX), 4, &[3, 2, 1], 0),
            (D::Backward(1), 1, &[], 0),
            (D::Backward(1), 0, &[], 0),
            (D::Backward(-2), 0, &[1, 2], 2),
            (D::Absolute(2), 3, &[2], 2),
            (D::Absolute(9), 0, &[], 4),
            (D::Absolute(0), 2, &[], 0),
            (D::Absolute(-1), 0, &[3], 3),
            (D::Absolute(-3), 4, &[1], 1),
            (D::Absolute(-4), 4, &[], 0),
            (D::Relative(2), 1, &[3], 3),
            (D::Relative(3), 1, &[], 4),
            (D::Relative(-1), 4, &[3], 3),
            (D::Relative(-2), 2, &[], 0),
            (D::Relative(0), 1, &[1], 1),
            (D::Forward(i64::MIN), 4, &[3, 2, 1], 0),
        ] {
            let wanted = (rows.to_vec(), after);
            assert_eq!(
                passed(direction, position),
                wanted,
                "{direction:?} {position}"
            );
        }
    }

    #[test]
    fn a_cursor_that_may_not_go_back_does_not() {
        use Direction as D;
        for (direction, position, may) in [
            (D::Forward(2), 1, true),
            (D::Forward(0), 0, true),
            (D::Forward(0), 2, false),
            (D::Backward(1), 0, false),
            (D::Backward(0), 0, true),
            (D::Absolute(1), 0, true),
            (D::Absolute(1), 1, false),
            (D::Absolute(3), 2, true),
            (D::Absolute(-1), 0, false),
            (D::Absolute(0), 0, true),
            (D::Absolute(0), 1, false),
            (D::Relative(1), 2, true),
            (D::Relative(-1), 2, false),
        ] {
            let passed = direction.pass((3, position), false, false);
            assert_eq!(passed.is_some(), may, "{direction:?} {position}");
        }
        assert!(D::Forward(0).pass((3, 2), true, false).is_some());
    }
}
