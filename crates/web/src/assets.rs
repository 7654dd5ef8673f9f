//! The style sheet, the script, the font and the icon, which are compiled in. The names of all but the style sheet contain a
//! hash of their content, so that a browser may keep them for ever.
//!
//! Each page contains the style sheet: a browser paints nothing without it, and a second request took half of the time to
//! the first paint (`docs/performance.md`).

use std::borrow::Cow;
use std::sync::LazyLock;

use axum::Router;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use sha2::{Digest, Sha256};

use adjutant_base::text::hex;

/// The folder of the served files.
pub(super) const FOLDER: &str = "/static/";

/// A file that pages refer to.
pub(super) struct Asset {
    /// The absolute path of the served file.
    pub(super) path: String,
    kind: &'static str,
    bytes: Cow<'static, [u8]>,
}

/// The style sheet of every page. It names the font by its path.
pub(super) static STYLE: LazyLock<String> =
    LazyLock::new(|| include_str!("../static/style.css").replace("inter.woff2", &FONT.path));
/// The source of style that a page's policy allows: this sheet (Content Security Policy 3, section 2.3.1).
pub(super) static STYLE_SOURCE: LazyLock<String> =
    LazyLock::new(|| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(STYLE.as_bytes()))));
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
        Self { path: format!("{FOLDER}{stem}-{hash}.{extension}"), kind, bytes }
    }
}

pub(super) fn router() -> Router {
    [&FONT, &SCRIPT, &ICON, &ICON_PENDING, &MANIFEST].into_iter().fold(Router::new(), |router, asset| {
        let asset: &'static Asset = asset;
        router.route(&asset.path, get(move || async move { respond(asset) }))
    })
}

fn respond(asset: &'static Asset) -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, asset.kind),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // An icon that is opened directly is a document, which must not be able to act either.
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'"),
    ];
    (headers, &*asset.bytes)
}
