//! The files that are checked, read only once.

use std::fs;

use anyhow::Context;

use crate::workspace;

/// A text file, with its path relative to the root of the repository.
pub struct File {
    pub path: String,
    pub text: String,
}

/// Every text file of the repository, without binary files.
pub struct Tree {
    pub files: Vec<File>,
    /// All paths, including those of binary files.
    pub paths: Vec<String>,
}

impl Tree {
    pub fn read() -> anyhow::Result<Self> {
        let paths = workspace::files()?;
        let mut files = Vec::new();
        for path in &paths {
            let bytes = fs::read(path).with_context(|| format!("cannot read {path}"))?;
            if let Ok(text) = String::from_utf8(bytes) {
                let path = path.clone();
                files.push(File { path, text });
            }
        }
        Ok(Self { files, paths })
    }

    pub fn text(&self, path: &str) -> Option<&str> {
        let file = self.files.iter().find(|file| file.path == path)?;
        Some(&file.text)
    }

    pub fn rust_files(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }

    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| File {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        };
        Self {
            files: files.iter().map(file).collect(),
            paths: files.iter().map(|(path, _)| (*path).to_owned()).collect(),
        }
    }
}
