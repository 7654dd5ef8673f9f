//! The certificate that the hub serves.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;

use super::DoctorContext;
use super::check_result::CheckResult;
use adjutant_net::certificate::Certificate;

/// A certificate that ends so soon should have been renewed. Of one with a short life it is the last third.
const RENEWAL_TIME: Duration = Duration::from_hours(14 * 24);

const RENEW: &str = "renew the certificate; the hub reads the files again when they change";

/// Checks the files of `tls_certificate` and `tls_key`: that they fit together, the names and the time.
pub(super) fn served(context: &DoctorContext) -> CheckResult {
    let http = &context.config.http;
    let found = adjutant_http::served_certificate(http).map_err(|error| error.to_string());
    let certificate = match found.map(|der| der.map(|der| Certificate::parse(&der))) {
        Ok(None) => return CheckResult::skipped("the hub serves no TLS itself"),
        Ok(Some(Ok(certificate))) => certificate,
        Ok(Some(Err(error))) => return unusable(&error.to_string()),
        Err(error) => return unusable(&error),
    };
    if let Some(name) = http.tls_names.iter().find(|name| !certificate.is_for(name)) {
        return CheckResult::fail(
            format!("the certificate is not for `{name}`, which `tls_names` has, so clients refuse it there"),
            "make a certificate with that name (subjectAltName), or correct `tls_names` below [http] in config.toml",
        );
    }
    let now = SystemTime::now();
    let Some(valid) = certificate.validity() else { return unusable("the certificate is never valid") };
    if now < valid.start {
        let from = format!("the certificate is not valid before {}", date(valid.start));
        return CheckResult::fail(from, "check the clock of this machine, or make a new certificate");
    }
    let until = date(valid.end);
    let Ok(left) = valid.end.duration_since(now) else {
        return CheckResult::fail(format!("the certificate expired on {until}, so clients refuse it"), RENEW);
    };
    let life = valid.end.duration_since(valid.start).unwrap_or_default();
    if left < RENEWAL_TIME.min(life / 3) {
        return CheckResult::warn(format!("the certificate expires on {until}"), RENEW);
    }
    let signed = if certificate.is_self_signed() {
        "; it is self-signed, so each client must be told to trust it"
    } else {
        ""
    };
    CheckResult::ok(format!(
        "the certificate for {} is valid until {until}{signed}",
        http.tls_names.join(", ")
    ))
}

fn unusable(reason: &str) -> CheckResult {
    CheckResult::fail(
        format!("the hub cannot serve TLS: {reason}"),
        "correct tls_certificate, tls_key and tls_names under [http] in config.toml",
    )
}

/// Returns the day of a time, in UTC.
fn date(time: SystemTime) -> String {
    Timestamp::try_from(time)
        .map_or_else(|_| "a day after the year 9999".to_owned(), |at| at.strftime("%F").to_string())
}
