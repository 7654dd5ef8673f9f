//! Parts of a request that pages read: the query of its address and the fields of its form.

use axum::Form;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::csrf;
use super::error::Failure;

/// The query of an address.
pub(super) struct Address<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Address<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let query = Query::from_request_parts(parts, state).await;
        query.map(|Query(value)| Self(value)).map_err(|_| Failure::BadRequest("The address is not readable."))
    }
}

/// The query of a page with a search field.
#[derive(Deserialize)]
pub(super) struct Search {
    #[serde(default)]
    pub(super) q: String,
}

/// The fields of a submitted form. A browser sends a line break as CR LF; here it is LF.
#[derive(Debug, Default)]
pub(super) struct Fields(pub(super) Vec<(String, String)>);

impl Fields {
    /// Returns the value of a field; empty if there is none.
    pub(super) fn get(&self, name: &str) -> &str {
        self.all(name).next().unwrap_or_default()
    }

    /// Returns all values of a field.
    pub(super) fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    /// Returns the trimmed value of a field; `None` if it is empty.
    pub(super) fn filled(&self, name: &str) -> Option<String> {
        Some(self.get(name).trim()).filter(|value| !value.is_empty()).map(ToOwned::to_owned)
    }
}

impl<S: Send + Sync> FromRequest<S> for Fields {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failure> {
        let form = Form::<Vec<(String, String)>>::from_request(request, state).await;
        let Form(pairs) = form.map_err(|rejection| match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => Failure::TooLarge,
            _ => Failure::BadRequest("The form's fields are not readable text."),
        })?;
        Ok(Self(pairs.into_iter().map(|(name, value)| (name, value.replace("\r\n", "\n"))).collect()))
    }
}

/// The fields of a form that changes something. Its CSRF token is valid.
pub(super) struct SignedForm(pub(super) Fields);

impl<S: Send + Sync> FromRequest<S> for SignedForm {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failure> {
        let fields = Fields::from_request(request, state).await?;
        csrf::check(fields.get(csrf::FIELD))?;
        Ok(Self(fields))
    }
}
