//! Certificates that openssl makes for hubs with TLS.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use jiff::Timestamp;

/// The name that the certificates are for, if a test names no other.
pub(crate) const NAME: &str = "hub.example.org";

fn openssl(folder: &Path, arguments: &[&str]) {
    let made = Command::new("openssl").args(arguments).current_dir(folder).output();
    let made = made.expect("no openssl: apt-get install openssl");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

fn protect(folder: &Path, name: &str) {
    fs::set_permissions(folder.join(format!("{name}.key")), fs::Permissions::from_mode(0o600)).unwrap();
}

/// Makes a self-signed certificate for [`NAME`], the way that guides show: `NAME.key` and `NAME.pem` in `folder`.
pub(crate) fn self_signed(folder: &Path, name: &str) {
    let (key, pem) = (format!("{name}.key"), format!("{name}.pem"));
    let kind = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    let subject = ["-subj", "/CN=hub.example.org", "-addext", "subjectAltName=DNS:hub.example.org"];
    openssl(folder, &[&kind[..], &["-days", "90"], &subject, &["-keyout", &key, "-out", &pem]].concat());
    protect(folder, name);
}

/// Makes a certificate for `host` that the one of `authority` signs, or its own key if that is the same name, valid
/// between two times.
pub(crate) fn signed(folder: &Path, name: &str, host: &str, authority: &str, [from, to]: [Timestamp; 2]) {
    const SETTINGS: &str = "[ca]\ndefault_ca = d\n[d]\ndatabase = index.txt\nnew_certs_dir = .\nrand_serial = yes\n\
        default_md = sha256\npolicy = p\ncopy_extensions = copy\nunique_subject = no\n[p]\ncommonName = supplied\n";
    fs::write(folder.join("ca.cnf"), SETTINGS).unwrap();
    fs::write(folder.join("index.txt"), "").unwrap();
    let (key, request, pem) = (format!("{name}.key"), format!("{name}.csr"), format!("{name}.pem"));
    let kind = ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    let (subject, names) = (format!("/CN={host}"), format!("subjectAltName=DNS:{host}"));
    let subject = ["-subj", &subject, "-addext", &names];
    openssl(folder, &[&kind[..], &subject, &["-keyout", &key, "-out", &request]].concat());
    protect(folder, name);
    let time = |at: Timestamp| at.strftime("%Y%m%d%H%M%SZ").to_string();
    let (from, to) = (time(from), time(to));
    let (signer, signer_key) = (format!("{authority}.pem"), format!("{authority}.key"));
    let signer = if authority == name {
        ["-selfsign", "-keyfile", &key].to_vec()
    } else {
        ["-cert", &signer, "-keyfile", &signer_key].to_vec()
    };
    let sign = ["ca", "-batch", "-notext", "-config", "ca.cnf", "-startdate", &from, "-enddate", &to];
    openssl(folder, &[&sign[..], &signer, &["-in", &request, "-out", &pem]].concat());
}
