//! A running server that the user names by a URL, taken from an environment variable since it may
//! contain a password. The lab works in a schema or database that it creates there and removes
//! afterwards.
//!
//! No error shows the URL or a part of it.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use lab::answer::Answers;
use lab::engine::{
    Cause, Connection, Durability, Engine, EngineError, EngineOptions, Profile, Server,
};
use workloads::Dialect;

use crate::mysql::MySqlSession;
use crate::names::{MYSQL, POSTGRES};
use crate::postgres::PostgresSession;
use crate::server::{Session, drawn_name};
use crate::server_engine::ServerConnection;

/// An engine for each environment variable that the user names.
pub(crate) fn family(options: &EngineOptions) -> Vec<UrlEngine> {
    let engine = |(product, variable): &(String, String)| {
        let dialect = match product.as_str() {
            POSTGRES => Dialect::Postgres,
            MYSQL => Dialect::Mysql,
            _ => return None,
        };
        Some(UrlEngine {
            profile: Profile {
                name: format!("{product}-url"),
                description: "a server that runs already, as it is set".to_owned(),
                family: format!("{product}-url"),
                dialect,
                base: Some("sqlite".to_owned()),
                durability: Durability::Full,
                cipher: None,
                control: false,
            },
            variable: variable.clone(),
            own: Mutex::new(None),
        })
    };
    options.url_variables.iter().filter_map(engine).collect()
}

/// A server that the lab does not run.
pub(crate) struct UrlEngine {
    profile: Profile,
    variable: String,
    /// The lab's schema or database, while it exists.
    own: Mutex<Option<String>>,
}

impl UrlEngine {
    fn url(&self) -> Result<String, Cause> {
        let variable = &self.variable;
        let url = std::env::var(variable);
        url.map_err(|_| format!("the variable {variable} holds no URL: set it").into())
    }

    /// Logs in, using the schema or database if given.
    fn connect(&self, own: Option<&str>) -> Result<Box<dyn Session>, Cause> {
        let variable = &self.variable;
        let misshapen = |form: &str| -> Cause {
            format!("the variable {variable} holds no URL of the form {form}").into()
        };
        if self.profile.dialect == Dialect::Postgres {
            let config = self.url()?.parse();
            let form = "postgresql://user:password@host/database";
            let config: postgres::Config = config.map_err(|_| misshapen(form))?;
            let mut session = PostgresSession::connect(&config)?;
            if let Some(own) = own {
                session.run(
                    &format!("SET search_path TO {own}"),
                    &mut Answers::default(),
                )?;
            }
            return Ok(Box::new(session));
        }
        let options = mysql::Opts::from_url(&self.url()?);
        let options = options.map_err(|_| misshapen("mysql://user:password@host"))?;
        let mut builder = mysql::OptsBuilder::from_opts(options).prefer_socket(false);
        if let Some(own) = own {
            builder = builder.db_name(Some(own));
        }
        Ok(Box::new(MySqlSession::connect(builder.into())?))
    }

    fn order(&self, statement: &str) -> Result<(), Cause> {
        let mut session = self.connect(None)?;
        session.run(statement, &mut Answers::default())?;
        session.close()
    }

    fn kind(&self) -> &'static str {
        match self.profile.dialect {
            Dialect::Postgres => "SCHEMA",
            Dialect::Mysql | Dialect::Sqlite => "DATABASE",
        }
    }

    fn remove(&self) -> Result<(), Cause> {
        let schema = self
            .own
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(schema) = schema else {
            return Ok(());
        };
        let with_all = match self.profile.dialect {
            Dialect::Postgres => " CASCADE",
            Dialect::Mysql | Dialect::Sqlite => "",
        };
        let removed = self.order(&format!("DROP {} {schema}{with_all}", self.kind()));
        removed.map_err(|cause| format!("{schema} is left on the server: {cause}").into())
    }
}

impl Engine for UrlEngine {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn missing(&self) -> Option<String> {
        self.url().err().map(|cause| cause.to_string())
    }

    fn server(&self) -> Server {
        Server::Elsewhere
    }

    fn create(&self, _: &Path) -> Result<(), EngineError> {
        let attempt = || -> Result<(), Cause> {
            let schema = format!("strongroom_lab_{}", drawn_name()?);
            self.order(&format!("CREATE {} {schema}", self.kind()))?;
            *self.own.lock().unwrap_or_else(PoisonError::into_inner) = Some(schema);
            Ok(())
        };
        attempt().map_err(EngineError::Create)
    }

    fn open(&self, _: &Path) -> Result<Box<dyn Connection>, EngineError> {
        let schema = self
            .own
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let session = self.connect(schema.as_deref()).map_err(EngineError::Open)?;
        Ok(Box::new(ServerConnection::elsewhere(session)))
    }

    fn stop(&self) -> Result<(), EngineError> {
        self.remove().map_err(EngineError::Close)
    }
}

impl Drop for UrlEngine {
    fn drop(&mut self) {
        // Only the first failure is reported.
        drop(self.remove());
    }
}
