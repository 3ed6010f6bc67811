//! Plans of texts, and the cache of them.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sql_rewrite::{Effects, Form, Literal, Output, Plan, Planned, Source, Translated};

use crate::protection::Loaded;

/// What cached texts may have together, in bytes. A plan takes a few times its text.
const TEXTS_SIZE_MAX: usize = 4 << 20;
/// Longer texts are rarely sent twice.
const TEXT_SIZE_MAX: usize = 64 << 10;

/// The plan of a text, ready to be used.
#[derive(Debug)]
pub struct TextPlan {
    /// What it was made for.
    pub loaded: Arc<Loaded>,
    /// Statements, in their order.
    pub planned: Vec<Planned>,
    /// Of a text of one statement that goes to the server otherwise than it came.
    pub bound: Option<Bound>,
}

/// A text whose holes are parameters.
#[derive(Debug)]
pub struct Bound {
    /// The text.
    pub text: String,
    /// Parameter to hole.
    pub slots: Vec<usize>,
}

impl TextPlan {
    /// Prepares a plan for use.
    pub fn new(_text: &str, planned: Vec<Planned>, loaded: &Arc<Loaded>) -> Self {
        let bound = match planned.as_slice() {
            [
                Planned {
                    plan: Plan::One(translated, _),
                    ..
                },
            ] => Some(Bound::new(translated)),
            _ => None,
        };
        Self {
            loaded: Arc::clone(loaded),
            planned,
            bound,
        }
    }

    /// Whether every statement goes on as it came.
    pub fn passes(&self) -> bool {
        self.planned
            .iter()
            .all(|one| matches!(one.plan, Plan::Pass(_)))
    }

    /// The translated statement at a place.
    pub fn translated(&self, place: usize) -> Option<&Translated> {
        match &self.planned.get(place)?.plan {
            Plan::One(translated, _) => Some(translated),
            _ => None,
        }
    }

    /// Columns that come back for the statement at a place; empty: rows go on as they are.
    pub fn outputs(&self, place: usize) -> &[Output] {
        self.translated(place)
            .map_or(&[], |translated| &translated.outputs)
    }

    /// What the statements change.
    pub fn effects(&self) -> impl Iterator<Item = &Effects> {
        self.planned.iter().map(|one| match &one.plan {
            Plan::Pass(effects) | Plan::One(_, effects) | Plan::Several(_, effects) => effects,
            Plan::ReadModifyWrite(modify) => &modify.effects,
            Plan::Finish(finish) => &finish.effects,
            Plan::Copy(copy) => &copy.effects,
        })
    }
}

impl Bound {
    fn new(translated: &Translated) -> Self {
        let mut slots = Vec::new();
        let text = translated.template.render(|hole, out| {
            let of_hole = &translated.holes[hole];
            if let (Form::Plain, Source::Literal(literal)) = (of_hole.form, &of_hole.source) {
                return write_literal(literal, out);
            }
            let slot = slots.iter().position(|&known| known == hole);
            let slot = slot.unwrap_or_else(|| {
                slots.push(hole);
                slots.len() - 1
            });
            write!(out, "${}", slot + 1).expect("a String takes everything");
        });
        Self { text, slots }
    }
}

/// Writes a constant that meets no protected column, whatever `standard_conforming_strings` is.
pub fn write_literal(literal: &Literal, out: &mut String) {
    match literal {
        Literal::Null => out.push_str("NULL"),
        Literal::Boolean(true) => out.push_str("TRUE"),
        Literal::Boolean(false) => out.push_str("FALSE"),
        Literal::Number(digits) => out.push_str(digits),
        Literal::Text(text) => {
            out.push_str("E'");
            for character in text.chars() {
                if matches!(character, '\'' | '\\') {
                    out.push(character);
                }
                out.push(character);
            }
            out.push('\'');
        }
        Literal::TransactionTime => out.push_str("CURRENT_TIMESTAMP"),
    }
}

/// Plans by schema and text. Two generations: what was not asked for while one filled up goes with
/// the next.
#[derive(Debug, Default)]
pub struct PlanCache {
    generations: Mutex<Generations>,
}

type Plans = HashMap<u64, HashMap<Box<str>, Arc<TextPlan>>>;

#[derive(Debug, Default)]
struct Generations {
    young: Plans,
    old: Plans,
    young_size: usize,
}

impl PlanCache {
    /// The plan of a text under a schema.
    pub fn find(&self, version: u64, text: &str) -> Option<Arc<TextPlan>> {
        let mut generations = self.lock();
        let young = generations.young.get(&version);
        if let Some(plan) = young.and_then(|texts| texts.get(text)) {
            return Some(Arc::clone(plan));
        }
        let plan = generations.old.get_mut(&version)?.remove(text)?;
        generations.put(version, text, &plan);
        Some(plan)
    }

    /// Keeps a plan.
    pub fn keep(&self, version: u64, text: &str, plan: &Arc<TextPlan>) {
        if text.len() <= TEXT_SIZE_MAX {
            self.lock().put(version, text, plan);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Generations> {
        // A plan that is lost is made again.
        self.generations
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Generations {
    fn put(&mut self, version: u64, text: &str, plan: &Arc<TextPlan>) {
        if self.young_size + text.len() > TEXTS_SIZE_MAX / 2 {
            self.old = std::mem::take(&mut self.young);
            self.young_size = 0;
        }
        self.young_size += text.len();
        let texts = self.young.entry(version).or_default();
        texts.insert(text.into(), Arc::clone(plan));
    }
}
