//! The id token: who logged in, as the issuer says with its signature.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::jwk::{Jwk, PublicKeyUse};
use jsonwebtoken::{AlgorithmFamily, DecodingKey, Header, Validation, decode, decode_header};
use serde_json::Value;

use super::metadata::Metadata;
use super::{Claims, Error, signatures};

/// By how much the clocks of hub and issuer may differ.
const LEEWAY: Duration = Duration::from_mins(1);

/// What an id token must say.
pub(super) struct Expected<'a> {
    pub(super) metadata: &'a Metadata,
    pub(super) client_id: &'a str,
    pub(super) nonce: &'a str,
}

/// Returns the claims of a token that one of the issuer's keys signed for this login.
pub(super) fn verify(token: &str, keys: &[Jwk], expected: &Expected<'_>) -> Result<Claims, Error> {
    signatures::install();
    // `none` is no algorithm that the parser knows.
    let header = decode_header(token)
        .map_err(|_| Error::Token("it is not a signed token with an algorithm that the hub knows"))?;
    // Whoever can verify such a token can make one, also with a published key as the shared one.
    if header.alg.family() == AlgorithmFamily::Hmac {
        return Err(Error::Token("it is signed with a shared key, which the hub does not accept"));
    }
    // RFC 7515, section 4.1.11: what these headers change is not known here.
    if header.crit.is_some() {
        return Err(Error::Token("it needs an extension that the hub does not know"));
    }
    let mut validation = Validation::new(header.alg);
    validation.leeway = LEEWAY.as_secs();
    validation.validate_nbf = true;
    validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
    validation.set_issuer(&[&expected.metadata.issuer]);
    validation.set_audience(&[expected.client_id]);

    let mut fault = Error::UnknownKey;
    for key in keys.iter().filter(|key| fits(key, &header)) {
        let Ok(key) = DecodingKey::from_jwk(key) else { continue };
        match decode::<Claims>(token, &key, &validation) {
            Ok(decoded) => return check(decoded.claims, expected).map_err(Error::Token),
            // Without a name, any key may be the one.
            Err(error) if matches!(error.kind(), ErrorKind::InvalidSignature) && header.kid.is_none() => {}
            Err(error) => fault = Error::Token(reason(error.kind())),
        }
    }
    Err(fault)
}

/// Returns whether a key may have signed a token with this header.
fn fits(key: &Jwk, header: &Header) -> bool {
    let is_named = header.kid.is_none() || key.common.key_id == header.kid;
    let signs = matches!(key.common.public_key_use, None | Some(PublicKeyUse::Signature));
    let algorithm = key.common.key_algorithm.map(|algorithm| algorithm.to_string());
    let is_of_algorithm = algorithm.is_none_or(|algorithm| algorithm == format!("{:?}", header.alg));
    is_named && signs && is_of_algorithm
}

/// Checks what the library does not: the claims of OpenID Connect Core 1.0, section 3.1.3.7.
fn check(claims: Claims, expected: &Expected<'_>) -> Result<Claims, &'static str> {
    if claims.get("iss").and_then(Value::as_str) != Some(&expected.metadata.issuer) {
        return Err("another issuer made it");
    }
    let is_for_others = claims.get("aud").and_then(Value::as_array).is_some_and(|all| all.len() > 1);
    match claims.get("azp") {
        Some(party) if party.as_str() != Some(expected.client_id) => return Err("it is for another program"),
        None if is_for_others => {
            return Err("it is for other programs too, and does not say who asked for it");
        }
        _ => {}
    }
    let made =
        claims.get("iat").and_then(Value::as_f64).and_then(|made| Duration::try_from_secs_f64(made).ok());
    let made = made.ok_or("it does not say when it was made")?;
    if made > SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() + LEEWAY {
        return Err("it was made in the future; compare the clocks of both machines");
    }
    if claims.get("nonce").and_then(Value::as_str) != Some(expected.nonce) {
        return Err("it belongs to another login");
    }
    if claims.get("sub").and_then(Value::as_str).is_none_or(str::is_empty) {
        return Err("it names nobody");
    }
    Ok(claims)
}

fn reason(kind: &ErrorKind) -> &'static str {
    match kind {
        ErrorKind::ExpiredSignature => "it has expired; compare the clocks of both machines",
        ErrorKind::ImmatureSignature => "it is not valid yet; compare the clocks of both machines",
        ErrorKind::InvalidIssuer => "another issuer made it",
        ErrorKind::InvalidAudience => "it is for another program",
        ErrorKind::MissingRequiredClaim(_) | ErrorKind::InvalidClaimFormat(_) => {
            "one of `exp`, `nbf`, `iss`, `aud` and `sub` is missing or malformed"
        }
        ErrorKind::InvalidSignature => "its signature is wrong",
        _ => "its algorithm does not fit the issuer's key",
    }
}
