//! All integration tests of the finisher, in one executable.

mod answers;
mod common;
mod extensions;
mod lifetime;
mod locales;
mod sharing;
mod walls;
