//! Bytes where characters are wanted: those that stand beside characters become such, and what is
//! no text is refused (3854).

use super::{Scope, check_mixable, comparison_collation, is_constant};
use crate::{
    error::SqlError,
    expr::{
        Expr, ExprType,
        functions::{AS_CHARACTERS, CONVERTED, Function, converted},
        infer,
    },
};
use cohort_engine::types::{Charset, Collation, Value};

/// Of what yields bytes, or characters of another character set, those of the collation's. A
/// constant is converted at once if it is a literal (3854), and else before anything is read.
pub(super) fn of(
    expr: Expr,
    collation: Collation,
    scope: &mut dyn Scope,
) -> Result<Expr, SqlError> {
    let ty = infer(&expr);
    let (from, to) = (ty.collation.charset(), collation.charset());
    let is_alike = if to == Charset::Binary {
        from.is_as_stored()
    } else {
        from != Charset::Binary && to.includes(from)
    };
    if !ty.is_string() || is_alike {
        return Ok(expr);
    }
    if collation.is_binary() {
        let length = ty.length_in(collation);
        let ty = ExprType::string(length, collation, ty.coercibility).nullable_if(ty.nullable);
        let expr = Box::new(expr);
        return Ok(Expr::Cast { expr, ty });
    }
    if let Expr::Literal(Value::Bytes(bytes), _) = &expr
        && to.is_as_stored()
        && to.foreign_at(bytes).is_none()
    {
        return Ok(expr);
    }
    let (function, ty) = if ty.is_bytes() && to.is_as_stored() {
        (&AS_CHARACTERS, ty)
    } else {
        let ty = ExprType {
            collation,
            ..ty.computed()
        };
        (&CONVERTED, ty)
    };
    // Bytes that are no characters are refused only where they are met.
    let mut is_known_later = false;
    if from != Charset::Binary {
        match &expr {
            Expr::Literal(Value::Bytes(bytes), _) => {
                converted(bytes, from, to)?;
            }
            expr => is_known_later = is_constant(expr),
        }
    }
    let args = vec![expr];
    let conversion = Expr::call(function, args, ty);
    if is_known_later {
        scope.convert_first(&conversion);
    }
    Ok(conversion)
}

/// 3854 if an expression is a constant that lacks in the character set of what it becomes a part of,
/// now or before anything is read.
pub fn check_constant(
    expr: &Expr,
    whole: &ExprType,
    scope: &mut dyn Scope,
) -> Result<(), SqlError> {
    if whole.is_string() && !whole.is_bytes() && is_constant(expr) {
        of(expr.clone(), whole.collation, scope)?;
    }
    Ok(())
}

/// The arguments of a function as it takes them for a result of this type.
pub(super) fn arguments(
    function: &Function,
    args: Vec<Expr>,
    ty: &ExprType,
    scope: &mut dyn Scope,
) -> Result<Vec<Expr>, SqlError> {
    let Some((collation, which)) = wanted(function.name, &args, ty, scope.collation())? else {
        return Ok(args);
    };
    let make = |(i, arg)| match which.contains(&i) {
        true => of(arg, collation, scope),
        false => Ok(arg),
    };
    args.into_iter().enumerate().map(make).collect()
}

/// The collation of the result, for the arguments that it is made of.
fn agreed(
    name: &str,
    args: &[Expr],
    ty: &ExprType,
    which: std::ops::Range<usize>,
) -> Result<(Collation, std::ops::Range<usize>), SqlError> {
    let of = args.get(which.clone()).unwrap_or_default();
    let types: Vec<ExprType> = of.iter().map(infer).collect();
    check_mixable(&types, name)?;
    Ok((ty.collation, which))
}

/// The collation of some arguments, and which they are.
fn wanted(
    name: &str,
    args: &[Expr],
    ty: &ExprType,
    connection: Collation,
) -> Result<Option<(Collation, std::ops::Range<usize>)>, SqlError> {
    let own = |i: usize| match args.get(i).map(infer) {
        Some(ty) if ty.is_searched() => ty.collation,
        _ => connection,
    };
    let is_number = |arg: &Expr| {
        let ty = infer(arg);
        ty.ty.is_some() && !ty.is_searched() && !ty.is_temporal()
    };
    Ok(Some(match name {
        // All are alike.
        "concat" | "concat_ws" | "coalesce" | "ifnull" if ty.is_string() => {
            agreed(name, args, ty, 0..args.len())?
        }
        "if" | "elt" | "make_set" if ty.is_string() => agreed(name, args, ty, 1..args.len())?,
        "export_set" => agreed(name, args, ty, 1..args.len().min(4))?,
        "nullif" => {
            let types = args.iter().map(infer);
            let strings: Vec<ExprType> = types.filter(ExprType::is_string).collect();
            (comparison_collation(&strings, name)?, 0..args.len())
        }
        "greatest" | "least" if ty.is_string() => agreed(name, args, ty, 0..args.len())?,
        "strcmp" | "find_in_set" => {
            let types = args.iter().map(infer);
            let strings: Vec<ExprType> = types.filter_map(|ty| ty.searched()).collect();
            (comparison_collation(&strings, name)?, 0..args.len())
        }
        "regexp_like" | "regexp_instr" | "regexp_substr" | "regexp_replace" => {
            let types = args.iter().take(2).map(infer);
            let strings: Vec<ExprType> = types.filter_map(|ty| ty.searched()).collect();
            (comparison_collation(&strings, name)?, 0..2)
        }
        // The first one decides.
        "instr" | "substring_index" | "trim" => (own(0), 1..2),
        "lpad" | "rpad" => (own(0), 2..3),
        "replace" => (own(0), 1..3),
        "insert" => (own(0), 3..4),
        "field" if !args.iter().any(is_number) => (own(0), 1..args.len()),
        // The second one does.
        "locate" => (own(1), 0..1),
        "quote" => (connection, 0..1),
        // They look at the bytes.
        "length" | "octet_length" | "bit_length" | "hex" | "md5" | "sha" | "sha1" | "sha2"
        | "crc32" | "to_base64" | "ascii" => (Collation::Binary, 0..1),
        "aes_encrypt" | "aes_decrypt" => (Collation::Binary, 0..3),
        _ => return Ok(None),
    }))
}
