//! Timestamps of ORC: seconds since 2015 began in the writer's zone, and nanoseconds without their trailing
//! zeros. A timestamp without zone means the writer's wall clock.

use std::sync::Arc;

use arrow::array::cast::AsArray;
use arrow::array::timezone::Tz;
use arrow::array::{ArrayRef, TimestampSecondArray};
use arrow::datatypes::{DataType, TimeUnit, TimestampSecondType};
use arrow::temporal_conversions::as_datetime_with_timezone;

use crate::error::{Error, Result};

/// 2015-01-01T00:00:00Z.
const EPOCH: i64 = 1_420_070_400;

/// Where a stripe's wall clock hung: the moment its 2015 began, and the zone where that is not UTC.
#[derive(Clone, Copy)]
pub(super) struct Zone {
    epoch: i64,
    zone: Option<Tz>,
}

impl Default for Zone {
    fn default() -> Self {
        Zone {
            epoch: EPOCH,
            zone: None,
        }
    }
}

impl Zone {
    /// The zone of this name. Errors: Unsupported for one that is not known.
    pub(super) fn named(name: Option<&str>) -> Result<Zone> {
        let name = match name {
            None | Some("UTC" | "GMT" | "Etc/UTC" | "Z") => return Ok(Zone::default()),
            Some(name) => name,
        };
        let unknown = || Error::unsupported(format!("ORC: the writer's time zone '{name}'"));
        let zone: Tz = name.parse().map_err(|_| unknown())?;
        let clock: ArrayRef = Arc::new(TimestampSecondArray::from(vec![EPOCH]));
        let zoned = DataType::Timestamp(TimeUnit::Second, Some(name.into()));
        let moments = arrow::compute::cast(&clock, &zoned).map_err(|_| unknown())?;
        let moments = moments.as_primitive_opt::<TimestampSecondType>();
        let epoch = moments.and_then(|m| m.values().first().copied());
        Ok(Zone {
            epoch: epoch.ok_or_else(unknown)?,
            zone: Some(zone),
        })
    }

    /// What the wall clock showed at a moment, as seconds since 1970.
    fn wall(self, seconds: i64) -> Option<i64> {
        match self.zone {
            None => Some(seconds),
            Some(zone) => as_datetime_with_timezone::<TimestampSecondType>(seconds, zone)
                .map(|moment| moment.naive_local().and_utc().timestamp()),
        }
    }
}

/// The values in `unit`. Errors: Corrupt for what the unit cannot hold.
pub(super) fn timestamps(
    seconds: &[i64],
    nanos: &[i64],
    zone: Zone,
    unit: TimeUnit,
) -> Result<Vec<i64>> {
    let mut values = Vec::with_capacity(seconds.len());
    for (since, packed) in seconds.iter().zip(nanos) {
        let value = one(*since, *packed, zone, unit);
        values.push(value.ok_or_else(|| {
            Error::corrupt(format!("ORC: a timestamp ({since} s) is out of range"))
        })?);
    }
    Ok(values)
}

fn one(since: i64, packed: i64, zone: Zone, unit: TimeUnit) -> Option<i64> {
    let nanos = unpack(packed)?;
    let mut seconds = since.checked_add(zone.epoch)?;
    // Writers cut seconds towards zero, so a fraction before 1970 belongs to the second before.
    if seconds < 0 && nanos > 999_999 {
        seconds -= 1;
    }
    let seconds = zone.wall(seconds)?;
    let (per_second, fraction) = match unit {
        TimeUnit::Nanosecond => (1_000_000_000, nanos),
        _ => (1_000_000, nanos.div_euclid(1_000)),
    };
    seconds.checked_mul(per_second)?.checked_add(fraction)
}

/// Nanoseconds: the lowest three bits say how many zeros were cut, less one. Some writers take negative ones from the
/// seconds before 1970.
fn unpack(packed: i64) -> Option<i64> {
    let zeros = packed & 7;
    let digits = packed >> 3;
    let factor = match u32::try_from(zeros).ok()? {
        0 => 1,
        zeros => 10i64.pow(zeros + 1),
    };
    digits
        .checked_mul(factor)
        .filter(|nanos| nanos.unsigned_abs() < 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wall_clocks_of_other_zones_are_kept() {
        let zone = Zone::named(Some("America/Los_Angeles")).unwrap();
        // 2015-07-01T12:00:00 in summer time, written in a zone whose 2015 began in winter time.
        let moment = 1_435_752_000 + 7 * 3_600;
        let since = moment - zone.epoch;
        assert_eq!(zone.epoch, EPOCH + 8 * 3_600);
        let values = timestamps(&[since], &[0], zone, TimeUnit::Microsecond).unwrap();
        assert_eq!(values, [1_435_752_000_000_000]);
        assert!(Zone::named(Some("Mars/Olympus")).is_err());
    }

    #[test]
    fn fractions_are_unpacked_and_kept_before_1970() {
        let utc = Zone::default();
        let read = |since, packed, unit| timestamps(&[since], &[packed], utc, unit).map(|v| v[0]);
        let micros = TimeUnit::Microsecond;
        // 1000 ns are written as 1 with two zeros cut and a third: 10^3.
        assert_eq!(read(-EPOCH, 1 << 3 | 2, micros).unwrap(), 1);
        // 1969-12-31T23:59:58.5: seconds cut to -1, half a second of nanoseconds.
        assert_eq!(read(-EPOCH - 1, 5 << 3 | 7, micros).unwrap(), -1_500_000);
        assert_eq!(read(-EPOCH - 1, -5 << 3 | 7, micros).unwrap(), -1_500_000);
        assert_eq!(read(-EPOCH, 7 << 3, TimeUnit::Nanosecond).unwrap(), 7);
        assert!(read(i64::MAX, 0, micros).is_err());
        assert!(read(i64::MAX / 1000, 0, micros).is_err());
        assert!(read(0, i64::MAX, micros).is_err());
    }
}
