//! Which conclusions about an engine are justified, given how noisy the machine was.

use super::{Comparison, EngineSummary};
use crate::statistics::{Ratio, Verdict, is_too_noisy, verdict};

impl Comparison {
    /// The base engine a second time, whose ratios show the noise of the machine.
    pub fn control(&self) -> Option<&EngineSummary> {
        self.engines
            .iter()
            .find(|engine| engine.profile.control && engine.base.is_some())
    }

    /// Whether the machine was too busy to call any engine faster or slower.
    pub fn is_too_busy(&self) -> bool {
        let means = self
            .control()
            .map(|control| [control.wall_mean, control.cpu_mean]);
        means
            .into_iter()
            .flatten()
            .flatten()
            .any(|mean| is_too_noisy(&mean))
    }

    /// The verdict on one of an engine's ratios; `pick` takes the same ratio of another engine. The
    /// control is never called faster or slower than itself.
    pub fn verdict(
        &self,
        engine: &EngineSummary,
        ratio: &Ratio,
        pick: impl Fn(&EngineSummary) -> Option<Ratio>,
    ) -> Verdict {
        if self.is_too_busy() {
            return Verdict::Busy;
        }
        if engine.profile.control && ratio.interval.is_some() {
            return Verdict::Alike;
        }
        verdict(ratio, self.control().and_then(pick).as_ref())
    }
}
