//! Certificates of servers: what is in one, and the trust in those of a file.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

/// Longest time that a certificate may be valid from 1970 on, in seconds: the year 9999, which means "for ever" in one.
const END_OF_TIME: u64 = 253_402_300_800;

/// A certificate, or a file of certificates, that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{} cannot be read: {source}", path.display())]
    File { path: PathBuf, source: pem::Error },
    #[error("{} has no certificate", path.display())]
    None { path: PathBuf },
    #[error("cannot set up TLS on this machine; check its certificates")]
    System,
    #[error("the certificate cannot be parsed: {0}")]
    Unreadable(#[source] rustls::Error),
    #[error("the certificates in {} cannot be trusted: {reason}", path.display())]
    Untrusted { path: PathBuf, reason: String },
}

/// The certificate of a server.
#[derive(Debug)]
pub struct Certificate {
    der: CertificateDer<'static>,
    /// The certificate itself as the only root.
    itself: RootCertStore,
}

impl Certificate {
    /// Parses a certificate in the form of DER.
    pub fn parse(der: &[u8]) -> Result<Self, Error> {
        let der = CertificateDer::from(der.to_vec());
        ParsedCertificate::try_from(&der).map_err(Error::Unreadable)?;
        let mut itself = RootCertStore::empty();
        itself.add(der.clone()).map_err(Error::Unreadable)?;
        Ok(Self { der, itself })
    }

    /// Returns the time in which the certificate is valid; `None` if it is never.
    pub fn validity(&self) -> Option<Range<SystemTime>> {
        // The verifier names the limits of a certificate only when a time is outside of them.
        let time = |seconds: u64| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let instant = |time: UnixTime| SystemTime::UNIX_EPOCH + Duration::from_secs(time.as_secs());
        let start = match self.verify(time(0)) {
            Err(CertificateError::NotValidYetContext { not_before, .. }) => instant(not_before),
            _ => SystemTime::UNIX_EPOCH,
        };
        let end = match self.verify(time(END_OF_TIME)) {
            Err(CertificateError::ExpiredContext { not_after, .. }) => instant(not_after),
            _ => instant(time(END_OF_TIME)),
        };
        (start <= end).then_some(start..end)
    }

    /// Returns whether the certificate is for the host `name`.
    pub fn is_for(&self, name: &str) -> bool {
        ServerName::try_from(name).is_ok_and(|name| self.check_name(&name).is_ok())
    }

    fn check_name(&self, name: &ServerName<'_>) -> Result<(), rustls::Error> {
        verify_server_name(&ParsedCertificate::try_from(&self.der)?, name)
    }

    /// Returns whether nobody but its own key signed the certificate, so that no program trusts it unasked.
    pub fn is_self_signed(&self) -> bool {
        let Some(validity) = self.validity() else { return false };
        let start = validity.start.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        // `Other` is one that is made as an authority, as `openssl req -x509` does; it is found before the signature is read.
        matches!(self.verify(UnixTime::since_unix_epoch(start)), Ok(()) | Err(CertificateError::Other(_)))
    }

    /// Verifies the certificate at `now` as one that its own key signed.
    fn verify(&self, now: UnixTime) -> Result<(), CertificateError> {
        let algorithms = ring::default_provider().signature_verification_algorithms.all;
        let parsed = ParsedCertificate::try_from(&self.der).map_err(|_| CertificateError::BadEncoding)?;
        match verify_server_cert_signed_by_trust_anchor(&parsed, &self.itself, &[], now, algorithms) {
            Ok(()) => Ok(()),
            Err(rustls::Error::InvalidCertificate(error)) => Err(error),
            Err(_) => Err(CertificateError::BadEncoding),
        }
    }

    /// Fails if the certificate is not valid at `now`.
    fn valid_at(&self, now: UnixTime) -> Result<(), rustls::Error> {
        match self.verify(now) {
            Err(
                error @ (CertificateError::ExpiredContext { .. }
                | CertificateError::NotValidYetContext { .. }),
            ) => Err(rustls::Error::InvalidCertificate(error)),
            _ => Ok(()),
        }
    }
}

/// The trust in the certificates of a file: they sign that of a server, or are that of a server.
#[derive(Debug)]
struct TrustedFile {
    authorities: Arc<WebPkiServerVerifier>,
    listed: Vec<CertificateDer<'static>>,
}

/// Returns TLS that trusts the certificates in the PEM file at `path` and no others.
pub(super) fn trusting(path: &Path) -> Result<ClientConfig, Error> {
    let unreadable = |source| Error::File { path: path.to_owned(), source };
    let untrusted =
        |error: &dyn std::fmt::Display| Error::Untrusted { path: path.to_owned(), reason: error.to_string() };
    let listed = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(unreadable)?;
    if listed.is_empty() {
        return Err(Error::None { path: path.to_owned() });
    }
    let mut roots = RootCertStore::empty();
    for certificate in &listed {
        roots.add(certificate.clone()).map_err(|error| untrusted(&error))?;
    }
    let provider = Arc::new(ring::default_provider());
    let authorities = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone());
    let authorities = authorities.build().map_err(|error| untrusted(&error))?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| untrusted(&error))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(TrustedFile { authorities, listed }))
        .with_no_client_auth();
    Ok(config)
}

impl ServerCertVerifier for TrustedFile {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified = self.authorities.verify_server_cert(certificate, intermediates, name, ocsp, now);
        if verified.is_ok() || !self.listed.iter().any(|listed| listed == certificate) {
            return verified;
        }
        // A self-signed certificate is often made as an authority, which the usual check takes from no server.
        let certificate = Certificate::parse(certificate)
            .map_err(|_| rustls::Error::InvalidCertificate(CertificateError::BadEncoding))?;
        certificate.valid_at(now)?;
        certificate.check_name(name)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.authorities.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.authorities.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.authorities.supported_verify_schemes()
    }
}
