//! PostgreSQL over TLS.

use super::Postgres;
use crate::{Error, Store};
use adjutant_base::config::Database;

fn store(server: &Postgres, trusted: &str) -> Store {
    Store::new(Database::Postgres(server.tls_url(trusted)))
}

#[tokio::test]
async fn a_server_with_a_trusted_certificate_is_used_over_tls() {
    let Some(server) = Postgres::start_with_tls() else { return };
    let store = store(&server, "server");
    store.open().await.unwrap();
    let mut connection = store.read().await.unwrap();
    let query = "SELECT CAST(ssl AS INTEGER) FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    let encrypted: i32 = sqlx::query_scalar(query).fetch_one(&mut *connection).await.unwrap();
    assert_eq!(encrypted, 1);
}

#[tokio::test]
async fn a_server_with_an_unknown_certificate_is_refused_with_the_cause() {
    let Some(server) = Postgres::start_with_tls() else { return };
    let refused = store(&server, "other").open().await.unwrap_err();
    assert!(matches!(refused, Error::Unreachable(_)), "{refused:?}");
    assert_eq!(refused.cause().as_deref(), Some("invalid peer certificate: UnknownIssuer"));
}
