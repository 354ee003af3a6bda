//! Spans of time as flags have them.
use std::time::Duration;

/// Reads `90s`, `5m` or `1h`; at most a day.
///
/// # Errors
/// In one sentence, where it is none.
pub fn span(text: &str) -> Result<Duration, String> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[number.len()..] {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "" if number.parse::<u64>().is_ok() => return Err(format!("it has no unit: {number} seconds are {number}s")),
        _ => 0,
    };
    match number.parse::<u64>().ok().and_then(|n| n.checked_mul(unit)) {
        Some(seconds) if (1..=86_400).contains(&seconds) => Ok(Duration::from_secs(seconds)),
        _ => Err("it is a time such as 90s, 5m or 1h, a day at the most".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("90s", 90)]
    #[case("5m", 300)]
    #[case("24h", 86_400)]
    fn a_time_has_a_unit(#[case] text: &str, #[case] seconds: u64) {
        assert_eq!(span(text), Ok(Duration::from_secs(seconds)));
    }

    #[rstest]
    #[case("5", "5 seconds are 5s")]
    #[case("", "such as 90s")]
    #[case("s", "such as 90s")]
    #[case("0s", "such as 90s")]
    #[case("-5s", "such as 90s")]
    #[case("1.5h", "such as 90s")]
    #[case("5min", "such as 90s")]
    #[case("25h", "a day at the most")]
    #[case("18446744073709551615h", "a day at the most")]
    fn what_is_none(#[case] text: &str, #[case] says: &str) {
        let said = span(text).unwrap_err();
        assert!(said.contains(says), "{text}: {said}");
    }
}
