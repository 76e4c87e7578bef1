use std::fmt;

use md5::{Digest, Md5};
use serde::{Deserialize, Deserializer, de};

/// The MD5 sum of a ROM image, its customary identifier. It does not protect against forgery.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Md5Sum([u8; 16]);

impl Md5Sum {
    /// Computes the sum of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Md5::digest(bytes).into())
    }

    /// Parses 32 hexadecimal digits.
    pub fn parse(digits: &str) -> Option<Self> {
        if digits.len() != 32 || !digits.is_ascii() {
            return None;
        }
        let mut sum = [0; 16];
        for (index, byte) in sum.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&digits[2 * index..2 * index + 2], 16).ok()?;
        }
        Some(Self(sum))
    }
}

impl fmt::Display for Md5Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Md5Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl<'de> Deserialize<'de> for Md5Sum {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let digits = String::deserialize(deserializer)?;
        Self::parse(&digits).ok_or_else(|| {
            de::Error::custom(format!("'{digits}' is not an MD5 sum of 32 hexadecimal digits"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_the_test_vector_of_rfc_1321() {
        let sum = Md5Sum::of(b"abc");
        assert_eq!(sum.to_string(), "900150983cd24fb0d6963f7d28e17f72");
        assert_eq!(Md5Sum::parse("900150983cd24fb0d6963f7d28e17f72"), Some(sum));
    }

    #[test]
    fn parses_exactly_32_hexadecimal_digits() {
        for wrong in ["", "90", "900150983cd24fb0d6963f7d28e17fzz", "900150983cd24fb0d6963f7d28e17f7ä"] {
            assert_eq!(Md5Sum::parse(wrong), None, "{wrong}");
        }
    }
}
