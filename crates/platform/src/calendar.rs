//! Dates as numbers.

/// Days since 1970-01-01 of a Gregorian date, whose month and day are from 1 (Howard Hinnant, "chrono-Compatible
/// Low-Level Date Algorithms").
pub fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    // Years from March on: the day of a leap year is the last one.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_go_on_over_leap_years_and_centuries() {
        assert_eq!(days_since_1970(1970, 1, 1), 0);
        assert_eq!(days_since_1970(1969, 12, 31), -1);
        assert_eq!(days_since_1970(2000, 2, 29), 11_016);
        assert_eq!(
            days_since_1970(2100, 3, 1) - days_since_1970(2100, 2, 28),
            1
        );
    }
}
