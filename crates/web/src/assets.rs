//! The style sheets, the script, the font and the icon, which are compiled in. The name of each served file contains a hash
//! of its content, so that a browser may keep it for ever.
//!
//! Each page contains the style sheet of its frame, so that a browser paints the frame before it has loaded the other one
//! (`docs/performance.md`).

use std::borrow::Cow;
use std::sync::{LazyLock, OnceLock};

use axum::Router;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::compression;
use adjutant_base::text::hex;

/// The folder of the served files.
pub(super) const FOLDER: &str = "/static/";

/// A file that pages refer to.
pub(super) struct Asset {
    /// The absolute path of the served file.
    pub(super) path: String,
    kind: &'static str,
    bytes: Cow<'static, [u8]>,
    /// The bytes in gzip, for a text, from the first request on.
    compressed: OnceLock<Option<Vec<u8>>>,
}

/// The style sheet of the frame. It names the font by its path.
pub(super) static FRAME_STYLE: LazyLock<String> =
    LazyLock::new(|| include_str!("../static/frame.css").replace("inter.woff2", &FONT.path));
/// The source of style within a page that its policy allows: this sheet (Content Security Policy 3, section 2.3.1).
pub(super) static FRAME_STYLE_SOURCE: LazyLock<String> =
    LazyLock::new(|| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(FRAME_STYLE.as_bytes()))));
/// The style sheet of what the frame surrounds.
pub(super) static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("style", "css", "text/css; charset=utf-8", include_bytes!("../static/style.css").as_slice())
});
/// A part of Inter; `static/inter-license.txt` says which, and its licence.
pub(super) static FONT: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("inter", "woff2", "font/woff2", &include_bytes!("../static/inter.woff2")[..])
});
pub(super) static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    // Without its comments, which are a quarter of the bytes that the first paint would load.
    let lines = include_str!("../static/app.js").lines().filter(|line| !line.trim_start().starts_with("//"));
    let code: String = lines.flat_map(|line| [line, "\n"]).collect();
    Asset::new("app", "js", "text/javascript; charset=utf-8", code.into_bytes())
});
const ICON_TEXT: &str = include_str!("../static/icon.svg");
pub(super) static ICON: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("icon", "svg", "image/svg+xml", ICON_TEXT.as_bytes()));
/// The icon of a tab while a question is pending.
pub(super) static ICON_PENDING: LazyLock<Asset> = LazyLock::new(|| {
    let dot =
        "<circle cx=\"25\" cy=\"7\" r=\"6\" fill=\"#e5484d\" stroke=\"#fff\" stroke-width=\"1.5\"/></svg>";
    Asset::new("icon-pending", "svg", "image/svg+xml", ICON_TEXT.replace("</svg>", dot).into_bytes())
});
/// Makes the console installable on a phone or a desktop.
pub(super) static MANIFEST: LazyLock<Asset> = LazyLock::new(|| {
    let icon = json!({"src": ICON.path, "sizes": "any", "type": "image/svg+xml", "purpose": "any"});
    let manifest = json!({
        "name": "Adjutant", "short_name": "Adjutant", "start_url": "/", "display": "standalone",
        "background_color": "#fbfbfa", "theme_color": "#0e5f57", "icons": [icon],
    });
    Asset::new("manifest", "webmanifest", "application/manifest+json", manifest.to_string().into_bytes())
});

impl Asset {
    fn new(stem: &str, extension: &str, kind: &'static str, bytes: impl Into<Cow<'static, [u8]>>) -> Self {
        let bytes = bytes.into();
        let hash = &hex::sha256(&*bytes)[..12];
        Self { path: format!("{FOLDER}{stem}-{hash}.{extension}"), kind, bytes, compressed: OnceLock::new() }
    }

    /// Returns the bytes in gzip; `None` for what is compressed already, and for the small icons.
    fn compressed(&self) -> Option<&[u8]> {
        if !self.kind.starts_with("text/") {
            return None;
        }
        self.compressed
            .get_or_init(|| compression::compressed(&self.bytes, compression::BEST).ok())
            .as_deref()
    }
}

pub(super) fn router() -> Router {
    [&STYLE, &FONT, &SCRIPT, &ICON, &ICON_PENDING, &MANIFEST].into_iter().fold(
        Router::new(),
        |router, asset| {
            let asset: &'static Asset = asset;
            router.route(&asset.path, get(move |headers: HeaderMap| async move { respond(asset, &headers) }))
        },
    )
}

fn respond(asset: &'static Asset, request: &HeaderMap) -> Response {
    let headers = [
        (header::CONTENT_TYPE, asset.kind),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // An icon that is opened directly is a document, which must not be able to act either.
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'"),
    ];
    let Some(compressed) = asset.compressed() else { return (headers, &*asset.bytes).into_response() };
    let vary = [(header::VARY, "Accept-Encoding")];
    if !compression::accepts_gzip(request) {
        return (headers, vary, &*asset.bytes).into_response();
    }
    (headers, vary, [(header::CONTENT_ENCODING, "gzip")], compressed).into_response()
}
