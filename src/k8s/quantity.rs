//! Kubernetes quantities, as far as telling whether two spellings mean the same. Own code: the published crate follows
//! another k8s-openapi and rounds to floating point.
use serde_json::Value;

/// The value in billionths, the smallest unit the API knows.
pub(super) fn parse(value: &Value) -> Option<i128> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let digits = text.find(|c: char| !matches!(c, '0'..='9' | '.' | '+' | '-')).unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let places = u32::try_from(fraction.len()).ok()?;
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let (up, down) = scale(suffix)?;
    digits.checked_mul(up)?.checked_mul(1_000_000_000)?.checked_div(down.checked_mul(10i128.checked_pow(places)?)?)
}

/// What a suffix multiplies and divides by.
fn scale(suffix: &str) -> Option<(i128, i128)> {
    let binary = |power| Some((1i128 << (10 * power), 1));
    let decimal = |power| Some((10i128.pow(power), 1));
    match suffix {
        "" => Some((1, 1)),
        "n" => Some((1, 1_000_000_000)),
        "u" => Some((1, 1_000_000)),
        "m" => Some((1, 1_000)),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        _ => match suffix.strip_prefix(['e', 'E'])?.parse::<i32>().ok()? {
            power @ 0..=18 => decimal(power.unsigned_abs()),
            power @ -9..0 => Some((1, 10i128.pow(power.unsigned_abs()))),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::parse;
    use serde_json::json;

    #[test]
    fn spellings_of_one_quantity() {
        for (a, b) in
            [("500m", "0.5"), ("1000m", "1"), ("1Gi", "1024Mi"), ("1e3", "1k"), ("0.1", "100m"), ("1G", "1000M")]
        {
            assert_eq!(parse(&json!(a)), parse(&json!(b)), "{a} {b}");
            assert!(parse(&json!(a)).is_some(), "{a}");
        }
        assert_eq!(parse(&json!(2)), parse(&json!("2")));
        assert_ne!(parse(&json!("1Gi")), parse(&json!("1G")));
        assert_eq!(parse(&json!("abc")), None);
    }
}
