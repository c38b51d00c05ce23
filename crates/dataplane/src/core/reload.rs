//! Another setup for a box that runs.

use std::path::Path;
use std::sync::Arc;

use dovetail_pipeline::Stage;
use dovetail_sched::cost::{Estimator, Per};
use dovetail_sched::{FlowConfig, Spec, SpecError};
use dovetail_units::{Duration, Time};

use super::middlebox::{CPU, Class, LINK, Middlebox, THIRD, names};
use super::queue::{MOST_RESOURCES, Queue};
use super::queues::{Queues, is_managed, queues};
use super::setup::{NamedModule, Setup, SetupClass, ThirdResource, looked_at};
use crate::frame::Frame;
use crate::module::StateError;

/// The numbers of modules that have none yet.
fn open_state(modules: &mut [NamedModule], folder: &Path) -> Result<(), ModuleState> {
    for NamedModule { name, module, .. } in modules {
        if let Some(sequence) = module.sequence().filter(|sequence| !sequence.is_stored()) {
            *sequence = sequence.open(folder).map_err(|error| (name.clone(), error))?;
        }
    }
    Ok(())
}

/// Classes have 16 bits.
const MOST_CLASSES: usize = 1 << 16;

/// Whether `new` differs from `old` at most in the values of its parameters.
fn same_parameters(old: &Spec, new: &Spec) -> bool {
    let has = |spec: &Spec, name: &str| spec.parameters.iter().any(|(known, _)| known == name);
    old.name == new.name
        && old.parameters.len() == new.parameters.len()
        && new.parameters.iter().all(|(name, _)| has(old, name))
}

/// What is wrong with the state of the module of this name.
pub type ModuleState = (String, StateError);

impl Middlebox {
    /// Let modules go on where the last box ended, whose state is in this folder, and say there where this one will.
    ///
    /// # Errors
    /// The state is of no use.
    pub fn open_state(&mut self, folder: &Path) -> Result<(), ModuleState> {
        open_state(&mut self.modules, folder)
    }

    /// Whether [`open_state`](Self::open_state) would find nothing wrong with what is in this folder.
    ///
    /// # Errors
    /// The state is of no use.
    pub fn look_at_state(&mut self, folder: &Path) -> Result<(), ModuleState> {
        self.modules.iter_mut().try_for_each(|NamedModule { name, module, .. }| match module.sequence() {
            Some(sequence) => sequence.look(folder).map_err(|error| (name.clone(), error)),
            None => Ok(()),
        })
    }

    /// Let the modules of another setup go on where those of this box are, or else where the last box with their keys
    /// has ended.
    ///
    /// # Errors
    /// The state is of no use.
    pub fn hand_over(&mut self, setup: &mut Setup) -> Result<(), ModuleState> {
        for old in self.modules.iter_mut().filter_map(|old| old.module.sequence()) {
            let news = setup.modules.iter_mut().filter_map(|new| new.module.sequence());
            news.filter(|new| new.association() == old.association()).for_each(|new| *new = Arc::clone(old));
        }
        setup.state.clone().map_or(Ok(()), |folder| open_state(&mut setup.modules, &folder))
    }

    /// Go on with another setup. Nothing that is in the box is lost: what is on CPU and link stays there, for as long
    /// as the rest takes with the new budget and at the new rate, and what waits goes on waiting in the order of its
    /// flow, also where a limit has become smaller and where another scheduler takes over. O(flows + frames that
    /// wait).
    ///
    /// * A class is the same if it has the same name. One that is no more keeps its account, and its frames, which are
    ///   processed as it was said when they came.
    /// * A flow is of the class that its next frame has.
    /// * A module of the same name that was made of the same is the same, state and all; another one starts afresh.
    /// * A scheduler stays, with what it remembers of flows, if only parameters change that it takes while it runs.
    ///
    /// # Errors
    /// The scheduler is none, or there have been too many classes. Nothing has changed then.
    pub fn reload(&mut self, now: Time, setup: Setup) -> Result<(), SpecError> {
        let there = self.classes.iter().map(|class| &class.setup.name);
        let new = setup.classes.iter().map(|class| &class.name).filter(|name| !there.clone().any(|old| old == *name));
        let queues = queues(&setup, &names(setup.third.as_ref(), there.clone().chain(new)))?;
        let third = |third: Option<&ThirdResource>| third.map(|third| third.name.clone());
        if third(self.third.as_ref()) != third(setup.third.as_ref()) {
            let message = "resources cannot change while the box runs; restart it";
            return Err(SpecError::new("resource", message));
        }
        let ecn = looked_at(&setup);
        if self.classes.len() + setup.classes.len() > MOST_CLASSES {
            let message = format!("there have been {} classes since the box started; restart it", self.classes.len());
            return Err(SpecError::new("class", message));
        }
        self.fragments.limits = setup.fragments;
        let Setup { scheduler, classes, modules, table, key, flows, frames, budget, predict, .. } = setup;
        let Setup { third, rate, buffer, .. } = setup;
        let as_many = self.classes.iter().filter(|class| !class.retired).count() == classes.len();
        let same_rate = self.pace.rate() == rate;
        self.take_modules(modules, &classes);
        self.table = table.renamed(&self.take_classes(classes));
        self.flows.reclass(flows);
        (self.key, self.ecn, self.most) = (key, ecn, frames);
        (self.third, self.buffer) = (third, buffer);
        if self.predict != predict {
            self.predict = predict;
            self.estimator = Estimator::new(&predict);
        }
        self.set_budget(now, budget);
        if !same_rate {
            self.set_rate(now, rate);
        }
        // Queue management has learnt by classes, and in times of the link.
        let stays = !is_managed(&scheduler) || (as_many && same_rate);
        if stays && self.take_parameters(now, &scheduler) {
            self.between = queues.between;
        } else {
            self.take_queues(now, queues);
        }
        self.set_buffers();
        self.scheduler = scheduler;
        let flows: Vec<(u32, u16)> = self.flows.iter().map(|(index, flow)| (index, flow.class)).collect();
        flows.into_iter().for_each(|(flow, class)| self.set_flow(now, flow, class));
        self.wake = [Some(now), self.third.as_ref().map(|_| now), Some(now)];
        Ok(())
    }

    /// The new modules, with the state of those that are the same, and behind them what waiting frames of classes that
    /// are no more still need.
    fn take_modules(&mut self, new: Vec<NamedModule>, classes: &[SetupClass]) {
        let names: Vec<String> = self.modules.iter().map(|module| module.name.clone()).collect();
        let mut old: Vec<Option<NamedModule>> = std::mem::take(&mut self.modules).into_iter().map(Some).collect();
        let mut same = |new: NamedModule| {
            let same = |old: &NamedModule| old.name == new.name && old.origin == new.origin;
            old.iter_mut().find_map(|old| old.take_if(|old| same(old))).unwrap_or(new)
        };
        self.modules = new.into_iter().map(&mut same).collect();
        for class in &mut self.classes {
            class.retired = !classes.iter().any(|new| new.name == class.setup.name);
            if !class.retired || class.books.account.held() == 0 {
                class.setup.modules.clear();
            }
            for module in &mut class.setup.modules {
                let place = self.modules.iter().position(|known| known.name == names[*module]);
                self.modules.extend(place.map_or_else(|| old[*module].take(), |_| None));
                *module = place.unwrap_or(self.modules.len() - 1);
            }
        }
    }

    /// Their places among all classes that there have been.
    fn take_classes(&mut self, new: Vec<SetupClass>) -> Vec<u16> {
        let mut places = Vec::with_capacity(new.len());
        for setup in new {
            let place = self.classes.iter().position(|class| class.setup.name == setup.name);
            let place = place.unwrap_or(self.classes.len());
            if self.predict.per() == Per::Class {
                // Other work takes another time.
                self.estimator.forget(place as u32);
            }
            match self.classes.get_mut(place) {
                Some(class) => class.setup = setup,
                None => self.classes.push(Class::new(setup)),
            }
            places.push(place as u16);
        }
        places
    }

    /// Whether the scheduler that runs could take what is different in the new one.
    fn take_parameters(&mut self, now: Time, new: &Spec) -> bool {
        if !same_parameters(&self.scheduler, new) {
            return false;
        }
        let old = self.scheduler.clone();
        let changed = new.parameters.iter().filter(|parameter| !old.parameters.contains(parameter));
        changed.into_iter().all(|(name, value)| self.set(now, name, value).is_ok())
    }

    /// Other queues take over what waits.
    fn take_queues(&mut self, now: Time, Queues { mut queues, between }: Queues) {
        // What was accepted stays, whatever the limits.
        for (flow, of) in self.flows.iter() {
            let SetupClass { weight, alpha, .. } = self.classes[usize::from(of.class)].setup;
            let config = FlowConfig { weight, alpha, class: Some(of.class), ..FlowConfig::default() };
            queues.iter_mut().for_each(|queue| queue.add_flow(flow, config));
        }
        for place in [CPU, THIRD, LINK] {
            for frame in self.queues[place].take_all(now) {
                let mut cost = self.estimate(&frame);
                if place != CPU {
                    cost[LINK] = self.pace.estimate(frame.whole().1);
                }
                let flow = frame.flow;
                if !self.put_back(now, &mut queues[place], frame, cost) {
                    self.resources.went(place, flow);
                }
            }
        }
        for frame in self.resources.stages.iter_mut().flat_map(Stage::on_servers_mut) {
            frame.tickets = [None; MOST_RESOURCES];
        }
        (self.queues, self.between) = (queues, between);
    }

    /// Whether the queue takes it.
    fn put_back(&mut self, now: Time, queue: &mut Queue, mut frame: Frame, cost: [Duration; MOST_RESOURCES]) -> bool {
        // The scheduler that handed it out is no more.
        frame.tickets = [None; MOST_RESOURCES];
        let refused = queue.put_back(now, frame, self.numbered(cost)).err();
        refused.map(|(reason, frame)| self.drop_frame(frame, reason)).is_none()
    }
}
