//! The payloads of packets that wait, by number: schedulers carry the numbers, so that Python's garbage collector can
//! see the objects here.

use pyo3::PyTraverseError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;

/// Objects by number.
#[derive(Default)]
pub struct Payloads {
    objects: Vec<Option<Py<PyAny>>>,
    free: Vec<u32>,
}

impl Payloads {
    /// Keep this; `None` if there are no more numbers.
    pub fn put(&mut self, object: Py<PyAny>) -> Option<u32> {
        if let Some(number) = self.free.pop() {
            self.objects[number as usize] = Some(object);
            return Some(number);
        }
        let number = u32::try_from(self.objects.len()).ok()?;
        self.objects.push(Some(object));
        Some(number)
    }

    /// What is kept under this number.
    pub fn get(&self, number: u32) -> Option<&Py<PyAny>> {
        self.objects.get(number as usize)?.as_ref()
    }

    /// Give it back, and its number free.
    pub fn take(&mut self, number: u32) -> Option<Py<PyAny>> {
        let object = self.objects.get_mut(number as usize)?.take()?;
        self.free.push(number);
        Some(object)
    }

    /// Show all to the garbage collector.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.objects.iter().try_for_each(|object| visit.call(object))
    }
}
