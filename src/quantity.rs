//! Human-readable numbers, durations and sizes.

/// Formats a number in about six characters: `0.012`, `12.3`, `4096`, `1.20M`.
pub(crate) fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 1e9 => format!("{:.2}G", value / 1e9),
        size if size >= 1e6 => format!("{:.2}M", value / 1e6),
        size if size >= 1e4 => format!("{:.1}k", value / 1e3),
        size if size >= 1e3 || value == 0.0 => format!("{value:.0}"),
        size if size >= 1.0 => format!("{value:.1}"),
        size if size >= 1e-2 => format!("{value:.3}"),
        _ => format!("{value:.1e}"),
    }
}

/// Formats a count without decimals that are zero: `8`, `57M`, `2.4M`, `400k`.
pub(crate) fn count(value: u64) -> String {
    let scaled = |unit: f64, name: &str| format!("{}{name}", (value as f64 / unit * 100.0).round() / 100.0);
    match value {
        1_000_000_000.. => scaled(1e9, "G"),
        1_000_000.. => scaled(1e6, "M"),
        10_000.. => scaled(1e3, "k"),
        _ => value.to_string(),
    }
}

/// Formats a duration as `1:02:03` or `2:03`.
pub(crate) fn clock(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// Formats a number of bytes as `1.2 GB`, `34 MB` or `560 kB`.
pub(crate) fn bytes(bytes: u64) -> String {
    match bytes {
        1_000_000_000.. => format!("{:.1} GB", bytes as f64 / 1e9),
        1_000_000.. => format!("{:.0} MB", bytes as f64 / 1e6),
        _ => format!("{:.0} kB", bytes as f64 / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_numbers_briefly() {
        let values = [0.0, 0.00025, 0.0123, -20.96, 1234.4, 40_960.0, 8e6, 2e9];
        let texts = ["0", "2.5e-4", "0.012", "-21.0", "1234", "41.0k", "8.00M", "2.00G"];
        assert_eq!(values.map(short), texts);
        let counts = [8, 4096, 400_000, 2_400_000, 57_000_000, 5_000_000_000];
        assert_eq!(counts.map(count), ["8", "4096", "400k", "2.4M", "57M", "5G"]);
        assert_eq!([560_000, 34_400_000, 1_230_000_000].map(bytes), ["560 kB", "34 MB", "1.2 GB"]);
        assert_eq!([3723.0, 59.6].map(clock), ["1:02:03", "1:00"]);
    }
}
