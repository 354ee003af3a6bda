//! Pure builders, one object a file, shared by the operator and the installer.
