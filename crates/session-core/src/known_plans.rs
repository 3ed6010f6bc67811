//! Plans that all sessions share: of texts, and of texts without their constants.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use sql_rewrite::mysql::shape::Shape;

use crate::loaded::Loaded;
use crate::plans::{PlanCache, TextPlan};

/// How many shapes are noted that came once.
const SIGHTS_MAX: usize = 16 << 10;

/// The plans.
#[derive(Debug, Default)]
pub(crate) struct KnownPlans {
    texts: PlanCache,
    /// Plans of texts without their constants. Without a statement: such texts share none.
    shapes: PlanCache,
    sights: Sights,
}

impl KnownPlans {
    /// The plan of a text, which is made if none is known.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn plan<E>(
        &self,
        loaded: &Arc<Loaded>,
        text: &str,
        make: impl FnOnce() -> Result<Arc<TextPlan>, E>,
    ) -> Result<Arc<TextPlan>, E> {
        if let Some(plan) = self.texts.find(loaded.version, text)
            && !plan.is_narrow()
        {
            return Ok(plan);
        }
        let shape = Shape::of(text, &loaded.schema);
        let shared = shape
            .as_ref()
            .and_then(|shape| self.shapes.find(loaded.version, &shape.key));
        if let (Some(shape), Some(shared)) = (&shape, &shared)
            && let Some(filled) = shape.fill(&shared.planned, &loaded.schema)
        {
            return Ok(Arc::new(TextPlan::new(text, vec![filled], loaded)));
        }
        let plan = make()?;
        if let Some(shape) = shape.filter(|_| shared.is_none())
            && self.sights.is_again(loaded.version, &shape.key)
        {
            self.keep_shape(&shape, &plan);
        }
        self.texts.keep(text, &plan);
        Ok(plan)
    }

    /// Keeps the plan that all texts of a shape share, or that they share none.
    fn keep_shape(&self, shape: &Shape, plan: &TextPlan) {
        let schema = &plan.loaded.schema;
        let mut shared = sql_rewrite::plan(&shape.text, schema).unwrap_or_default();
        match shape.fits(&shared, &plan.planned, schema) {
            None => return,
            Some(true) => {}
            Some(false) => shared.clear(),
        }
        let shared = TextPlan::new(&shape.text, shared, &plan.loaded);
        self.shapes.keep(&shape.key, &Arc::new(shared));
    }

    /// Drops the plans under a schema that is retired.
    pub fn forget(&self, version: u64) {
        self.texts.forget(version);
        self.shapes.forget(version);
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.texts.count() + self.shapes.count()
    }
}

/// Which shapes were seen before, roughly: a plan for all texts of a shape is made once a second
/// one comes, since most shapes of a program that writes comments or lists of any length never do.
#[derive(Debug, Default)]
struct Sights {
    seen: Mutex<HashSet<u64>>,
    hashes: RandomState,
}

impl Sights {
    /// Notes a shape, and tells whether it was noted before. A hash that two share only makes a
    /// plan come early.
    fn is_again(&self, version: u64, key: &str) -> bool {
        let hash = self.hashes.hash_one((version, key));
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= SIGHTS_MAX {
            seen.clear();
        }
        !seen.insert(hash)
    }
}
