//! [`Process`]: what every Prometheus client tells of its process, from `/proc`.
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use std::fs::{read_dir, read_to_string};

/// The kernel's unit of time towards programs, on every architecture.
const TICKS: f64 = 100.0;
/// Columns of `/proc/self/stat` after the program's name, which may hold anything: user and system time, and the start.
const TIMES: [usize; 2] = [11, 12];
const START: usize = 19;

/// The metrics `process_*` of this process.
#[derive(Debug)]
pub struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        if let Some(seconds) = cpu_seconds() {
            let metric = ConstCounter::new(seconds);
            let (name, help) = ("process_cpu_seconds", "Time on a processor");
            metric.encode(encoder.encode_descriptor(name, help, None, metric.metric_type())?)?;
        }
        let gauges = [
            ("process_resident_memory_bytes", "Memory in use", kilobytes("VmRSS:")),
            ("process_virtual_memory_bytes", "Memory addressed", kilobytes("VmSize:")),
            ("process_open_fds", "Open files", read_dir("/proc/self/fd").ok().map(|all| all.count() as f64)),
            ("process_max_fds", "The most open files", max_fds()),
            ("process_start_time_seconds", "When it began, since the epoch", start()),
        ];
        for (name, help, value) in gauges {
            let Some(value) = value else { continue };
            let metric = ConstGauge::new(value);
            metric.encode(encoder.encode_descriptor(name, help, None, metric.metric_type())?)?;
        }
        Ok(())
    }
}

fn stat(columns: &[usize]) -> Option<f64> {
    let text = read_to_string("/proc/self/stat").ok()?;
    let values: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    columns.iter().map(|c| values.get(*c)?.parse::<f64>().ok()).sum()
}

fn cpu_seconds() -> Option<f64> {
    Some(stat(&TIMES)? / TICKS)
}

fn start() -> Option<f64> {
    let text = read_to_string("/proc/stat").ok()?;
    let boot: f64 = text.lines().find_map(|l| l.strip_prefix("btime "))?.trim().parse().ok()?;
    Some(boot + stat(&[START])? / TICKS)
}

fn kilobytes(field: &str) -> Option<f64> {
    let text = read_to_string("/proc/self/status").ok()?;
    let value = text.lines().find_map(|l| l.strip_prefix(field))?;
    Some(value.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()? * 1024.0)
}

fn max_fds() -> Option<f64> {
    let text = read_to_string("/proc/self/limits").ok()?;
    text.lines().find_map(|l| l.strip_prefix("Max open files"))?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::Process;
    use prometheus_client::encoding::prometheus_text;
    use prometheus_client::registry::Registry;

    #[test]
    fn every_value_is_there_and_plausible() {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Process));
        let mut text = String::new();
        prometheus_text::encode(&mut text, &registry).unwrap();
        let value = |name: &str| {
            let line = text.lines().find_map(|l| l.strip_prefix(&format!("{name} ")));
            line.unwrap_or_else(|| panic!("{name} is not in {text}")).parse::<f64>().unwrap()
        };
        assert!(value("process_cpu_seconds_total") >= 0.0);
        assert!(value("process_resident_memory_bytes") > 1e6);
        assert!(value("process_virtual_memory_bytes") >= value("process_resident_memory_bytes"));
        assert!((1.0..=value("process_max_fds")).contains(&value("process_open_fds")));
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64();
        assert!((0.0..86_400.0 * 7.0).contains(&(now - value("process_start_time_seconds"))));
    }
}
