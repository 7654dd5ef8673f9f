//! The style sheet, the script and the icon: compiled in, and named by their content so that a browser may
//! keep them for good.

use std::fmt::Write as _;
use std::sync::LazyLock;

use axum::Router;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use sha2::{Digest, Sha256};

/// Where they are served.
pub(super) const FOLDER: &str = "/static/";

/// One file that pages refer to.
pub(super) struct Asset {
    /// The absolute path it is served at.
    pub(super) path: String,
    kind: &'static str,
    text: &'static str,
}

pub(super) static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("style", "css", "text/css; charset=utf-8", include_str!("../../static/style.css"))
});
pub(super) static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("app", "js", "text/javascript; charset=utf-8", include_str!("../../static/app.js"))
});
pub(super) static ICON: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("icon", "svg", "image/svg+xml", include_str!("../../static/icon.svg")));

impl Asset {
    fn new(stem: &str, extension: &str, kind: &'static str, text: &'static str) -> Self {
        let mut hash = String::new();
        for byte in &Sha256::digest(text)[..6] {
            let _ = write!(hash, "{byte:02x}");
        }
        Self { path: format!("{FOLDER}{stem}-{hash}.{extension}"), kind, text }
    }
}

pub(super) fn router() -> Router {
    [&STYLE, &SCRIPT, &ICON].into_iter().fold(Router::new(), |router, asset| {
        let asset: &'static Asset = asset;
        router.route(&asset.path, get(move || async move { respond(asset) }))
    })
}

fn respond(asset: &'static Asset) -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, asset.kind),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // An icon opened on its own is a document; it must not be able to do anything either.
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'"),
    ];
    (headers, asset.text)
}
