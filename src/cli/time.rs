//! Spans of time as flags have them.
use std::time::Duration;

/// Reads `90`, `90s`, `5m` or `1h`; at most a day.
///
/// # Errors
/// In one sentence, where it is none.
pub fn span(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => 0,
    };
    match digits.parse::<u64>().ok().and_then(|n| n.checked_mul(unit)) {
        Some(seconds) if (1..=86_400).contains(&seconds) => Ok(Duration::from_secs(seconds)),
        _ => Err("it is a time such as 90s, 5m or 1h".into()),
    }
}
