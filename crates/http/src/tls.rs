//! TLS of the listener: a certificate and its key in files that are read again when they change.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, version};
use tokio_rustls::TlsAcceptor;

use adjutant_base::config::HttpConfig;
use adjutant_base::mutex::lock;

/// A certificate that cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("`tls_certificate` and `tls_key` belong together, and one of them is missing")]
    Half,
    #[error("`tls_names` is empty, so no browser and no client could name the hub")]
    NoNames,
    #[error("{} cannot be read: {source}", path.display())]
    File { path: PathBuf, source: pem::Error },
    #[error("{} belongs to another user than the hub, or others can read it; it needs mode 0600", path.display())]
    Open { path: PathBuf },
    #[error("the certificate in {} cannot be used with the key: {source}", path.display())]
    Pair { path: PathBuf, source: rustls::Error },
}

/// Device, inode, change time and size of the two files.
type Stamp = [(u64, u64, i64, i64, u64); 2];

/// The certificate of the files as they are.
#[derive(Debug)]
struct Files {
    certificate: PathBuf,
    key: PathBuf,
    provider: Arc<CryptoProvider>,
    current: Mutex<(Option<Stamp>, Arc<CertifiedKey>)>,
}

/// Returns the acceptor of TLS connections; `None` if the hub serves no TLS.
pub(crate) fn acceptor(config: &HttpConfig) -> Result<Option<TlsAcceptor>, Error> {
    let Some((certificate, key)) = files(config)? else { return Ok(None) };
    let provider = Arc::new(ring::default_provider());
    let stamp = stamp(&certificate, &key).ok();
    let pair = read(&certificate, &key, &provider)?;
    let path = certificate.clone();
    let files = Files { certificate, key, provider: provider.clone(), current: Mutex::new((stamp, pair)) };
    let mut server = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&version::TLS13, &version::TLS12])
        .map_err(|source| Error::Pair { path, source })?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(files));
    server.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Some(TlsAcceptor::from(Arc::new(server))))
}

/// Returns the certificate in the form of DER that a hub with this configuration would serve; `None` without TLS.
///
/// # Errors
/// Fails if the hub could not serve it, as with the key of another certificate.
pub fn served_certificate(config: &HttpConfig) -> Result<Option<Vec<u8>>, Error> {
    let Some((certificate, key)) = files(config)? else { return Ok(None) };
    let pair = read(&certificate, &key, &ring::default_provider())?;
    Ok(pair.end_entity_cert().ok().map(|own| own.to_vec()))
}

/// Returns the files of the certificate and of its key; `None` without TLS.
fn files(config: &HttpConfig) -> Result<Option<(PathBuf, PathBuf)>, Error> {
    let files = match (&config.tls_certificate, &config.tls_key) {
        (None, None) => return Ok(None),
        (Some(certificate), Some(key)) => (certificate.clone(), key.clone()),
        _ => return Err(Error::Half),
    };
    if config.tls_names.is_empty() {
        return Err(Error::NoNames);
    }
    Ok(Some(files))
}

fn read(certificate: &Path, key: &Path, provider: &CryptoProvider) -> Result<Arc<CertifiedKey>, Error> {
    let fault = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::File { path, source }
    };
    let found = fs::metadata(key).map_err(|error| fault(key)(pem::Error::Io(error)))?;
    if found.mode() & 0o077 != 0 || found.uid() != rustix::process::geteuid().as_raw() {
        return Err(Error::Open { path: key.to_owned() });
    }
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(fault(certificate))?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(fault(key))?;
    let pair = CertifiedKey::from_der(chain, key, provider);
    pair.map(Arc::new).map_err(|source| Error::Pair { path: certificate.to_owned(), source })
}

fn stamp(certificate: &Path, key: &Path) -> io::Result<Stamp> {
    let of = |path: &Path| {
        fs::metadata(path)
            .map(|found| (found.dev(), found.ino(), found.ctime(), found.ctime_nsec(), found.size()))
    };
    Ok([of(certificate)?, of(key)?])
}

impl ResolvesServerCert for Files {
    /// Returns the present certificate. While the files do not fit together, as between the replacements of both, it is the
    /// last one that did.
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let found = stamp(&self.certificate, &self.key).ok();
        let mut current = lock(&self.current);
        if found.is_some() && found != current.0 {
            match read(&self.certificate, &self.key, &self.provider) {
                Ok(pair) => {
                    tracing::info!("the changed certificate is served from now on");
                    current.1 = pair;
                }
                Err(error) => tracing::error!(%error, "the last certificate is served"),
            }
            current.0 = found;
        }
        Some(current.1.clone())
    }
}
