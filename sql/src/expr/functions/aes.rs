//! AES_ENCRYPT and AES_DECRYPT, in the modes of `block_encryption_mode`.

use super::{Args, Function, bytes, function};
use crate::{
    error::SqlError,
    expr::{EvalContext, ExprType},
};
use ::aes::{
    Aes128, Aes192, Aes256,
    cipher::{Block, BlockDecrypt, BlockEncrypt, KeyInit},
};
use cohort_engine::{invariant::broken, types::Value};
use hmac::{Hmac, Mac};
use sha2::Sha512;

pub(super) const FUNCTIONS: &[Function] = &[
    function(
        "aes_encrypt",
        (2, 6),
        |t| {
            let ty = t.ty(0);
            let length = ty.length.saturating_mul(ty.collation.max_char_bytes());
            ExprType::bytes(padded(length)).or_null()
        },
        |args, context| crypt(args, Direction::Encrypt, context),
    ),
    function(
        "aes_decrypt",
        (2, 6),
        |t| ExprType::bytes(t.ty(0).length).or_null(),
        |args, context| crypt(args, Direction::Decrypt, context),
    ),
];

/// Bytes of a block.
const BLOCK: usize = 16;

/// The length with what fills the last block; there is always something that does.
fn padded(length: u32) -> u32 {
    let block = BLOCK as u32;
    (length / block * block).saturating_add(block)
}

/// @@block_encryption_mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CipherMode {
    /// 16, 24 or 32.
    key_bytes: usize,
    chaining: Chaining,
}

/// How a block depends on those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chaining {
    Ecb,
    Cbc,
    /// One bit at a time.
    Cfb1,
    /// One byte at a time.
    Cfb8,
    Cfb128,
    Ofb,
}

const CHAININGS: [(&str, Chaining); 6] = [
    ("ecb", Chaining::Ecb),
    ("cbc", Chaining::Cbc),
    ("cfb1", Chaining::Cfb1),
    ("cfb8", Chaining::Cfb8),
    ("cfb128", Chaining::Cfb128),
    ("ofb", Chaining::Ofb),
];

impl CipherMode {
    /// What stands if nothing is set.
    pub const DEFAULT: CipherMode = CipherMode {
        key_bytes: 16,
        chaining: Chaining::Ecb,
    };

    /// The mode with this name: `aes-256-cbc`.
    #[must_use]
    pub fn parse(name: &str) -> Option<CipherMode> {
        let (bits, chaining) = name.strip_prefix("aes-")?.split_once('-')?;
        Some(CipherMode {
            key_bytes: match bits {
                "128" => 16,
                "192" => 24,
                "256" => 32,
                _ => return None,
            },
            chaining: CHAININGS.iter().find(|(name, _)| *name == chaining)?.1,
        })
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> String {
        let mut chainings = CHAININGS.iter();
        let chaining = chainings.find(|(_, chaining)| *chaining == self.chaining);
        let name = chaining.map_or("", |(name, _)| name);
        format!("aes-{}-{name}", self.key_bytes * 8)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Encrypt,
    Decrypt,
}

impl Direction {
    /// The function's name, for errors.
    fn function(self) -> &'static str {
        match self {
            Direction::Encrypt => "aes_encrypt",
            Direction::Decrypt => "aes_decrypt",
        }
    }
}

fn crypt(
    args: &Args<'_>,
    direction: Direction,
    context: &mut EvalContext<'_>,
) -> Result<Value, SqlError> {
    let mode = context.statement.cipher_mode;
    if mode.chaining != Chaining::Ecb && args.len() < 3 {
        return Err(SqlError::wrong_native_argument_count(direction.function()));
    }
    let (Some(data), Some(key)) = (args.string(0, context)?, args.string(1, context)?) else {
        return Ok(Value::Null);
    };
    let (data, key) = (data.into_owned(), key.into_owned());
    let iv = initial(args, mode, direction, context)?;
    let is_cut = matches!(mode.chaining, Chaining::Ecb | Chaining::Cbc)
        && direction == Direction::Decrypt
        && !data.len().is_multiple_of(BLOCK);
    if is_cut {
        return Ok(Value::Null);
    }
    let key = match args.len() {
        ..=3 => {
            // What was encrypted by it before can be read without a word.
            if key.len() > mode.key_bytes && direction == Direction::Encrypt {
                let told = SqlError::aes_key_size(mode.key_bytes);
                context.warnings.warn(told);
            }
            folded(&key, mode)
        }
        _ => derived(args, &key, mode, context)?,
    };
    let cipher = Cipher::new(&key);
    let done = match (mode.chaining, direction) {
        (Chaining::Ecb | Chaining::Cbc, Direction::Encrypt) => {
            Some(cipher.encrypt_blocks(data, mode, iv, context)?)
        }
        (Chaining::Ecb | Chaining::Cbc, Direction::Decrypt) => {
            cipher.decrypt_blocks(data, mode, iv, context)?
        }
        (Chaining::Cfb1, _) => Some(cipher.bit_stream(data, iv, direction, context)?),
        (Chaining::Cfb8, _) => Some(cipher.byte_stream(data, iv, direction, context)?),
        (Chaining::Cfb128 | Chaining::Ofb, _) => {
            Some(cipher.block_stream(data, mode, iv, direction, context)?)
        }
    };
    Ok(done.map_or(Value::Null, bytes))
}

/// The vector that the first block is mixed with.
fn initial(
    args: &Args<'_>,
    mode: CipherMode,
    direction: Direction,
    context: &mut EvalContext<'_>,
) -> Result<[u8; BLOCK], SqlError> {
    if mode.chaining == Chaining::Ecb {
        if args.len() == 3 {
            context.warnings.warn(SqlError::option_ignored("IV"));
        }
        return Ok([0; BLOCK]);
    }
    let iv = args.string(2, context)?;
    let iv = iv
        .as_deref()
        .and_then(|iv| iv.first_chunk::<BLOCK>().copied());
    iv.ok_or_else(|| SqlError::aes_iv_too_short(direction.function(), BLOCK))
}

/// The key, every byte of it mixed into as many as the cipher takes.
fn folded(key: &[u8], mode: CipherMode) -> Vec<u8> {
    let mut folded = vec![0; mode.key_bytes];
    for (i, byte) in key.iter().enumerate() {
        folded[i % mode.key_bytes] ^= byte;
    }
    folded
}

/// An option of a method that makes keys, which must be there and shorter than `limit`.
fn key_option(
    args: &Args<'_>,
    i: usize,
    limit: usize,
    context: &mut EvalContext<'_>,
) -> Result<Vec<u8>, SqlError> {
    let option = args.string(i, context)?;
    match option {
        Some(option) if option.len() < limit => Ok(option.into_owned()),
        _ => Err(SqlError::aes_key_option_size(limit)),
    }
}

/// A key made by the method that the fourth argument names.
fn derived(
    args: &Args<'_>,
    key: &[u8],
    mode: CipherMode,
    context: &mut EvalContext<'_>,
) -> Result<Vec<u8>, SqlError> {
    const OPTION_MAX: usize = 256;
    let method = key_option(args, 3, OPTION_MAX, context)?;
    let salt = match args.len() {
        ..=4 => Vec::new(),
        _ => key_option(args, 4, OPTION_MAX, context)?,
    };
    let mut derived = match &*method {
        b"hkdf" => {
            let mut info = match args.len() {
                ..=5 => Vec::new(),
                _ => key_option(args, 5, OPTION_MAX, context)?,
            };
            info.push(1);
            keyed_hash(&keyed_hash(&salt, key)?, &info)?
        }
        b"pbkdf2_hmac" => {
            let rounds = match args.len() {
                ..=5 => ROUNDS_MIN,
                _ => rounds(&key_option(args, 5, 6, context)?)?,
            };
            stretched(key, &salt, rounds, context)?
        }
        _ => return Err(SqlError::aes_key_method()),
    };
    derived.truncate(mode.key_bytes);
    Ok(derived)
}

/// The least number of rounds of PBKDF2, and the usual one.
const ROUNDS_MIN: u32 = 1000;

/// The rounds that an option says.
fn rounds(option: &[u8]) -> Result<u32, SqlError> {
    const ROUNDS_MAX: u32 = 65_535;
    let digits = option.iter().take_while(|byte| byte.is_ascii_digit());
    let rounds = digits.fold(0_u32, |n, digit| n * 10 + u32::from(digit - b'0'));
    if (ROUNDS_MIN..=ROUNDS_MAX).contains(&rounds) {
        Ok(rounds)
    } else {
        Err(SqlError::aes_key_rounds())
    }
}

fn keyed_hash(key: &[u8], text: &[u8]) -> Result<Vec<u8>, SqlError> {
    let hash = keyed(key)?.chain_update(text).finalize();
    Ok(hash.into_bytes().to_vec())
}

/// HMAC with SHA-512, which takes keys of any length.
fn keyed(key: &[u8]) -> Result<Hmac<Sha512>, SqlError> {
    let hmac = <Hmac<Sha512> as Mac>::new_from_slice(key);
    hmac.map_err(|_| broken("HMAC takes keys of any length").into())
}

/// The first block of PBKDF2, which is as long as any key here.
fn stretched(
    key: &[u8],
    salt: &[u8],
    rounds: u32,
    context: &mut EvalContext<'_>,
) -> Result<Vec<u8>, SqlError> {
    let hmac = keyed(key)?;
    let first = hmac
        .clone()
        .chain_update(salt)
        .chain_update(1_u32.to_be_bytes());
    let mut last = first.finalize().into_bytes();
    let mut sum = last;
    for _ in 1..rounds {
        context.strive(last.len())?;
        last = hmac.clone().chain_update(last).finalize().into_bytes();
        sum.iter_mut()
            .zip(last)
            .for_each(|(sum, byte)| *sum ^= byte);
    }
    Ok(sum.to_vec())
}

/// The cipher with its key.
enum Cipher {
    Aes128(Box<Aes128>),
    Aes192(Box<Aes192>),
    Aes256(Box<Aes256>),
}

impl Cipher {
    /// For a key of 16, 24 or 32 bytes.
    fn new(key: &[u8]) -> Cipher {
        match key.len() {
            16 => Cipher::Aes128(Box::new(Aes128::new(key.into()))),
            24 => Cipher::Aes192(Box::new(Aes192::new(key.into()))),
            _ => Cipher::Aes256(Box::new(Aes256::new(key.into()))),
        }
    }

    fn encrypt(&self, block: &mut [u8; BLOCK]) {
        let block = Block::<Aes128>::from_mut_slice(block);
        match self {
            Cipher::Aes128(cipher) => cipher.encrypt_block(block),
            Cipher::Aes192(cipher) => cipher.encrypt_block(block),
            Cipher::Aes256(cipher) => cipher.encrypt_block(block),
        }
    }

    fn decrypt(&self, block: &mut [u8; BLOCK]) {
        let block = Block::<Aes128>::from_mut_slice(block);
        match self {
            Cipher::Aes128(cipher) => cipher.decrypt_block(block),
            Cipher::Aes192(cipher) => cipher.decrypt_block(block),
            Cipher::Aes256(cipher) => cipher.decrypt_block(block),
        }
    }

    /// ECB and CBC: whole blocks, the last one filled with the number of bytes that it lacks.
    fn encrypt_blocks(
        &self,
        mut data: Vec<u8>,
        mode: CipherMode,
        mut last: [u8; BLOCK],
        context: &mut EvalContext<'_>,
    ) -> Result<Vec<u8>, SqlError> {
        let lack = BLOCK - data.len() % BLOCK;
        data.extend(std::iter::repeat_n(lack as u8, lack));
        let (blocks, _) = data.as_chunks_mut::<BLOCK>();
        for block in blocks {
            context.strive(BLOCK)?;
            if mode.chaining == Chaining::Cbc {
                mix(block, last);
            }
            self.encrypt(block);
            last = *block;
        }
        Ok(data)
    }

    /// The same back; `None` if it was not made so.
    fn decrypt_blocks(
        &self,
        mut data: Vec<u8>,
        mode: CipherMode,
        mut last: [u8; BLOCK],
        context: &mut EvalContext<'_>,
    ) -> Result<Option<Vec<u8>>, SqlError> {
        let (blocks, []) = data.as_chunks_mut::<BLOCK>() else {
            return Ok(None);
        };
        for block in blocks {
            context.strive(BLOCK)?;
            let encrypted = *block;
            self.decrypt(block);
            if mode.chaining == Chaining::Cbc {
                mix(block, last);
            }
            last = encrypted;
        }
        let lack = data.last().copied().map_or(0, usize::from);
        let Some(end) = data.len().checked_sub(lack) else {
            return Ok(None);
        };
        let is_sound = (1..=BLOCK).contains(&lack)
            && data[end..].iter().all(|&byte| usize::from(byte) == lack);
        data.truncate(end);
        Ok(is_sound.then_some(data))
    }

    /// CFB128 and OFB: what is mixed into the data depends on the block before.
    fn block_stream(
        &self,
        mut data: Vec<u8>,
        mode: CipherMode,
        mut register: [u8; BLOCK],
        direction: Direction,
        context: &mut EvalContext<'_>,
    ) -> Result<Vec<u8>, SqlError> {
        for block in data.chunks_mut(BLOCK) {
            context.strive(BLOCK)?;
            self.encrypt(&mut register);
            for (byte, key) in block.iter_mut().zip(&mut register) {
                let before = *byte;
                *byte ^= *key;
                if mode.chaining == Chaining::Cfb128 {
                    *key = match direction {
                        Direction::Encrypt => *byte,
                        Direction::Decrypt => before,
                    };
                }
            }
        }
        Ok(data)
    }

    /// CFB8: each byte depends on the sixteen before.
    fn byte_stream(
        &self,
        mut data: Vec<u8>,
        mut register: [u8; BLOCK],
        direction: Direction,
        context: &mut EvalContext<'_>,
    ) -> Result<Vec<u8>, SqlError> {
        for byte in &mut data {
            context.strive(BLOCK)?;
            let mut key = register;
            self.encrypt(&mut key);
            let before = *byte;
            *byte ^= key[0];
            register.rotate_left(1);
            register[BLOCK - 1] = match direction {
                Direction::Encrypt => *byte,
                Direction::Decrypt => before,
            };
        }
        Ok(data)
    }

    /// CFB1: each bit depends on the 128 before.
    fn bit_stream(
        &self,
        mut data: Vec<u8>,
        register: [u8; BLOCK],
        direction: Direction,
        context: &mut EvalContext<'_>,
    ) -> Result<Vec<u8>, SqlError> {
        let mut register = u128::from_be_bytes(register);
        for byte in &mut data {
            context.strive(8 * BLOCK)?;
            for bit in (0..8).rev() {
                let mut key = register.to_be_bytes();
                self.encrypt(&mut key);
                let before = *byte >> bit & 1;
                let after = before ^ key[0] >> 7;
                *byte = *byte & !(1 << bit) | after << bit;
                let chained = match direction {
                    Direction::Encrypt => after,
                    Direction::Decrypt => before,
                };
                register = register << 1 | u128::from(chained);
            }
        }
        Ok(data)
    }
}

/// Mixes another block into one.
fn mix(block: &mut [u8; BLOCK], other: [u8; BLOCK]) {
    block
        .iter_mut()
        .zip(other)
        .for_each(|(byte, other)| *byte ^= other);
}
