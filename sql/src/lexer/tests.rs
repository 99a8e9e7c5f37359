use super::*;
use cohort_engine::types::Value;

fn texts(source: &str) -> Vec<&str> {
    Lexer::tokens(source.as_bytes(), Mode::default())
        .iter()
        .map(|t| &source[t.start..t.end])
        .collect()
}

fn kinds(source: &str) -> Vec<Kind> {
    Lexer::tokens(source.as_bytes(), Mode::default())
        .iter()
        .map(|t| t.kind)
        .collect()
}

#[test]
fn splits_a_statement() {
    assert_eq!(
        texts("SELECT `a``b`,t.c FROM t WHERE id>=-5 AND s='it''s \\' ok' -- end"),
        [
            "SELECT",
            "`a``b`",
            ",",
            "t",
            ".",
            "c",
            "FROM",
            "t",
            "WHERE",
            "id",
            ">=",
            "-",
            "5",
            "AND",
            "s",
            "=",
            "'it''s \\' ok'"
        ]
    );
    assert_eq!(
        texts("a<=>b<>c!=d:=e||f&&g->>h"),
        [
            "a", "<=>", "b", "<>", "c", "!=", "d", ":=", "e", "||", "f", "&&", "g", "->>", "h"
        ]
    );
}

#[test]
fn knows_numbers_from_names() {
    use Kind::*;
    assert_eq!(
        kinds("1 1.5 .5 1e3 1.5E-3 0x1f 0b01 x'00' b'1' 1abc 0xzz t1.2x 5."),
        [
            Integer, Decimal, Decimal, Float, Float, Hex, Bit, Hex, Bit, Word, Word, Word, Symbol,
            Word, Decimal
        ]
    );
}

#[test]
fn comments_and_versions() {
    assert_eq!(
        texts("/* x */ SELECT /*!40101 1 */ # rest\n + /*!99999 2 */ 3"),
        ["SELECT", "1", "+", "3"]
    );
    assert_eq!(texts("1--1"), ["1", "-", "-", "1"]);
    assert_eq!(texts("1 --"), ["1"]);
    assert_eq!(texts("SELECT /*+ NO_ICP(t) */ 1"), ["SELECT", "1"]);
}

#[test]
fn variables_and_placeholders() {
    use Kind::*;
    assert_eq!(
        kinds("@a := @`b c` + @@global.x + ?"),
        [
            UserVariable,
            Symbol,
            UserVariable,
            Symbol,
            SystemVariable,
            Symbol,
            Word,
            Symbol,
            Placeholder
        ]
    );
}

#[test]
fn unterminated_is_invalid() {
    assert_eq!(kinds("'abc"), [Kind::Invalid]);
    assert_eq!(kinds("'abc\\"), [Kind::Invalid]);
    assert_eq!(kinds("`abc"), [Kind::Invalid]);
    assert_eq!(kinds("\0"), [Kind::Invalid]);
    assert_eq!(kinds("1 /* 'abc"), [Kind::Integer, Kind::Invalid]);
    assert_eq!(kinds("/*!99999 1"), [Kind::Invalid]);
    assert_eq!(kinds("/*!80000 1"), [Kind::Integer, Kind::Invalid]);
}

#[test]
fn values() {
    let mode = Mode::default();
    assert_eq!(&*string(b"'a''b\\n\\%\\q'", mode), b"a'b\n\\%q");
    assert_eq!(&*string(b"\"a'b\"", mode), b"a'b");
    let plain = Mode {
        no_backslash_escapes: true,
        ..mode
    };
    assert_eq!(&*string(b"'a\\n''b'", plain), b"a\\n'b");
    assert_eq!(name(b"`a``b`"), "a`b");
    assert_eq!(name(b"@`x`"), "x");
    assert_eq!(
        number(Kind::Integer, b"18446744073709551615"),
        Some(Value::UInt(u64::MAX))
    );
    assert_eq!(number(Kind::Float, b"1e3"), Some(Value::Double(1000.0)));
    assert_eq!(
        number(Kind::Decimal, b"1.50"),
        Some(Value::Decimal("1.50".parse().unwrap()))
    );
}

#[test]
fn any_bytes_end() {
    let mut seed = 1u32;
    for _ in 0..2000 {
        let bytes: Vec<u8> = (0..40)
            .map(|_| {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                b"'\"`\\@?/*!-#.0x1e5ab \n\xff\x80"[(seed >> 24) as usize % 23]
            })
            .collect();
        let tokens = Lexer::tokens(&bytes, mode_of(seed));
        assert!(
            tokens
                .windows(2)
                .all(|w| w[0].end <= w[1].start && w[0].start < w[0].end)
        );
    }
}

fn mode_of(seed: u32) -> Mode {
    Mode {
        ansi_quotes: seed & 1 != 0,
        no_backslash_escapes: seed & 2 != 0,
        ..Mode::default()
    }
}

fn lifted(source: &str) -> Option<(String, usize, usize)> {
    let mut lifted = Lifted::default();
    lifted.lift(source.as_bytes(), Mode::default()).then(|| {
        (
            String::from_utf8(lifted.key).unwrap(),
            lifted.values.len(),
            lifted.places.len(),
        )
    })
}

fn key(source: &str) -> String {
    lifted(source).unwrap().0
}

#[test]
fn lifts_where_it_is_safe() {
    assert_eq!(
        key("SELECT 1, a+2 FROM t WHERE id=5 AND s IN ('x',-1.5) ORDER BY 1 LIMIT 10"),
        "SELECT 1, a+2 FROM t WHERE id = ?i AND s IN ( ?s , ?d1 ) ORDER BY 1 LIMIT ?i"
    );
    assert_eq!(
        key("SELECT SUBSTRING('abc' FROM 2) FROM t GROUP BY a+1 HAVING a+1>1 LIMIT 3"),
        "SELECT SUBSTRING('abc' FROM 2) FROM t GROUP BY a + 1 HAVING a + 1 > 1 LIMIT ?i"
    );
    assert_eq!(
        key("UPDATE t SET k=k-1, d=DATE'2020-01-01', e=d+INTERVAL 1 DAY WHERE id=1e3"),
        "UPDATE t SET k = k - ?i , d = DATE '2020-01-01' , e = d + INTERVAL 1 DAY WHERE id = ?f"
    );
    assert_eq!(
        key("SELECT * FROM t WHERE CAST(a AS CHAR(3))='x' AND b=(SELECT 1 FROM u WHERE c=2)"),
        "SELECT * FROM t WHERE CAST ( a AS CHAR ( 3 ) ) = ?s AND b = ( SELECT 1 FROM u WHERE c = ?i )"
    );
}

#[test]
fn folds_rows_that_look_the_same() {
    assert_eq!(
        lifted("INSERT INTO t(a,b) VALUES (1,'x'),(-2,NULL),(3,'y')"),
        Some(("INSERT INTO t ( a , b ) VALUES ( ? , ? )".into(), 6, 2))
    );
    assert_eq!(
        lifted("INSERT INTO t VALUES (1,NOW()),(2,NOW()) ON DUPLICATE KEY UPDATE a=a+7"),
        Some((
            "INSERT INTO t VALUES ( ? , NOW ( ) ) ON DUPLICATE KEY UPDATE a = a + ?i".into(),
            3,
            2
        ))
    );
    assert_eq!(
        lifted("INSERT INTO t VALUES (1,2),(2,3),(3,NOW())"),
        Some((
            "INSERT INTO t VALUES ( ? , ? ) , ( ? , ? ) , ( ? , NOW ( ) )".into(),
            5,
            5
        ))
    );
    assert_eq!(
        lifted("INSERT INTO t VALUES (DEFAULT),(DEFAULT)")
            .unwrap()
            .0,
        "INSERT INTO t VALUES ( DEFAULT ) , ( DEFAULT )"
    );
    // Kinds matter where a literal is not the whole value.
    assert_eq!(
        lifted("INSERT INTO t VALUES (1,2+b,IF(a,3,4)),(NULL,2e0+b,IF(a,3,4))"),
        Some((
            "INSERT INTO t VALUES ( ? , ?i + b , IF ( a , ?i , ?i ) ) , \
             ( ? , ?f + b , IF ( a , ?i , ?i ) )"
                .into(),
            8,
            8
        ))
    );
}

#[test]
fn leaves_others_alone() {
    for source in [
        "SHOW TABLES",
        "SELECT ?",
        "SELECT 'a",
        "SELECT * FROM t WHERE a='x' 'y'",
        "SELECT (1",
    ] {
        assert_eq!(lifted(source), None, "{source}");
    }
    let mut walk = Lifted::default();
    assert!(walk.lift(b"SELECT 1 ; SELECT 2", Mode::default()));
    assert_eq!(walk.end, 9);
}
