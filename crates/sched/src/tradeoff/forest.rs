//! Many ordered sets of numbered items, each item in one of them: balanced trees (AVL) in one list of nodes, so that an
//! item that moves needs no memory, and all sets are emptied at once.

use alloc::vec::Vec;

use crate::queues::NIL;
use crate::steps;

#[derive(Clone, Copy, Debug)]
struct Node<K> {
    key: K,
    left: u32,
    right: u32,
    height: u8,
}

/// The trees; whoever has one keeps its root, [`NIL`] if it is empty. Equal keys are ordered by item. Every operation
/// takes O(log n).
#[derive(Clone, Debug)]
pub(super) struct Forest<K> {
    nodes: Vec<Node<K>>,
}

impl<K> Default for Forest<K> {
    fn default() -> Self {
        Self { nodes: Vec::new() }
    }
}

impl<K: Copy + Ord> Forest<K> {
    /// The least item of a tree.
    pub(super) fn first(&self, root: u32) -> Option<(K, u32)> {
        let mut at = self.nodes.get(root as usize).map(|_| root)?;
        while self.node(at).left != NIL {
            steps::take(1);
            at = self.node(at).left;
        }
        Some((self.node(at).key, at))
    }

    /// An item of this key.
    pub(super) fn find(&self, root: u32, key: K) -> Option<u32> {
        let mut at = root;
        while at != NIL {
            steps::take(1);
            let node = self.node(at);
            match key.cmp(&node.key) {
                core::cmp::Ordering::Equal => return Some(at),
                core::cmp::Ordering::Less => at = node.left,
                core::cmp::Ordering::Greater => at = node.right,
            }
        }
        None
    }

    /// Put an item that is in no tree into this one: its root.
    pub(super) fn insert(&mut self, root: u32, item: u32, key: K) -> u32 {
        let node = Node { key, left: NIL, right: NIL, height: 1 };
        if self.nodes.len() <= item as usize {
            self.nodes.resize(item as usize + 1, node);
        }
        self.nodes[item as usize] = node;
        self.join(root, item)
    }

    /// Take an item out of this tree, in which it is: its root.
    pub(super) fn remove(&mut self, root: u32, item: u32) -> u32 {
        steps::take(1);
        let Node { left, right, .. } = *self.node(root);
        if root == item {
            if right == NIL {
                return left;
            }
            let (least, rest) = self.without_first(right);
            let node = self.node_mut(least);
            (node.left, node.right) = (left, rest);
            return self.balance(least);
        }
        if self.place(item) < self.place(root) {
            self.node_mut(root).left = self.remove(left, item);
        } else {
            self.node_mut(root).right = self.remove(right, item);
        }
        self.balance(root)
    }

    fn join(&mut self, root: u32, item: u32) -> u32 {
        steps::take(1);
        if root == NIL {
            return item;
        }
        let Node { left, right, .. } = *self.node(root);
        if self.place(item) < self.place(root) {
            self.node_mut(root).left = self.join(left, item);
        } else {
            self.node_mut(root).right = self.join(right, item);
        }
        self.balance(root)
    }

    /// The least item of a tree that is not empty, and the root of the others.
    fn without_first(&mut self, root: u32) -> (u32, u32) {
        steps::take(1);
        let Node { left, right, .. } = *self.node(root);
        if left == NIL {
            return (root, right);
        }
        let (least, rest) = self.without_first(left);
        self.node_mut(root).left = rest;
        (least, self.balance(root))
    }

    fn node(&self, item: u32) -> &Node<K> {
        &self.nodes[item as usize]
    }

    fn node_mut(&mut self, item: u32) -> &mut Node<K> {
        &mut self.nodes[item as usize]
    }

    fn place(&self, item: u32) -> (K, u32) {
        (self.node(item).key, item)
    }

    fn height(&self, root: u32) -> i32 {
        if root == NIL { 0 } else { self.node(root).height.into() }
    }

    /// By how much the left side is higher.
    fn lean(&self, root: u32) -> i32 {
        let Node { left, right, .. } = *self.node(root);
        self.height(left) - self.height(right)
    }

    fn measure(&mut self, root: u32) {
        let Node { left, right, .. } = *self.node(root);
        self.node_mut(root).height = (self.height(left).max(self.height(right)) + 1) as u8;
    }

    /// Of a root whose sides are balanced, and differ by two levels at most.
    fn balance(&mut self, root: u32) -> u32 {
        let lean = self.lean(root);
        if lean > 1 {
            let left = self.node(root).left;
            if self.lean(left) < 0 {
                self.node_mut(root).left = self.turn_left(left);
            }
            return self.turn_right(root);
        }
        if lean < -1 {
            let right = self.node(root).right;
            if self.lean(right) > 0 {
                self.node_mut(root).right = self.turn_right(right);
            }
            return self.turn_left(root);
        }
        self.measure(root);
        root
    }

    fn turn_left(&mut self, root: u32) -> u32 {
        let top = self.node(root).right;
        self.node_mut(root).right = self.node(top).left;
        self.node_mut(top).left = root;
        self.measure(root);
        self.measure(top);
        top
    }

    fn turn_right(&mut self, root: u32) -> u32 {
        let top = self.node(root).left;
        self.node_mut(root).left = self.node(top).right;
        self.node_mut(top).right = root;
        self.measure(root);
        self.measure(top);
        top
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    #[test]
    fn trees_are_sets_and_stay_low() {
        let mut forest = Forest::default();
        let (mut roots, mut sets) = ([NIL; 3], [const { BTreeSet::new() }; 3]);
        let mut place = [None; 400];
        let mut state: u64 = 1;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for turn in 0..40_000_u64 {
            let item = random(400) as u32;
            if let Some((tree, key)) = place[item as usize].take() {
                let tree: usize = tree;
                roots[tree] = forest.remove(roots[tree], item);
                assert!(sets[tree].remove(&(key, item)));
            }
            if random(5) > 0 {
                // Rising keys at times, as those of turns are.
                let key = if turn / 5_000 % 2 == 0 { random(50) } else { turn };
                let tree = random(3) as usize;
                roots[tree] = forest.insert(roots[tree], item, key);
                sets[tree].insert((key, item));
                place[item as usize] = Some((tree, key));
                assert!(forest.find(roots[tree], key).is_some());
            }
            for (root, set) in roots.iter().zip(&sets) {
                assert_eq!(forest.first(*root), set.first().copied());
                // 1.44 log2(400).
                assert!(*root == NIL || forest.node(*root).height <= 12);
            }
        }
    }
}
