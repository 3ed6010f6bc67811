//! A value that copies share until one of them is changed (copy on write).

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A value whose copies are one in memory, until one of them is changed.
#[derive(Clone, Debug, Default)]
pub struct Shared<T>(Arc<T>);

impl<T> From<T> for Shared<T> {
    fn from(value: T) -> Self {
        Self(Arc::new(value))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_the_same_until_it_is_changed() {
        let first: Shared<Vec<u8>> = vec![1].into();
        let mut second = first.clone();
        assert!(std::ptr::eq(&*first, &*second));
        second.push(2);
        assert_eq!(*first, [1]);
        assert_eq!(*second, [1, 2]);
    }
}
