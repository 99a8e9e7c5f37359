//! JSON as text.

use super::{DECIMALS_NOT_FIXED, put_double, put_int, put_uint};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use cohort_engine::types::json::{Node, Scalar};

/// Appends a value as MySQL writes it: in one line, with a space behind commas and colons.
pub fn print(node: &Node<'_>, out: &mut Vec<u8>) {
    match node {
        Node::Scalar(scalar) => print_scalar(scalar, out),
        Node::Array(array) => {
            out.push(b'[');
            for (i, element) in array.iter().enumerate() {
                separate(i, out);
                print(&element, out);
            }
            out.push(b']');
        }
        Node::Object(object) => {
            out.push(b'{');
            for (i, (key, value)) in object.iter().enumerate() {
                separate(i, out);
                quote(key, out);
                out.extend_from_slice(b": ");
                print(&value, out);
            }
            out.push(b'}');
        }
    }
}

fn separate(i: usize, out: &mut Vec<u8>) {
    if i > 0 {
        out.extend_from_slice(b", ");
    }
}

/// Appends a value in lines, those inside others indented.
pub fn pretty(node: &Node<'_>, indent: usize, out: &mut Vec<u8>) {
    let line = |indent: usize, out: &mut Vec<u8>| {
        out.push(b'\n');
        out.resize(out.len() + 2 * indent, b' ');
    };
    match node {
        Node::Array(array) if !array.is_empty() => {
            out.push(b'[');
            for (i, element) in array.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                line(indent + 1, out);
                pretty(&element, indent + 1, out);
            }
            line(indent, out);
            out.push(b']');
        }
        Node::Object(object) if !object.is_empty() => {
            out.push(b'{');
            for (i, (key, value)) in object.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                line(indent + 1, out);
                quote(key, out);
                out.extend_from_slice(b": ");
                pretty(&value, indent + 1, out);
            }
            line(indent, out);
            out.push(b'}');
        }
        node => print(node, out),
    }
}

/// Appends a text in double quotes.
pub fn quote(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in text.bytes() {
        let escape: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            8 => b"\\b",
            0xc => b"\\f",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            0..0x20 => {
                out.extend_from_slice(format!("\\u{byte:04x}").as_bytes());
                continue;
            }
            byte => {
                out.push(byte);
                continue;
            }
        };
        out.extend_from_slice(escape);
    }
    out.push(b'"');
}

fn print_scalar(scalar: &Scalar<'_>, out: &mut Vec<u8>) {
    let mut text = Vec::new();
    match scalar {
        Scalar::Null => return out.extend_from_slice(b"null"),
        Scalar::Bool(true) => return out.extend_from_slice(b"true"),
        Scalar::Bool(false) => return out.extend_from_slice(b"false"),
        Scalar::Int(n) => return put_int(*n, out),
        Scalar::UInt(n) => return put_uint(*n, out),
        Scalar::Double(x) => return print_double(*x, out),
        Scalar::Decimal(number) => {
            return out.extend_from_slice(number.to_plain_string().as_bytes());
        }
        Scalar::Text(text) => return quote(text, out),
        Scalar::Date(_)
        | Scalar::Time(_)
        | Scalar::DateTime(_)
        | Scalar::Timestamp(_)
        | Scalar::Opaque(..) => {
            unquoted(scalar, &mut text);
        }
    }
    quote(&String::from_utf8_lossy(&text), out);
}

/// Appends what stands between the quotes of a date, a time, or bytes; of a text, the text.
pub fn unquoted(scalar: &Scalar<'_>, out: &mut Vec<u8>) {
    const DIGITS: u8 = 6;
    match scalar {
        Scalar::Text(text) => out.extend_from_slice(text.as_bytes()),
        Scalar::Date(date) => date.write(out),
        Scalar::Time(time) => time.write(DIGITS, out),
        Scalar::DateTime(moment) | Scalar::Timestamp(moment) => moment.write(DIGITS, out),
        Scalar::Opaque(ty, bytes) => {
            /// Characters of a line.
            const LINE: usize = 76;
            out.extend_from_slice(format!("base64:type{ty}:").as_bytes());
            for (i, line) in STANDARD.encode(bytes).as_bytes().chunks(LINE).enumerate() {
                if i > 0 {
                    out.push(b'\n');
                }
                out.extend_from_slice(line);
            }
        }
        other => print_scalar(other, out),
    }
}

/// A floating point number looks like one.
fn print_double(x: f64, out: &mut Vec<u8>) {
    let start = out.len();
    put_double(x, DECIMALS_NOT_FIXED, out);
    let is_whole = |byte: &u8| byte.is_ascii_digit() || *byte == b'-';
    if out
        .get(start..)
        .is_some_and(|text| text.iter().all(is_whole))
    {
        out.extend_from_slice(b".0");
    }
}
