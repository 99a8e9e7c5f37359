//! How the binlog tells the types of columns, whose row images follow.

use crate::types::{Column, ColumnType};

/// MySQL's number of a column's type in the binlog; appends its metadata bytes.
pub fn column_type(column: &Column, metadata: &mut Vec<u8>) -> u8 {
    match column.ty {
        ColumnType::TinyInt => 1,
        ColumnType::SmallInt => 2,
        ColumnType::Int => 3,
        ColumnType::Float => {
            metadata.push(4);
            4
        }
        ColumnType::Double => {
            metadata.push(8);
            5
        }
        ColumnType::BigInt => 8,
        ColumnType::MediumInt => 9,
        ColumnType::Date => 10,
        ColumnType::Year => 13,
        ColumnType::VarChar(_) => {
            let bytes = column.max_bytes();
            metadata.extend_from_slice(&u16::try_from(bytes).unwrap_or(u16::MAX).to_le_bytes());
            15
        }
        ColumnType::Timestamp(digits) => {
            metadata.push(digits);
            17
        }
        ColumnType::DateTime(digits) => {
            metadata.push(digits);
            18
        }
        ColumnType::Time(digits) => {
            metadata.push(digits);
            19
        }
        ColumnType::Decimal { precision, scale } => {
            metadata.extend_from_slice(&[precision, scale]);
            246
        }
        ColumnType::Text(length_bytes) => {
            metadata.push(length_bytes);
            252
        }
        ColumnType::Char(_) => {
            // Two bits of the length hide, inverted, in the byte of the type.
            let bytes = column.max_bytes();
            let high = ((bytes & 0x300) >> 4) as u8;
            metadata.extend_from_slice(&[254 ^ high, (bytes & 0xff) as u8]);
            254
        }
        ColumnType::Json => {
            metadata.push(4);
            245
        }
        ColumnType::Bit(bits) => {
            metadata.extend_from_slice(&[bits % 8, bits / 8]);
            16
        }
        ColumnType::Enum(width) => {
            metadata.extend_from_slice(&[247, width]);
            254
        }
        ColumnType::Set(width) => {
            metadata.extend_from_slice(&[248, width]);
            254
        }
    }
}
