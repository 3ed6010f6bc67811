//! Serves a page to a real browser, gives it work and receives its answers.
//!
//! There is no debug protocol: the page itself polls a server in this process for work
//! ([`Session`]), so the same code drives every browser ([`Browser`]). What the work is, and what
//! the answers mean, is defined by the caller and its page.
//!
//! What a page must do: `GET work` (relative to its own address) returns a piece of work, with its
//! number in the header `X-Work`, or status 204 if there is none yet; then the page asks again.
//! `POST answer?NUMBER` sends the answer. `POST said` reports a fault that belongs to no piece of
//! work.

mod http;
mod program;
mod running;
mod session;

pub use program::{Browser, Program, ProgramError};
pub use running::Running;
pub use session::{AskError, Files, Session};
