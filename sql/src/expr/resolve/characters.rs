//! Bytes where characters are wanted: those that stand beside characters become such, and what is
//! no text is refused (3854).

use super::{check_mixable, comparison_collation};
use crate::{
    error::SqlError,
    expr::{
        Expr, ExprType,
        functions::{AS_CHARACTERS, CONVERTED, Function},
        infer,
    },
};
use cohort_engine::types::{Charset, Collation, Value};

/// Of what yields bytes, or characters of another character set, those of the collation's.
pub(super) fn of(expr: Expr, collation: Collation) -> Expr {
    let ty = infer(&expr);
    let (from, to) = (ty.collation.charset(), collation.charset());
    let is_alike = if to == Charset::Binary {
        from.is_as_stored()
    } else {
        from != Charset::Binary && to.includes(from)
    };
    if !ty.is_string() || is_alike {
        return expr;
    }
    if collation.is_binary() {
        let length = ty.length_in(collation);
        let ty = ExprType::string(length, collation, ty.coercibility).nullable_if(ty.nullable);
        let expr = Box::new(expr);
        return Expr::Cast { expr, ty };
    }
    if let Expr::Literal(Value::Bytes(bytes), _) = &expr
        && to.is_as_stored()
        && to.foreign_at(bytes).is_none()
    {
        return expr;
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
    let args = vec![expr];
    Expr::Function { function, args, ty }
}

/// The arguments of a function as it takes them for a result of this type.
pub(super) fn arguments(
    function: &Function,
    args: Vec<Expr>,
    ty: &ExprType,
    connection: Collation,
) -> Result<Vec<Expr>, SqlError> {
    let Some((collation, which)) = wanted(function.name, &args, ty, connection)? else {
        return Ok(args);
    };
    let make = |(i, arg)| {
        if which.contains(&i) {
            of(arg, collation)
        } else {
            arg
        }
    };
    Ok(args.into_iter().enumerate().map(make).collect())
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
        _ => return Ok(None),
    }))
}
