//! How long a certificate is valid: the little of X.509 that rustls does not tell.

/// The first and the last moment, as OpenSSL writes them; `None` for what is no certificate.
pub(super) fn validity(certificate: &[u8]) -> Option<(String, String)> {
    const VERSION: u8 = 0xa0;
    let mut certificate = part(&mut { certificate })?.1;
    let mut signed = part(&mut certificate)?.1;
    let first = part(&mut signed)?;
    if first.0 == VERSION {
        part(&mut signed)?; // the serial number
    }
    part(&mut signed)?; // how it was signed
    part(&mut signed)?; // by whom
    let mut validity = part(&mut signed)?.1;
    let from = moment(part(&mut validity)?)?;
    let until = moment(part(&mut validity)?)?;
    Some((from, until))
}

/// The next part of DER, without its head: what kind it is, and what is in it.
fn part<'a>(rest: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    const LONG: u8 = 0x80;
    let (&[kind, short], mut after) = rest.split_first_chunk::<2>()?;
    let mut length = usize::from(short);
    if short & LONG != 0 {
        let (digits, contents) = after.split_at_checked(usize::from(short & !LONG))?;
        length = digits.iter().try_fold(0usize, |length, digit| {
            length.checked_mul(256)?.checked_add(usize::from(*digit))
        })?;
        after = contents;
    }
    let (contents, after) = after.split_at_checked(length)?;
    *rest = after;
    Some((kind, contents))
}

/// `261126055525Z` or `20261126055525Z` as `Nov 26 05:55:25 2026 GMT`.
fn moment((kind, text): (u8, &[u8])) -> Option<String> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    const SHORT: u8 = 0x17;
    let text = std::str::from_utf8(text).ok()?;
    let text = if kind == SHORT {
        // Two digits of a year mean one from 1950 to 2049.
        let century = if text.starts_with(['0', '1', '2', '3', '4']) {
            "20"
        } else {
            "19"
        };
        format!("{century}{text}")
    } else {
        text.to_owned()
    };
    let number = |from: usize| text.get(from..from + 2)?.parse::<usize>().ok();
    let year = text.get(..4)?;
    let month = MONTHS.get(number(4)?.checked_sub(1)?)?;
    let (day, hour, minute, second) = (number(6)?, number(8)?, number(10)?, number(12)?);
    Some(format!(
        "{month} {day:2} {hour:02}:{minute:02}:{second:02} {year} GMT"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_openssl_does() {
        let short = moment((0x17, b"261126055525Z"));
        assert_eq!(short.as_deref(), Some("Nov 26 05:55:25 2026 GMT"));
        let old = moment((0x17, b"990101000000Z"));
        assert_eq!(old.as_deref(), Some("Jan  1 00:00:00 1999 GMT"));
        let long = moment((0x18, b"20500302235959Z"));
        assert_eq!(long.as_deref(), Some("Mar  2 23:59:59 2050 GMT"));
        for nonsense in [&b""[..], b"2611", b"261326055525Z", b"\xff\xff"] {
            assert_eq!(moment((0x17, nonsense)), None);
        }
    }

    #[test]
    fn nonsense_is_no_certificate() {
        let nonsense: [&[u8]; 5] = [
            b"",
            b"\x30",
            b"\x30\x84\xff\xff\xff\xff",
            b"\x30\x89\xff\xff\xff\xff\xff\xff\xff\xff\xff",
            b"\x30\x04\x30\x02\xa0\x00",
        ];
        for bytes in nonsense {
            assert_eq!(validity(bytes), None);
        }
    }
}
