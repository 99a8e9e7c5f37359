//! What statements can see of compression, and which one clients may have.

/// How what goes over a connection is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// zlib's format, which all clients know.
    Zlib,
    /// Zstandard, which is quicker.
    Zstd,
}

impl Algorithm {
    /// MySQL's name of it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Zlib => "zlib",
            Algorithm::Zstd => "zstd",
        }
    }
}

/// The compression that a connection has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compression {
    /// By which algorithm.
    pub algorithm: Algorithm,
    /// How hard it tries.
    pub level: u8,
}

/// What clients may choose from (protocol_compression_algorithms).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// zlib.
    pub zlib: bool,
    /// Zstandard.
    pub zstd: bool,
    /// No compression.
    pub uncompressed: bool,
}

impl Allowed {
    /// A list of at most three names with commas between them; `None` if it is none.
    #[must_use]
    pub fn parse(list: &str) -> Option<Allowed> {
        const NAMES_MAX: usize = 3;
        let mut allowed = Allowed {
            zlib: false,
            zstd: false,
            uncompressed: false,
        };
        for (i, name) in list.split(',').enumerate() {
            let known = match name.to_ascii_lowercase().as_str() {
                "zlib" => &mut allowed.zlib,
                "zstd" => &mut allowed.zstd,
                "uncompressed" => &mut allowed.uncompressed,
                _ => return None,
            };
            if i == NAMES_MAX {
                return None;
            }
            *known = true;
        }
        Some(allowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_as_mysql_takes_them() {
        let all = Allowed::parse("zlib,zstd,uncompressed").unwrap();
        assert!(all.zlib && all.zstd && all.uncompressed);
        let one = Allowed::parse("ZLIB,zlib").unwrap();
        assert!(one.zlib && !one.zstd && !one.uncompressed);
        for bad in [
            "",
            "foo",
            "zlib,foo",
            "zlib, zstd",
            " zlib",
            "zlib,",
            "zlib,zstd,uncompressed,zlib",
        ] {
            assert_eq!(Allowed::parse(bad), None, "{bad}");
        }
    }
}
