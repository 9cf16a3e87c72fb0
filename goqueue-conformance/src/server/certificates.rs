use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};

/// A certificate authority of its own and a certificate that it has signed for `localhost`, and for
/// no other name, as files. Removed when it is dropped.
#[derive(Debug)]
pub struct Certificates(PathBuf);

impl Certificates {
    /// Makes keys and files.
    ///
    /// # Panics
    /// When the files cannot be written.
    #[must_use]
    pub fn for_localhost() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let (pid, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let made = Self(std::env::temp_dir().join(format!("gq-tls-{pid}-{count}")));
        fs::create_dir_all(&made.0).expect("a directory can be made");
        made.write().expect("certificates can be made");
        made
    }

    fn write(&self) -> Result<(), Box<dyn std::error::Error>> {
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let name = (DnType::CommonName, "an authority of a test");
        authority.distinguished_name.push(name.0, name.1);
        let key = KeyPair::generate()?;
        fs::write(self.ca(), authority.self_signed(&key)?.pem())?;
        let authority = Issuer::new(authority, key);

        let mut server = CertificateParams::new(["localhost".into()])?;
        server
            .distinguished_name
            .push(DnType::CommonName, "localhost");
        let key = KeyPair::generate()?;
        fs::write(self.cert(), server.signed_by(&key, &authority)?.pem())?;
        fs::write(self.key(), key.serialize_pem())?;
        Ok(())
    }

    /// The authority's certificate.
    #[must_use]
    pub fn ca(&self) -> PathBuf {
        self.file("ca.pem")
    }

    /// The certificate for `localhost`.
    #[must_use]
    pub fn cert(&self) -> PathBuf {
        self.file("cert.pem")
    }

    /// Its key.
    #[must_use]
    pub fn key(&self) -> PathBuf {
        self.file("key.pem")
    }

    fn file(&self, name: &str) -> PathBuf {
        Path::join(&self.0, name)
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
