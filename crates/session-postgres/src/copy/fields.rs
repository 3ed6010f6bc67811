//! Fields of protected columns: sealed on their way to the server, opened on their way back.

use std::fmt;
use std::sync::Arc;

use column_value::ValueError;
use semantics_postgres::{Drawn, OpaqueForms, TextContext, assign};
use session_core::{Loaded, seal_literal, store};
use sql_plan::{ColumnId, Copy, CopyFormat, Literal, OutputKind, Purpose};
use sql_rewrite::ProtectedColumn;
use sqlstate::SqlState;
use wire_postgres::values::{self, Format};

use super::{Column, Layout, Stream};
use crate::server_types;
use crate::session::format::FormatCode;

/// Seals or opens the fields of one COPY. Its `Debug` shows no content.
#[derive(Clone)]
pub(crate) struct Fields {
    loaded: Arc<Loaded>,
    kinds: Vec<OutputKind>,
    /// Columns whose fields are added to each row, with their defaults.
    added: Vec<(ColumnId, Literal)>,
    format: Format,
    into_server: bool,
    context: TextContext,
    sealed: Vec<u8>,
    /// Whether fields have values of which only PostgreSQL knows another form.
    asks: bool,
}

impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fields")
    }
}

impl Fields {
    /// The stream of a COPY and its fields. For the size of a field, and whether a marker ends CSV,
    /// see [`Layout`].
    ///
    /// # Errors
    /// The server does not have such a COPY.
    pub(crate) fn begin(
        copy: &Copy,
        loaded: &Arc<Loaded>,
        context: &TextContext,
        (field_size_max, marker_ends_csv): (usize, bool),
    ) -> Result<(Stream, Self), ValueError> {
        let columns = copy.fields.iter().zip(&copy.columns);
        let columns = columns.map(|(kind, name)| Column {
            name: name.clone(),
            is_protected: matches!(kind, OutputKind::Sealed(_)),
        });
        let added = copy.added.iter();
        let added = added.map(|(id, _)| loaded.schema.column(*id).column.clone());
        let layout = Layout {
            columns: columns.collect(),
            added: added.collect(),
            into_server: copy.into_server,
            field_size_max,
            marker_ends_csv,
        };
        let format = match copy.format {
            CopyFormat::Text { .. } | CopyFormat::Csv { .. } => Format::Text,
            CopyFormat::Binary => Format::Binary,
        };
        let is_opaque = |kind: OutputKind| {
            let OutputKind::Sealed(id) = kind else {
                return false;
            };
            let column = loaded.schema.column(id);
            column.logical.opaque().is_some() || (copy.into_server && column.is_checked())
        };
        let added = copy.added.iter().map(|(id, _)| OutputKind::Sealed(*id));
        let mut kinds = copy.fields.iter().copied().chain(added);
        let fields = Self {
            loaded: Arc::clone(loaded),
            kinds: copy.fields.clone(),
            added: copy.added.clone(),
            format,
            into_server: copy.into_server,
            context: context.clone(),
            sealed: Vec::new(),
            asks: kinds.any(is_opaque),
        };
        Ok((Stream::new(&copy.format, layout)?, fields))
    }

    /// Whether fields have values of which only PostgreSQL knows another form.
    pub(crate) fn asks(&self) -> bool {
        self.asks
    }

    /// Takes what is known of values that are kept unread.
    pub(crate) fn set_forms(&mut self, forms: OpaqueForms) {
        self.context.opaque = forms;
    }

    /// Takes values of sequences from here.
    pub(crate) fn set_drawn(&mut self, drawn: Drawn) {
        self.context.drawn = drawn;
    }

    /// Seals or opens a field.
    ///
    /// # Errors
    /// It is not a value of the column, or does not open.
    pub(crate) fn convert(
        &mut self,
        field: usize,
        content: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), ValueError> {
        if let Some(index) = field.checked_sub(self.kinds.len()) {
            return self.add(index, out);
        }
        let Some(OutputKind::Sealed(id)) = self.kinds.get(field) else {
            out.extend_from_slice(content);
            return Ok(());
        };
        let loaded = Arc::clone(&self.loaded);
        let column = loaded.schema.column(*id);
        if self.into_server {
            self.seal(column, content, out)
        } else {
            self.open(column, content, out)
        }
    }

    fn seal(
        &mut self,
        column: &ProtectedColumn,
        content: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), ValueError> {
        let logical = column.logical;
        let value = values::read(content, logical, self.format, &self.context)?;
        let value = assign(value, logical, logical, &self.context)?;
        let (loaded, context) = (&self.loaded, &self.context);
        if self.format == Format::Binary {
            return store::<FormatCode>(loaded, column.id, &value, context, out);
        }
        self.sealed.clear();
        store::<FormatCode>(loaded, column.id, &value, context, &mut self.sealed)?;
        server_types::write_text(column.server_type(), &self.sealed, out);
        Ok(())
    }

    /// Seals the default of a column that the rows leave out.
    fn add(&mut self, index: usize, out: &mut Vec<u8>) -> Result<(), ValueError> {
        let (id, default) = &self.added[index];
        let wanted = (*id, Purpose::Store);
        self.sealed.clear();
        let (loaded, context) = (&self.loaded, &self.context);
        seal_literal::<FormatCode>(loaded, default, wanted, context, &mut self.sealed)?;
        match self.format {
            Format::Binary => out.extend_from_slice(&self.sealed),
            Format::Text => {
                let column = loaded.schema.column(*id);
                server_types::write_text(column.server_type(), &self.sealed, out);
            }
        }
        Ok(())
    }

    fn open(
        &mut self,
        column: &ProtectedColumn,
        content: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), ValueError> {
        self.sealed.clear();
        let sealed = match self.format {
            Format::Binary => content,
            Format::Text => {
                if !server_types::read_text(column.server_type(), content, &mut self.sealed) {
                    return Err(unopened(column));
                }
                &self.sealed
            }
        };
        let value = self.loaded.sealer.open(column.id, sealed);
        let value = value.ok_or_else(|| unopened(column))?;
        values::write(&value, column.logical, self.format, &self.context, out)
    }
}

fn unopened(column: &ProtectedColumn) -> ValueError {
    ValueError {
        sqlstate: SqlState::DATA_CORRUPTED,
        message: session_core::unopened(column),
    }
}
