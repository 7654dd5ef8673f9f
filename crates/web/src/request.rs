//! Parts of a request that pages read: the query of its address and the fields of its form.

use axum::Form;
use axum::extract::multipart::MultipartError;
use axum::extract::{FromRequest, FromRequestParts, Multipart, Query, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::csrf::{self, Forms};
use super::error::Failure;
use adjutant_questions::{MAX_FILES, NewFile};

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
        Forms::Console.check(fields.get(csrf::FIELD))?;
        Ok(Self(fields))
    }
}

/// The fields of a form that changes something and may have files. Its CSRF token is valid.
pub(super) struct SignedUpload(pub(super) Fields, pub(super) Vec<NewFile>);

impl<S: Send + Sync> FromRequest<S> for SignedUpload {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failure> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if !kind.is_some_and(|kind| kind.starts_with("multipart/form-data")) {
            let SignedForm(fields) = SignedForm::from_request(request, state).await?;
            return Ok(Self(fields, Vec::new()));
        }
        let unreadable = |_| Failure::BadRequest("The form's fields are not readable.");
        let mut parts = Multipart::from_request(request, state).await.map_err(unreadable)?;
        let (mut pairs, mut files) = (Vec::new(), Vec::new());
        while let Some(part) = parts.next_field().await.map_err(|error| broken(&error))? {
            let name = part.name().unwrap_or_default().to_owned();
            let Some(file) = part.file_name().map(ToOwned::to_owned) else {
                pairs.push((name, part.text().await.map_err(|error| broken(&error))?.replace("\r\n", "\n")));
                continue;
            };
            let bytes = part.bytes().await.map_err(|error| broken(&error))?;
            // A browser sends a nameless file for a field without any. One more than fits is enough to be refused.
            if !(file.is_empty() && bytes.is_empty()) && files.len() <= MAX_FILES {
                files.push(NewFile::new(&file, &bytes));
            }
        }
        let fields = Fields(pairs);
        Forms::Console.check(fields.get(csrf::FIELD))?;
        Ok(Self(fields, files))
    }
}

fn broken(error: &MultipartError) -> Failure {
    match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Failure::TooLarge,
        _ => Failure::BadRequest("The form's fields are not readable."),
    }
}
