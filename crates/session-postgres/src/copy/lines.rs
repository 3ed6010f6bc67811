//! Ends of lines: `\n`, `\r` or `\r\n`, but the same for all lines, as the server has it.

/// How the lines of a stream end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Style {
    /// No line has ended.
    #[default]
    Unknown,
    Newline,
    Return,
    Both,
}

/// What ends lines, as far as it is known.
#[derive(Clone, Default)]
pub(super) struct Lines {
    style: Style,
    /// A line has ended with `\r`; whether `\n` belongs to it is not known yet.
    after_return: bool,
}

/// An end of a line that is not that of the lines before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stray {
    Newline,
    Return,
}

impl Lines {
    /// Looks at a byte behind what may have been the end of a line. True: it belongs to it.
    pub(super) fn continues(&mut self, byte: u8) -> Result<bool, Stray> {
        if !std::mem::take(&mut self.after_return) {
            return Ok(false);
        }
        match (self.style, byte) {
            (Style::Unknown | Style::Both, b'\n') => {
                self.style = Style::Both;
                Ok(true)
            }
            (Style::Both, _) => Err(Stray::Return),
            _ => {
                self.style = Style::Return;
                Ok(false)
            }
        }
    }

    /// A `\n` or `\r` that is not quoted ends a line.
    pub(super) fn end_line(&mut self, byte: u8) -> Result<(), Stray> {
        if byte == b'\n' {
            return match self.style {
                Style::Unknown | Style::Newline => {
                    self.style = Style::Newline;
                    Ok(())
                }
                Style::Return | Style::Both => Err(Stray::Newline),
            };
        }
        if self.style == Style::Newline {
            return Err(Stray::Return);
        }
        self.after_return = true;
        Ok(())
    }

    /// The stream ends.
    pub(super) fn end(&self) -> Result<(), Stray> {
        match (self.after_return, self.style) {
            (true, Style::Both) => Err(Stray::Return),
            _ => Ok(()),
        }
    }

    /// Whether a byte inside of quotes is a line of its own, as the server counts them.
    pub(super) fn counts(&self, byte: u8) -> bool {
        let counted = match self.style {
            Style::Newline => b'\n',
            Style::Unknown | Style::Return | Style::Both => b'\r',
        };
        byte == counted
    }
}
