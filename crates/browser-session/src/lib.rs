//! A page in a real browser that is served, given work and heard.
//!
//! No debug protocol: the page itself asks a server in this process for work ([`Session`]), so that
//! the same code drives every browser ([`Browser`]). What the work is, and what the answers mean,
//! is between the caller and its page.
//!
//! What a page must do: `GET work` (relative to its own address) answers with a piece of work and
//! its number in the header `X-Work`, or with status 204 where there is none yet; then it asks
//! again. `POST answer?NUMBER` gives the answer. `POST said` tells of a fault that has no number.

mod http;
mod program;
mod running;
mod session;

pub use program::{Browser, Program, ProgramError};
pub use running::Running;
pub use session::{AskError, Files, Session};
