//! Fields of protected columns: sealed on their way to the server, opened on their way back.

use std::fmt;
use std::sync::Arc;

use column_value::{Value, ValueError};
use semantics_postgres::{Drawn, OpaqueForms, TextContext, assign};
use session_core::{Loaded, read_literal, seal_literal, seal_together, store};
use sql_plan::{
    ColumnId, CopiedGroup, CopiedMember, Copy, CopyFormat, Literal, OutputKind, Purpose,
};
use sql_rewrite::{ProtectedColumn, ServerType};
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
    /// Groups whose fields are added behind these.
    groups: Vec<CopiedGroup>,
    /// What the row at hand gives to members of groups, by its fields.
    kept: Vec<Option<Value>>,
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
        let members = copy.groups.iter().flat_map(|group| &group.members);
        let is_kept = |field| {
            members
                .clone()
                .any(|own| *own == CopiedMember::Field(field))
        };
        let columns = copy.fields.iter().zip(&copy.columns).enumerate();
        let columns = columns.map(|(field, (kind, name))| Column {
            name: name.clone(),
            is_protected: matches!(kind, OutputKind::Sealed(_)),
            is_kept: is_kept(field),
        });
        let holders = copy.groups.iter().map(|group| &group.holder);
        let last = copy.groups.iter().filter_map(|group| group.last.as_ref());
        let added = copy.added.iter().map(|(id, _)| id);
        let added = added.chain(holders).chain(last);
        let added = added.map(|id| loaded.schema.column(*id).column.clone());
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
            groups: copy.groups.clone(),
            kept: vec![None; copy.fields.len()],
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

    /// Seals or opens a field. False: it is NULL.
    ///
    /// # Errors
    /// It is not a value of the column, or does not open.
    pub(crate) fn convert(
        &mut self,
        field: usize,
        content: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<bool, ValueError> {
        if let Some(index) = field.checked_sub(self.kinds.len()) {
            return match index.checked_sub(self.added.len()) {
                None => self.add(index, out).map(|()| true),
                Some(group) if group < self.groups.len() => self.add_group(group, out),
                Some(_) => {
                    self.sealed.clear();
                    self.write_sealed(ServerType::Bytes, out);
                    Ok(true)
                }
            };
        }
        let Some(OutputKind::Sealed(id)) = self.kinds.get(field) else {
            out.extend_from_slice(content);
            return Ok(true);
        };
        let loaded = Arc::clone(&self.loaded);
        let column = loaded.schema.column(*id);
        match (self.into_server, loaded.schema.is_member(*id)) {
            (true, true) => {
                self.kept[field] = Some(self.read(column, content)?);
                Ok(false)
            }
            (true, false) => self.seal(column, content, out).map(|()| true),
            (false, _) => self.open(column, content, out),
        }
    }

    fn read(&self, column: &ProtectedColumn, content: &[u8]) -> Result<Value, ValueError> {
        let logical = column.logical;
        let value = values::read(content, logical, self.format, &self.context)?;
        assign(value, logical, logical, &self.context)
    }

    /// Seals the members of a group together. False: NULL stands for them.
    fn add_group(&mut self, index: usize, out: &mut Vec<u8>) -> Result<bool, ValueError> {
        let CopiedGroup {
            holder, members, ..
        } = &self.groups[index];
        let loaded = Arc::clone(&self.loaded);
        let group = loaded.schema.group_of(*holder);
        let columns = group.map(|own| own.members.as_slice()).unwrap_or_default();
        let mut values = Vec::with_capacity(members.len());
        for (member, id) in members.iter().zip(columns) {
            values.push(match member {
                CopiedMember::Field(field) => self.kept[*field].take(),
                CopiedMember::Default(literal) => {
                    let logical = loaded.schema.column(*id).logical;
                    let (value, from) = read_literal(literal, logical, &self.context)?;
                    let value = value.map(|value| assign(value, from, logical, &self.context));
                    value.transpose()?
                }
            });
        }
        self.sealed.clear();
        if !seal_together(&loaded, *holder, &values, &mut self.sealed)? {
            return Ok(false);
        }
        self.write_sealed(loaded.schema.column(*holder).server_type(), out);
        Ok(true)
    }

    /// Writes what was sealed last.
    fn write_sealed(&self, server_type: ServerType, out: &mut Vec<u8>) {
        match self.format {
            Format::Binary => out.extend_from_slice(&self.sealed),
            Format::Text => server_types::write_text(server_type, &self.sealed, out),
        }
    }

    fn seal(
        &mut self,
        column: &ProtectedColumn,
        content: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), ValueError> {
        let value = self.read(column, content)?;
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
        let (loaded, context) = (Arc::clone(&self.loaded), &self.context);
        seal_literal::<FormatCode>(&loaded, default, wanted, context, &mut self.sealed)?;
        self.write_sealed(loaded.schema.column(wanted.0).server_type(), out);
        Ok(())
    }

    fn open(
        &mut self,
        column: &ProtectedColumn,
        content: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<bool, ValueError> {
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
        let Some(value) = value.map_err(|_| unopened(column))? else {
            return Ok(false);
        };
        values::write(&value, column.logical, self.format, &self.context, out)?;
        Ok(true)
    }
}

fn unopened(column: &ProtectedColumn) -> ValueError {
    ValueError {
        sqlstate: SqlState::DATA_CORRUPTED,
        message: session_core::unopened(column),
    }
}
