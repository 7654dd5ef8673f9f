//! Stores in databases of a real PostgreSQL.

#[path = "../../../../tests/it/support/postgres.rs"]
mod server;

use sqlx::{AssertSqlSafe, Connection as _, Executor as _};

use crate::Store;
use adjutant_base::config::Database;
pub(super) use server::Postgres;

impl Postgres {
    /// Returns a store in a new database of this server.
    pub(super) async fn store(&self, name: &str) -> Store {
        sqlx::any::install_default_drivers();
        let mut connection = sqlx::AnyConnection::connect(&self.url("postgres")).await.unwrap();
        connection.execute(AssertSqlSafe(format!("CREATE DATABASE {name}"))).await.unwrap();
        self.another_hub(name)
    }

    /// Returns a further store in an existing database.
    pub(super) fn another_hub(&self, name: &str) -> Store {
        self.hub_of_machine(name, "")
    }

    /// Returns a store of the machine `machine` in an existing database.
    pub(super) fn hub_of_machine(&self, name: &str, machine: &str) -> Store {
        Store::on_machine(Database::Postgres(self.url(name)), machine.to_owned())
    }
}
