//! Whose a certificate is, and how long it is valid: the little of X.509 that rustls does not tell.

use cohort_sql::Certificate;
use std::fmt::Write;

/// How OpenSSL abbreviates the parts of names, by their numbers.
const ABBREVIATIONS: [(&str, &str); 21] = [
    ("2.5.4.3", "CN"),
    ("2.5.4.4", "SN"),
    ("2.5.4.5", "serialNumber"),
    ("2.5.4.6", "C"),
    ("2.5.4.7", "L"),
    ("2.5.4.8", "ST"),
    ("2.5.4.9", "street"),
    ("2.5.4.10", "O"),
    ("2.5.4.11", "OU"),
    ("2.5.4.12", "title"),
    ("2.5.4.13", "description"),
    ("2.5.4.17", "postalCode"),
    ("2.5.4.41", "name"),
    ("2.5.4.42", "GN"),
    ("2.5.4.43", "initials"),
    ("2.5.4.44", "generationQualifier"),
    ("2.5.4.46", "dnQualifier"),
    ("2.5.4.65", "pseudonym"),
    ("1.2.840.113549.1.9.1", "emailAddress"),
    ("0.9.2342.19200300.100.1.1", "UID"),
    ("0.9.2342.19200300.100.1.25", "DC"),
];

/// The parts of a certificate that are of interest here, in DER.
struct Parts<'a> {
    issuer: &'a [u8],
    validity: &'a [u8],
    subject: &'a [u8],
}

fn parts(certificate: &[u8]) -> Option<Parts<'_>> {
    const VERSION: u8 = 0xa0;
    let mut certificate = part(&mut { certificate })?.1;
    let mut signed = part(&mut certificate)?.1;
    let first = part(&mut signed)?;
    if first.0 == VERSION {
        part(&mut signed)?; // the serial number
    }
    part(&mut signed)?; // how it was signed
    Some(Parts {
        issuer: part(&mut signed)?.1,
        validity: part(&mut signed)?.1,
        subject: part(&mut signed)?.1,
    })
}

/// The first and the last moment, as OpenSSL writes them; `None` for what is no certificate.
pub(super) fn validity(certificate: &[u8]) -> Option<(String, String)> {
    let mut validity = parts(certificate)?.validity;
    let from = moment(part(&mut validity)?)?;
    let until = moment(part(&mut validity)?)?;
    Some((from, until))
}

/// Whose it is, and who has signed it; `None` for what is no certificate.
pub(super) fn names(certificate: &[u8]) -> Option<Certificate> {
    let parts = parts(certificate)?;
    Some(Certificate {
        subject: name(parts.subject)?,
        issuer: name(parts.issuer)?,
    })
}

fn name(mut name: &[u8]) -> Option<String> {
    let mut text = String::new();
    while !name.is_empty() {
        let mut together = part(&mut name)?.1;
        let mut mark = '/';
        while !together.is_empty() {
            let mut attribute = part(&mut together)?.1;
            let number = number(part(&mut attribute)?.1)?;
            let known = ABBREVIATIONS.iter().find(|(known, _)| *known == number);
            let kind = known.map_or(number.as_str(), |(_, abbreviation)| abbreviation);
            let _ = write!(text, "{mark}{kind}=");
            mark = '+';
            for byte in part(&mut attribute)?.1 {
                match byte {
                    b' '..=b'~' => text.push(char::from(*byte)),
                    _ => drop(write!(text, "\\x{byte:02X}")),
                }
            }
        }
    }
    Some(text)
}

/// `1.2.840` and the like. Each number has seven bits in a byte, the first two share one.
fn number(bytes: &[u8]) -> Option<String> {
    const MORE: u8 = 0x80;
    let mut text = String::new();
    let mut value = 0u32;
    for byte in bytes {
        value = value
            .checked_mul(128)?
            .checked_add(u32::from(byte & !MORE))?;
        if byte & MORE != 0 {
            continue;
        }
        if text.is_empty() {
            let first = (value / 40).min(2);
            let _ = write!(text, "{first}.{}", value - first * 40);
        } else {
            let _ = write!(text, ".{value}");
        }
        value = 0;
    }
    Some(text)
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
    fn names_are_written_as_openssl_does() {
        let bytes = b"\x31\x0b\x30\x09\x06\x03\x55\x04\x06\x13\x02FI\
                      \x31\x1a\x30\x0a\x06\x03\x55\x04\x03\x0c\x03a\xc3\xa4\
                      \x30\x0c\x06\x05\x2a\x86\x48\xce\x3d\x0c\x03b/c";
        let text = name(bytes);
        assert_eq!(
            text.as_deref(),
            Some("/C=FI/CN=a\\xC3\\xA4+1.2.840.10045=b/c")
        );
        for length in 1..bytes.len() {
            let _ = name(&bytes[..length]);
        }
        assert_eq!(number(b"\xff\xff\xff\xff\xff\x7f"), None);
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
            assert_eq!(names(bytes), None);
        }
    }
}
