//! What the other modules have to know of this workspace, as cargo tells it.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use cargo_metadata::{Metadata, MetadataCommand, Package};

/// The crate whose features choose the drivers.
pub const FACADE: &str = "goqueue";

/// The features of the examples and guides that need a MySQL. Not default ones: trying an example
/// should not have to build it.
pub const WITH_MYSQL: &str = "goqueue-examples/mysql,goqueue-guides/mysql";

/// The workspace around the current directory.
#[derive(Debug)]
pub struct Workspace(Metadata);

impl Workspace {
    /// Asks cargo.
    ///
    /// # Errors
    ///
    /// When the current directory is in no workspace, or a manifest is broken.
    pub fn read() -> Result<Self, cargo_metadata::Error> {
        MetadataCommand::new()
            .cargo_path(cargo())
            .no_deps()
            .exec()
            .map(Self)
    }

    /// The crates, in the order cargo lists them.
    #[must_use]
    pub fn packages(&self) -> Vec<&Package> {
        self.0.workspace_packages()
    }

    /// The names of the crates.
    #[must_use]
    pub fn package_names(&self) -> Vec<String> {
        self.packages()
            .iter()
            .map(|package| package.name.to_string())
            .collect()
    }

    /// The features of `package`, sorted, without `default`.
    #[must_use]
    pub fn features(&self, package: &str) -> Vec<String> {
        let package = self
            .packages()
            .into_iter()
            .find(|found| *found.name == package);
        let names = package
            .into_iter()
            .flat_map(|package| package.features.keys());
        names.filter(|name| *name != "default").cloned().collect()
    }

    /// The directory with the workspace's manifest.
    #[must_use]
    pub fn root(&self) -> PathBuf {
        self.0.workspace_root.clone().into()
    }

    /// Where services keep their data and logs.
    #[must_use]
    pub fn services_dir(&self) -> PathBuf {
        self.0.target_directory.join("services").into()
    }
}

/// The cargo that runs us, so that a toolchain chosen for this command holds for its children.
#[must_use]
pub fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
