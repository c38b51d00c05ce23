//! Lists of which something else is made, item by item.

/// Items from the last to the first, freed on the way, so that only a part of them is in memory beside what is made of
/// them.
pub struct Freed<T> {
    items: Vec<T>,
    part: usize,
}

impl<T> Freed<T> {
    /// These items.
    pub fn new(items: Vec<T>) -> Self {
        const PARTS: usize = 16;
        Self { part: items.len() / PARTS + 1, items }
    }
}

impl<T> Iterator for Freed<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let item = self.items.pop();
        if self.items.len().is_multiple_of(self.part) {
            self.items.shrink_to_fit();
        }
        item
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.items.len(), Some(self.items.len()))
    }
}
