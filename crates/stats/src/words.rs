//! Shares as people read them.

/// A share as a percentage without its sign: `0.1234` is "12 %", `0.0456` is "4.6 %".
pub(crate) fn percent(share: f64) -> String {
    let percent = share.abs() * 100.0;
    if percent >= 9.95 {
        format!("{percent:.0} %")
    } else {
        format!("{percent:.1} %")
    }
}

/// With its sign: "+4.6 %".
pub(crate) fn signed_percent(share: f64) -> String {
    let sign = if share < 0.0 { "-" } else { "+" };
    format!("{sign}{}", percent(share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_read_as_percentages() {
        assert_eq!(percent(-0.1234), "12 %");
        assert_eq!(percent(0.0456), "4.6 %");
        assert_eq!(percent(0.0997), "10 %");
        assert_eq!(signed_percent(-0.02), "-2.0 %");
        assert_eq!(signed_percent(0.0), "+0.0 %");
    }
}
