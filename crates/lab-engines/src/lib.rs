//! One short adapter per engine.
