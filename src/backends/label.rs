//! Names that a backend gives, as the status takes them.
use sha2::{Digest, Sha256};

/// The longest name of a failure domain: it should fit a label value.
const NAME: usize = 63;

/// What a server says, as conditions, status and logs show it: one line, of a length the API takes.
pub(super) fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}

/// A DNS label out of names; with a suffix where the names alone are not enough.
pub(super) fn name(parts: &[&str], apart: Option<&str>) -> String {
    let mut label = String::new();
    for c in parts.join("-").to_ascii_lowercase().chars() {
        if c.is_ascii_alphanumeric() {
            label.push(c);
        } else if !label.is_empty() && !label.ends_with('-') {
            label.push('-');
        }
    }
    // What is lost (other scripts, length) must not make two names one.
    let readable = parts.iter().all(|p| p.chars().any(|c| c.is_ascii_alphanumeric()));
    if label.len() > NAME || !readable || apart.is_some() {
        let digest = Sha256::digest(format!("{}/{}", parts.join("/"), apart.unwrap_or_default()));
        let hash = data_encoding::BASE32_NOPAD.encode(&digest).to_ascii_lowercase();
        label.truncate(NAME - 7);
        label = format!("{}-{}", label.trim_end_matches('-'), &hash[..6]);
    }
    label.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_labels() {
        proptest::proptest!(|(a in ".{1,90}", b in ".{1,90}")| {
            let name = name(&[&a, &b], None);
            assert!(!name.is_empty() && name.len() <= 63, "{name}");
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{name}");
            assert!(!name.starts_with('-') && !name.ends_with('-'), "{name}");
        });
    }
}
