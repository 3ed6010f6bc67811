//! GROUP BY: groups and their aggregates.

use std::collections::{HashMap, HashSet};

use column_value::{LogicalType, Value, ValueError};
use semantics_postgres::{Accumulator, compare, compare_char};

use crate::equal;
use crate::evaluate::Row;
use crate::program::{Argument, Program, Total};

/// Approximate memory of a group in addition to its values.
const GROUP_SIZE: usize = 96;

/// Groups in order of first occurrence.
#[derive(Default)]
pub(crate) struct Groups {
    indices: HashMap<Box<[u8]>, usize>,
    groups: Vec<Group>,
    /// The key of the current row.
    key: Vec<u8>,
    /// Approximate memory.
    pub size: usize,
}

struct Group {
    keys: Vec<Option<Value>>,
    sums: Vec<Sum>,
}

/// An aggregate of one group.
struct Sum {
    accumulator: Accumulator,
    /// For DISTINCT: the values seen so far, which are added at the end.
    seen: HashSet<Box<[u8]>>,
    values: Vec<Value>,
    /// Size of the current value of MIN and MAX.
    kept_size: usize,
}

impl Groups {
    /// Processes a row that passed the filter.
    pub(crate) fn add(&mut self, program: &Program, row: &Row<'_>) -> Result<(), ValueError> {
        let mut keys = Vec::with_capacity(program.keys.len());
        self.key.clear();
        for (key, logical) in &program.keys {
            let value = key.value(row)?;
            equal::append(value.as_deref(), *logical, &mut self.key)?;
            keys.push(value);
        }
        let index = match self.indices.get(&*self.key) {
            Some(index) => *index,
            None => {
                let keys = keys.into_iter();
                let keys = keys
                    .map(|key| key.map(std::borrow::Cow::into_owned))
                    .collect();
                let index = self.begin(keys, program);
                self.indices.insert(self.key.as_slice().into(), index);
                index
            }
        };
        let group = &mut self.groups[index];
        for (sum, total) in group.sums.iter_mut().zip(&program.totals) {
            self.size += sum.add(total, row)?;
        }
        Ok(())
    }

    fn begin(&mut self, keys: Vec<Option<Value>>, program: &Program) -> usize {
        let sizes = keys.iter().flatten().map(equal::size).sum::<usize>();
        let totals = &program.totals;
        self.size += GROUP_SIZE + self.key.len() + sizes + totals.len() * size_of::<Sum>();
        let sums = totals.iter().map(|total| Sum {
            accumulator: total.begin.clone(),
            seen: HashSet::new(),
            values: Vec::new(),
            kept_size: 0,
        });
        self.groups.push(Group {
            keys,
            sums: sums.collect(),
        });
        self.groups.len() - 1
    }

    /// Keys and aggregates of each group. Without keys there is one group, even if there are no
    /// rows.
    pub(crate) fn finish(mut self, program: &Program) -> impl Iterator<Item = Finished> {
        if self.groups.is_empty() && program.keys.is_empty() {
            self.begin(Vec::new(), program);
        }
        self.groups.into_iter().map(|group| {
            let sums = group.sums.into_iter().zip(&program.totals);
            let sums = sums.map(|(sum, total)| sum.finish(total));
            Ok((group.keys, sums.collect::<Result<_, _>>()?))
        })
    }
}

/// Keys and aggregates of a group.
pub(crate) type Finished = Result<(Vec<Option<Value>>, Vec<Option<Value>>), ValueError>;

impl Sum {
    /// Processes a row, and returns how many more bytes are kept.
    fn add(&mut self, total: &Total, row: &Row<'_>) -> Result<usize, ValueError> {
        if let Some(filter) = &total.filter
            && !filter.is_true(row)?
        {
            return Ok(0);
        }
        match &total.argument {
            Argument::Rows => self.accumulator.add(Some(&Value::Boolean(true)))?,
            Argument::Present(present) => {
                if present.is_true(row)? {
                    self.accumulator.add(Some(&Value::Boolean(true)))?;
                }
            }
            Argument::Value(value) => {
                let Some(value) = value.value(row)? else {
                    return Ok(0);
                };
                self.accumulator.add(Some(&value))?;
                let size = equal::size(&value);
                let more = size.saturating_sub(self.kept_size);
                self.kept_size += more;
                return Ok(more);
            }
            Argument::Distinct(value, logical) => {
                let Some(value) = value.value(row)? else {
                    return Ok(0);
                };
                let mut key = Vec::new();
                equal::append(Some(&value), *logical, &mut key)?;
                if !self.seen.contains(&*key) {
                    let size = GROUP_SIZE + key.len() + equal::size(&value);
                    self.seen.insert(key.into());
                    self.values.push(value.into_owned());
                    return Ok(size);
                }
            }
        }
        Ok(0)
    }

    fn finish(mut self, total: &Total) -> Result<Option<Value>, ValueError> {
        if let Argument::Distinct(_, logical) = total.argument {
            // The server adds them in sorted order, which affects sums of floats.
            let order = match logical {
                LogicalType::Char(_) => compare_char,
                _ => compare,
            };
            let order =
                |one: &Value, other: &Value| order(one, other).unwrap_or(std::cmp::Ordering::Equal);
            self.values.sort_by(order);
            for value in &self.values {
                self.accumulator.add(Some(value))?;
            }
        }
        self.accumulator.finish()
    }
}
