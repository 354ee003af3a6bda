//! Waiting for what one watch cannot tell: a condition over several objects, asked again and again.
use anyhow::{Result, bail};
use std::time::{Duration, Instant};

/// How long a change of the cluster may take before it counts as not coming.
pub const SOON: Duration = Duration::from_secs(60);

/// Between two questions.
const PAUSE: Duration = Duration::from_millis(25);

/// Asks until the answer is good; a bad one says what was seen. An error of the asking itself ends the wait.
pub async fn until<T>(
    what: &str,
    limit: Duration,
    mut ask: impl AsyncFnMut() -> Result<Result<T, String>>,
) -> Result<T> {
    let began = Instant::now();
    loop {
        match ask().await? {
            Ok(answer) => return Ok(answer),
            Err(seen) if began.elapsed() >= limit => {
                bail!("{what}: not within {} s; last seen: {seen}", limit.as_secs_f64())
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}
