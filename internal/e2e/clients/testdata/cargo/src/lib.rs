//! Needs a package.
