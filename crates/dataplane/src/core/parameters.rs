//! What of a box can be changed while it runs.

use dovetail_sched::{FlowConfig, Limit, Spec, SpecError};
use dovetail_units::{BitRate, Part, Time, Weight};

use super::cpu::Budget;
use super::link::Pace;
use super::middlebox::{CPU, LINK, Middlebox, lengths, names};
use super::queue::{MOST_RESOURCES, Queue};
use super::queues::BehindCpu;

impl Middlebox {
    /// Change a parameter of the scheduler; of a composition, in each part that has it.
    ///
    /// # Errors
    /// It has none of this name that can change, or the value is wrong. Nothing is changed then.
    pub fn set(&mut self, now: Time, parameter: &str, value: &str) -> Result<(), SpecError> {
        let names = names(self.third.as_ref(), self.classes.iter().map(|class| &class.setup.name));
        let numbered = names.number(parameter, value)?;
        let taken = self.queues.each_mut().map(|queue| queue.set(now, parameter, &numbered));
        if !taken.into_iter().try_fold(false, |any, taken| Ok(any | taken?))? {
            return Err(self.cannot_change(parameter));
        }
        let written = &mut self.scheduler.parameters;
        match written.iter_mut().find(|(name, _)| name == parameter) {
            Some((_, written)) => *written = value.to_string(),
            None => written.push((parameter.to_string(), value.to_string())),
        }
        Ok(())
    }

    fn cannot_change(&self, parameter: &str) -> SpecError {
        let mut known: Vec<&str> = self.queues.iter().flat_map(Queue::settable).collect();
        known.sort_unstable();
        known.dedup();
        let able = if known.is_empty() { "none".to_string() } else { known.join(", ") };
        let scheduler = &self.scheduler.name;
        let message = format!("{scheduler} has no parameter {parameter:?} that can change while it runs; {able} can");
        SpecError::among(parameter, message, known)
    }

    /// Names of the classes that somebody has asked for.
    pub fn class_names(&self) -> impl Iterator<Item = &str> {
        self.classes
            .iter()
            .filter(|class| !class.retired && !class.setup.built_in)
            .map(|class| class.setup.name.as_str())
    }

    /// Set the weight of a class's flows, those that exist and those to come. `None` if there is no such class.
    pub fn set_weight(&mut self, now: Time, class: &str, weight: Weight) -> Option<()> {
        let index = self.class_index(class)?;
        self.classes[index].setup.weight = weight;
        self.reconfigure(now, index as u16);
        Some(())
    }

    /// Guarantee this part of its fair share to each of a class's flows, those that exist and those to come; none
    /// instead of what the scheduler guarantees to all. `None` if there is no such class.
    pub fn set_alpha(&mut self, now: Time, class: &str, alpha: Option<Part>) -> Option<()> {
        let index = self.class_index(class)?;
        self.classes[index].setup.alpha = alpha;
        self.reconfigure(now, index as u16);
        Some(())
    }

    /// The scheduler, as it is now.
    pub fn scheduler(&self) -> &Spec {
        &self.scheduler
    }

    /// Set the limit of the queue of a class's flows. `None` if there is no such class.
    pub fn set_limit(&mut self, now: Time, class: &str, limit: Limit) -> Option<()> {
        let index = self.class_index(class)?;
        self.classes[index].setup.limit = limit;
        self.reconfigure(now, index as u16);
        Some(())
    }

    /// Set how much of a core processing may use, from `now` on, also by the frame that is on the CPU. All until `now`
    /// has been done.
    pub fn set_budget(&mut self, now: Time, budget: Budget) {
        let [old, new] = [self.budget, budget].map(|budget| u64::from(budget.as_millionths()));
        self.change_speed(CPU, now, old, Some(new));
        self.budget = budget;
    }

    /// Set the rate of the link, from `now` on, also for the frame that is on it. All until `now` has been done.
    pub fn set_rate(&mut self, now: Time, rate: Option<BitRate>) {
        // Without a rate no frame stays on the link.
        if let Some(old) = self.pace.rate() {
            self.change_speed(LINK, now, old.as_bps(), rate.map(BitRate::as_bps));
        }
        self.pace = Pace::new(rate);
        self.lengths = lengths();
        self.classes.iter_mut().for_each(|class| class.resizes = false);
        self.queues.iter_mut().for_each(|queue| queue.set_rate(rate));
    }

    fn class_index(&self, name: &str) -> Option<usize> {
        self.classes.iter().position(|class| !class.retired && class.setup.name == name)
    }

    fn reconfigure(&mut self, now: Time, class: u16) {
        let flows: Vec<u32> = self.flows.iter().filter(|(_, flow)| flow.class == class).map(|(i, _)| i).collect();
        flows.into_iter().for_each(|flow| self.set_flow(now, flow, class));
    }

    pub(super) fn set_flow(&mut self, now: Time, flow: u32, class: u16) {
        let configs = self.configs(class);
        self.queues.iter_mut().zip(configs).for_each(|(queue, config)| queue.set_flow(now, flow, config));
    }

    pub(super) fn configs(&self, class: u16) -> [FlowConfig<MOST_RESOURCES>; MOST_RESOURCES] {
        let setup = &self.classes[usize::from(class)].setup;
        let (weight, alpha, limit) = (setup.weight, setup.alpha, setup.limit);
        let entrance = FlowConfig { weight, alpha, class: Some(class), limit, ..FlowConfig::default() };
        let limit = match self.between {
            Some(BehindCpu::Each { limit, .. }) => limit,
            Some(BehindCpu::Own) => setup.limit,
            None => Limit::default(),
        };
        let behind = FlowConfig { limit, ..entrance };
        [entrance, behind, behind]
    }
}
