//! The collations there are: one row of facts each.

use super::{
    Charset, bytes, multibyte,
    order::Order,
    uca::{self, UCA_400, UCA_520, UCA_900},
    weights::{GENERAL, GENERAL_500, TOLOWER, Table},
};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// Whether trailing spaces count when strings are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// The shorter string is compared as if it went on with spaces.
    Space,
    /// They count as other characters do.
    None,
}

/// What is known of a collation.
pub(super) struct Facts {
    pub id: u16,
    pub name: &'static str,
    pub charset: Charset,
    pub padding: Padding,
    /// SHOW COLLATION's Sortlen.
    pub sort_length: u64,
    pub order: Order,
}

/// Makes the enum and the rows of facts from one list.
macro_rules! collations {
    ($($variant:ident $id:literal $name:literal $charset:ident $padding:ident $sort_length:literal $order:expr;)*) => {
        /// A character set and its order. The names of the variants are in the data dictionary.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Collation {
            $(#[doc = $name] $variant,)*
        }

        impl Collation {
            /// All collations.
            pub const ALL: &'static [Collation] = &[$(Collation::$variant,)*];

            pub(super) fn facts(self) -> &'static Facts {
                match self {
                    $(Collation::$variant => {
                        static FACTS: Facts = Facts {
                            id: $id,
                            name: $name,
                            charset: Charset::$charset,
                            padding: Padding::$padding,
                            sort_length: $sort_length,
                            order: $order,
                        };
                        &FACTS
                    })*
                }
            }
        }
    };
}

collations! {
    Utf8mb40900AiCi      255 "utf8mb4_0900_ai_ci"     Utf8mb4 None  0 Order::Uca(&UCA_900, 1);
    Utf8mb40900AsCi      305 "utf8mb4_0900_as_ci"     Utf8mb4 None  0 Order::Uca(&UCA_900, 2);
    Utf8mb40900AsCs      278 "utf8mb4_0900_as_cs"     Utf8mb4 None  0 Order::Uca(&UCA_900, 3);
    Utf8mb40900Bin       309 "utf8mb4_0900_bin"       Utf8mb4 None  1 Order::CodePoints;
    Utf8mb4Bin            46 "utf8mb4_bin"            Utf8mb4 Space 1 Order::CodePoints;
    Utf8mb4GeneralCi      45 "utf8mb4_general_ci"     Utf8mb4 Space 1 Order::Table(&GENERAL);
    Utf8mb4UnicodeCi     224 "utf8mb4_unicode_ci"     Utf8mb4 Space 8 Order::Uca(&UCA_400, 1);
    Utf8mb4Unicode520Ci  246 "utf8mb4_unicode_520_ci" Utf8mb4 Space 8 Order::Uca(&UCA_520, 1);
    Utf8mb3Bin            83 "utf8mb3_bin"            Utf8mb3 Space 1 Order::CodePoints;
    Utf8mb3GeneralCi      33 "utf8mb3_general_ci"     Utf8mb3 Space 1 Order::Table(&GENERAL);
    Utf8mb3UnicodeCi     192 "utf8mb3_unicode_ci"     Utf8mb3 Space 8 Order::Uca(&UCA_400, 1);
    Utf8mb3Unicode520Ci  214 "utf8mb3_unicode_520_ci" Utf8mb3 Space 8 Order::Uca(&UCA_520, 1);
    Latin1Bin             47 "latin1_bin"             Latin1  Space 1 Order::Table(&bytes::LATIN1_BIN);
    Latin1DanishCi        15 "latin1_danish_ci"       Latin1  Space 1 Order::Table(&bytes::LATIN1_DANISH_CI);
    Latin1GeneralCi       48 "latin1_general_ci"      Latin1  Space 1 Order::Table(&bytes::LATIN1_GENERAL_CI);
    Latin1GeneralCs       49 "latin1_general_cs"      Latin1  Space 1 Order::Table(&bytes::LATIN1_GENERAL_CS);
    Latin1German1Ci        5 "latin1_german1_ci"      Latin1  Space 1 Order::Table(&bytes::LATIN1_GERMAN1_CI);
    Latin1SpanishCi       94 "latin1_spanish_ci"      Latin1  Space 1 Order::Table(&bytes::LATIN1_SPANISH_CI);
    Latin1SwedishCi        8 "latin1_swedish_ci"      Latin1  Space 1 Order::Table(&bytes::LATIN1_SWEDISH_CI);
    Big5Bin 84 "big5_bin" Big5 Space 1 Order::Table(&multibyte::BIG5_BIN);
    Big5ChineseCi 1 "big5_chinese_ci" Big5 Space 1 Order::Table(&multibyte::BIG5_CHINESE_CI);
    Cp932Bin 96 "cp932_bin" Cp932 Space 1 Order::Table(&multibyte::CP932_BIN);
    Cp932JapaneseCi 95 "cp932_japanese_ci" Cp932 Space 1 Order::Table(&multibyte::CP932_JAPANESE_CI);
    EucjpmsBin 98 "eucjpms_bin" Eucjpms Space 1 Order::Table(&multibyte::EUCJPMS_BIN);
    EucjpmsJapaneseCi 97 "eucjpms_japanese_ci" Eucjpms Space 1 Order::Table(&multibyte::EUCJPMS_JAPANESE_CI);
    EuckrBin 85 "euckr_bin" Euckr Space 1 Order::Table(&multibyte::EUCKR_BIN);
    EuckrKoreanCi 19 "euckr_korean_ci" Euckr Space 1 Order::Table(&multibyte::EUCKR_KOREAN_CI);
    Gb2312Bin 86 "gb2312_bin" Gb2312 Space 1 Order::Table(&multibyte::GB2312_BIN);
    Gb2312ChineseCi 24 "gb2312_chinese_ci" Gb2312 Space 1 Order::Table(&multibyte::GB2312_CHINESE_CI);
    Gb18030Bin 249 "gb18030_bin" Gb18030 Space 1 Order::Table(&multibyte::GB18030_BIN);
    Gb18030ChineseCi 248 "gb18030_chinese_ci" Gb18030 Space 2 Order::Table(&multibyte::GB18030_CHINESE_CI);
    Gb18030Unicode520Ci 250 "gb18030_unicode_520_ci" Gb18030 Space 8 Order::Uca(&UCA_520, 1);
    GbkBin 87 "gbk_bin" Gbk Space 1 Order::Table(&multibyte::GBK_BIN);
    GbkChineseCi 28 "gbk_chinese_ci" Gbk Space 1 Order::Table(&multibyte::GBK_CHINESE_CI);
    SjisBin 88 "sjis_bin" Sjis Space 1 Order::Table(&multibyte::SJIS_BIN);
    SjisJapaneseCi 13 "sjis_japanese_ci" Sjis Space 1 Order::Table(&multibyte::SJIS_JAPANESE_CI);
    UjisBin 91 "ujis_bin" Ujis Space 1 Order::Table(&multibyte::UJIS_BIN);
    UjisJapaneseCi 12 "ujis_japanese_ci" Ujis Space 1 Order::Table(&multibyte::UJIS_JAPANESE_CI);
    Swe7Bin 82 "swe7_bin" Swe7 Space 1 Order::Table(&bytes::SWE7_BIN);
    Swe7SwedishCi 10 "swe7_swedish_ci" Swe7 Space 1 Order::Table(&bytes::SWE7_SWEDISH_CI);
    Tis620Bin 89 "tis620_bin" Tis620 Space 1 Order::Table(&bytes::TIS620_BIN);
    Tis620ThaiCi 18 "tis620_thai_ci" Tis620 Space 4 Order::Thai;
    AsciiBin              65 "ascii_bin"              Ascii   Space 1 Order::CodePoints;
    AsciiGeneralCi        11 "ascii_general_ci"       Ascii   Space 1 Order::Table(&bytes::ASCII_GENERAL_CI);
    Utf8mb4Bg0900AiCi        318 "utf8mb4_bg_0900_ai_ci"       Utf8mb4 None  0 Order::Uca(&uca::BG, 1);
    Utf8mb4Bg0900AsCs        319 "utf8mb4_bg_0900_as_cs"       Utf8mb4 None  0 Order::Uca(&uca::BG, 3);
    Utf8mb4Bs0900AiCi        316 "utf8mb4_bs_0900_ai_ci"       Utf8mb4 None  0 Order::Uca(&uca::BS, 1);
    Utf8mb4Bs0900AsCs        317 "utf8mb4_bs_0900_as_cs"       Utf8mb4 None  0 Order::Uca(&uca::BS, 3);
    Utf8mb4Cs0900AiCi        266 "utf8mb4_cs_0900_ai_ci"       Utf8mb4 None  0 Order::Uca(&uca::CS, 1);
    Utf8mb4Cs0900AsCs        289 "utf8mb4_cs_0900_as_cs"       Utf8mb4 None  0 Order::Uca(&uca::CS, 3);
    Utf8mb4Da0900AiCi        267 "utf8mb4_da_0900_ai_ci"       Utf8mb4 None  0 Order::Uca(&uca::DA, 1);
    Utf8mb4Da0900AsCs        290 "utf8mb4_da_0900_as_cs"       Utf8mb4 None  0 Order::Uca(&uca::DA, 3);
    Utf8mb4DePb0900AiCi      256 "utf8mb4_de_pb_0900_ai_ci"    Utf8mb4 None  0 Order::Uca(&uca::DE_PB, 1);
    Utf8mb4DePb0900AsCs      279 "utf8mb4_de_pb_0900_as_cs"    Utf8mb4 None  0 Order::Uca(&uca::DE_PB, 3);
    Utf8mb4Eo0900AiCi        273 "utf8mb4_eo_0900_ai_ci"       Utf8mb4 None  0 Order::Uca(&uca::EO, 1);
    Utf8mb4Eo0900AsCs        296 "utf8mb4_eo_0900_as_cs"       Utf8mb4 None  0 Order::Uca(&uca::EO, 3);
    Utf8mb4Es0900AiCi        263 "utf8mb4_es_0900_ai_ci"       Utf8mb4 None  0 Order::Uca(&uca::ES, 1);
    Utf8mb4Es0900AsCs        286 "utf8mb4_es_0900_as_cs"       Utf8mb4 None  0 Order::Uca(&uca::ES, 3);
    Utf8mb4EsTrad0900AiCi    270 "utf8mb4_es_trad_0900_ai_ci"  Utf8mb4 None  0 Order::Uca(&uca::ES_TRAD, 1);
    Utf8mb4EsTrad0900AsCs    293 "utf8mb4_es_trad_0900_as_cs"  Utf8mb4 None  0 Order::Uca(&uca::ES_TRAD, 3);
    Utf8mb4Et0900AiCi        262 "utf8mb4_et_0900_ai_ci"       Utf8mb4 None  0 Order::Uca(&uca::ET, 1);
    Utf8mb4Et0900AsCs        285 "utf8mb4_et_0900_as_cs"       Utf8mb4 None  0 Order::Uca(&uca::ET, 3);
    Utf8mb4Gl0900AiCi        320 "utf8mb4_gl_0900_ai_ci"       Utf8mb4 None  0 Order::Uca(&uca::GL, 1);
    Utf8mb4Gl0900AsCs        321 "utf8mb4_gl_0900_as_cs"       Utf8mb4 None  0 Order::Uca(&uca::GL, 3);
    Utf8mb4Hr0900AiCi        275 "utf8mb4_hr_0900_ai_ci"       Utf8mb4 None  0 Order::Uca(&uca::HR, 1);
    Utf8mb4Hr0900AsCs        298 "utf8mb4_hr_0900_as_cs"       Utf8mb4 None  0 Order::Uca(&uca::HR, 3);
    Utf8mb4Hu0900AiCi        274 "utf8mb4_hu_0900_ai_ci"       Utf8mb4 None  0 Order::Uca(&uca::HU, 1);
    Utf8mb4Hu0900AsCs        297 "utf8mb4_hu_0900_as_cs"       Utf8mb4 None  0 Order::Uca(&uca::HU, 3);
    Utf8mb4Is0900AiCi        257 "utf8mb4_is_0900_ai_ci"       Utf8mb4 None  0 Order::Uca(&uca::IS, 1);
    Utf8mb4Is0900AsCs        280 "utf8mb4_is_0900_as_cs"       Utf8mb4 None  0 Order::Uca(&uca::IS, 3);
    Utf8mb4Ja0900AsCs        303 "utf8mb4_ja_0900_as_cs"       Utf8mb4 None  0 Order::Uca(&uca::JA, 3);
    Utf8mb4Ja0900AsCsKs      304 "utf8mb4_ja_0900_as_cs_ks"    Utf8mb4 None 24 Order::Uca(&uca::JA, 4);
    Utf8mb4La0900AiCi        271 "utf8mb4_la_0900_ai_ci"       Utf8mb4 None  0 Order::Uca(&uca::LA, 1);
    Utf8mb4La0900AsCs        294 "utf8mb4_la_0900_as_cs"       Utf8mb4 None  0 Order::Uca(&uca::LA, 3);
    Utf8mb4Lt0900AiCi        268 "utf8mb4_lt_0900_ai_ci"       Utf8mb4 None  0 Order::Uca(&uca::LT, 1);
    Utf8mb4Lt0900AsCs        291 "utf8mb4_lt_0900_as_cs"       Utf8mb4 None  0 Order::Uca(&uca::LT, 3);
    Utf8mb4Lv0900AiCi        258 "utf8mb4_lv_0900_ai_ci"       Utf8mb4 None  0 Order::Uca(&uca::LV, 1);
    Utf8mb4Lv0900AsCs        281 "utf8mb4_lv_0900_as_cs"       Utf8mb4 None  0 Order::Uca(&uca::LV, 3);
    Utf8mb4MnCyrl0900AiCi    322 "utf8mb4_mn_cyrl_0900_ai_ci"  Utf8mb4 None  0 Order::Uca(&uca::MN_CYRL, 1);
    Utf8mb4MnCyrl0900AsCs    323 "utf8mb4_mn_cyrl_0900_as_cs"  Utf8mb4 None  0 Order::Uca(&uca::MN_CYRL, 3);
    Utf8mb4Nb0900AiCi        310 "utf8mb4_nb_0900_ai_ci"       Utf8mb4 None  0 Order::Uca(&uca::NB, 1);
    Utf8mb4Nb0900AsCs        311 "utf8mb4_nb_0900_as_cs"       Utf8mb4 None  0 Order::Uca(&uca::NB, 3);
    Utf8mb4Nn0900AiCi        312 "utf8mb4_nn_0900_ai_ci"       Utf8mb4 None  0 Order::Uca(&uca::NN, 1);
    Utf8mb4Nn0900AsCs        313 "utf8mb4_nn_0900_as_cs"       Utf8mb4 None  0 Order::Uca(&uca::NN, 3);
    Utf8mb4Pl0900AiCi        261 "utf8mb4_pl_0900_ai_ci"       Utf8mb4 None  0 Order::Uca(&uca::PL, 1);
    Utf8mb4Pl0900AsCs        284 "utf8mb4_pl_0900_as_cs"       Utf8mb4 None  0 Order::Uca(&uca::PL, 3);
    Utf8mb4Ro0900AiCi        259 "utf8mb4_ro_0900_ai_ci"       Utf8mb4 None  0 Order::Uca(&uca::RO, 1);
    Utf8mb4Ro0900AsCs        282 "utf8mb4_ro_0900_as_cs"       Utf8mb4 None  0 Order::Uca(&uca::RO, 3);
    Utf8mb4Ru0900AiCi        306 "utf8mb4_ru_0900_ai_ci"       Utf8mb4 None  0 Order::Uca(&uca::RU, 1);
    Utf8mb4Ru0900AsCs        307 "utf8mb4_ru_0900_as_cs"       Utf8mb4 None  0 Order::Uca(&uca::RU, 3);
    Utf8mb4Sk0900AiCi        269 "utf8mb4_sk_0900_ai_ci"       Utf8mb4 None  0 Order::Uca(&uca::SK, 1);
    Utf8mb4Sk0900AsCs        292 "utf8mb4_sk_0900_as_cs"       Utf8mb4 None  0 Order::Uca(&uca::SK, 3);
    Utf8mb4Sl0900AiCi        260 "utf8mb4_sl_0900_ai_ci"       Utf8mb4 None  0 Order::Uca(&uca::SL, 1);
    Utf8mb4Sl0900AsCs        283 "utf8mb4_sl_0900_as_cs"       Utf8mb4 None  0 Order::Uca(&uca::SL, 3);
    Utf8mb4SrLatn0900AiCi    314 "utf8mb4_sr_latn_0900_ai_ci"  Utf8mb4 None  0 Order::Uca(&uca::SR_LATN, 1);
    Utf8mb4SrLatn0900AsCs    315 "utf8mb4_sr_latn_0900_as_cs"  Utf8mb4 None  0 Order::Uca(&uca::SR_LATN, 3);
    Utf8mb4Sv0900AiCi        264 "utf8mb4_sv_0900_ai_ci"       Utf8mb4 None  0 Order::Uca(&uca::SV, 1);
    Utf8mb4Sv0900AsCs        287 "utf8mb4_sv_0900_as_cs"       Utf8mb4 None  0 Order::Uca(&uca::SV, 3);
    Utf8mb4Tr0900AiCi        265 "utf8mb4_tr_0900_ai_ci"       Utf8mb4 None  0 Order::Uca(&uca::TR, 1);
    Utf8mb4Tr0900AsCs        288 "utf8mb4_tr_0900_as_cs"       Utf8mb4 None  0 Order::Uca(&uca::TR, 3);
    Utf8mb4Vi0900AiCi        277 "utf8mb4_vi_0900_ai_ci"       Utf8mb4 None  0 Order::Uca(&uca::VI, 1);
    Utf8mb4Vi0900AsCs        300 "utf8mb4_vi_0900_as_cs"       Utf8mb4 None  0 Order::Uca(&uca::VI, 3);
    Utf8mb4Zh0900AsCs        308 "utf8mb4_zh_0900_as_cs"       Utf8mb4 None  0 Order::Uca(&uca::ZH, 3);
    Utf8mb4CroatianCi        245 "utf8mb4_croatian_ci"         Utf8mb4 Space 8 Order::Uca(&uca::CROATIAN, 1);
    Utf8mb4CzechCi           234 "utf8mb4_czech_ci"            Utf8mb4 Space 8 Order::Uca(&uca::CZECH, 1);
    Utf8mb4DanishCi          235 "utf8mb4_danish_ci"           Utf8mb4 Space 8 Order::Uca(&uca::DANISH, 1);
    Utf8mb4EsperantoCi       241 "utf8mb4_esperanto_ci"        Utf8mb4 Space 8 Order::Uca(&uca::ESPERANTO, 1);
    Utf8mb4EstonianCi        230 "utf8mb4_estonian_ci"         Utf8mb4 Space 8 Order::Uca(&uca::ESTONIAN, 1);
    Utf8mb4German2Ci         244 "utf8mb4_german2_ci"          Utf8mb4 Space 8 Order::Uca(&uca::GERMAN2, 1);
    Utf8mb4HungarianCi       242 "utf8mb4_hungarian_ci"        Utf8mb4 Space 8 Order::Uca(&uca::HUNGARIAN, 1);
    Utf8mb4IcelandicCi       225 "utf8mb4_icelandic_ci"        Utf8mb4 Space 8 Order::Uca(&uca::ICELANDIC, 1);
    Utf8mb4LatvianCi         226 "utf8mb4_latvian_ci"          Utf8mb4 Space 8 Order::Uca(&uca::LATVIAN, 1);
    Utf8mb4LithuanianCi      236 "utf8mb4_lithuanian_ci"       Utf8mb4 Space 8 Order::Uca(&uca::LITHUANIAN, 1);
    Utf8mb4PersianCi         240 "utf8mb4_persian_ci"          Utf8mb4 Space 8 Order::Uca(&uca::PERSIAN, 1);
    Utf8mb4PolishCi          229 "utf8mb4_polish_ci"           Utf8mb4 Space 8 Order::Uca(&uca::POLISH, 1);
    Utf8mb4RomanianCi        227 "utf8mb4_romanian_ci"         Utf8mb4 Space 8 Order::Uca(&uca::ROMANIAN, 1);
    Utf8mb4RomanCi           239 "utf8mb4_roman_ci"            Utf8mb4 Space 8 Order::Uca(&uca::ROMAN, 1);
    Utf8mb4SinhalaCi         243 "utf8mb4_sinhala_ci"          Utf8mb4 Space 8 Order::Uca(&uca::SINHALA, 1);
    Utf8mb4SlovakCi          237 "utf8mb4_slovak_ci"           Utf8mb4 Space 8 Order::Uca(&uca::SLOVAK, 1);
    Utf8mb4SlovenianCi       228 "utf8mb4_slovenian_ci"        Utf8mb4 Space 8 Order::Uca(&uca::SLOVENIAN, 1);
    Utf8mb4Spanish2Ci        238 "utf8mb4_spanish2_ci"         Utf8mb4 Space 8 Order::Uca(&uca::SPANISH2, 1);
    Utf8mb4SpanishCi         231 "utf8mb4_spanish_ci"          Utf8mb4 Space 8 Order::Uca(&uca::SPANISH, 1);
    Utf8mb4SwedishCi         232 "utf8mb4_swedish_ci"          Utf8mb4 Space 8 Order::Uca(&uca::SWEDISH, 1);
    Utf8mb4TurkishCi         233 "utf8mb4_turkish_ci"          Utf8mb4 Space 8 Order::Uca(&uca::TURKISH, 1);
    Utf8mb4VietnameseCi      247 "utf8mb4_vietnamese_ci"       Utf8mb4 Space 8 Order::Uca(&uca::VIETNAMESE, 1);
    Utf8mb3CroatianCi        213 "utf8mb3_croatian_ci"         Utf8mb3 Space 8 Order::Uca(&uca::CROATIAN, 1);
    Utf8mb3CzechCi           202 "utf8mb3_czech_ci"            Utf8mb3 Space 8 Order::Uca(&uca::CZECH, 1);
    Utf8mb3DanishCi          203 "utf8mb3_danish_ci"           Utf8mb3 Space 8 Order::Uca(&uca::DANISH, 1);
    Utf8mb3EsperantoCi       209 "utf8mb3_esperanto_ci"        Utf8mb3 Space 8 Order::Uca(&uca::ESPERANTO, 1);
    Utf8mb3EstonianCi        198 "utf8mb3_estonian_ci"         Utf8mb3 Space 8 Order::Uca(&uca::ESTONIAN, 1);
    Utf8mb3German2Ci         212 "utf8mb3_german2_ci"          Utf8mb3 Space 8 Order::Uca(&uca::GERMAN2, 1);
    Utf8mb3HungarianCi       210 "utf8mb3_hungarian_ci"        Utf8mb3 Space 8 Order::Uca(&uca::HUNGARIAN, 1);
    Utf8mb3IcelandicCi       193 "utf8mb3_icelandic_ci"        Utf8mb3 Space 8 Order::Uca(&uca::ICELANDIC, 1);
    Utf8mb3LatvianCi         194 "utf8mb3_latvian_ci"          Utf8mb3 Space 8 Order::Uca(&uca::LATVIAN, 1);
    Utf8mb3LithuanianCi      204 "utf8mb3_lithuanian_ci"       Utf8mb3 Space 8 Order::Uca(&uca::LITHUANIAN, 1);
    Utf8mb3PersianCi         208 "utf8mb3_persian_ci"          Utf8mb3 Space 8 Order::Uca(&uca::PERSIAN, 1);
    Utf8mb3PolishCi          197 "utf8mb3_polish_ci"           Utf8mb3 Space 8 Order::Uca(&uca::POLISH, 1);
    Utf8mb3RomanianCi        195 "utf8mb3_romanian_ci"         Utf8mb3 Space 8 Order::Uca(&uca::ROMANIAN, 1);
    Utf8mb3RomanCi           207 "utf8mb3_roman_ci"            Utf8mb3 Space 8 Order::Uca(&uca::ROMAN, 1);
    Utf8mb3SinhalaCi         211 "utf8mb3_sinhala_ci"          Utf8mb3 Space 8 Order::Uca(&uca::SINHALA, 1);
    Utf8mb3SlovakCi          205 "utf8mb3_slovak_ci"           Utf8mb3 Space 8 Order::Uca(&uca::SLOVAK, 1);
    Utf8mb3SlovenianCi       196 "utf8mb3_slovenian_ci"        Utf8mb3 Space 8 Order::Uca(&uca::SLOVENIAN, 1);
    Utf8mb3Spanish2Ci        206 "utf8mb3_spanish2_ci"         Utf8mb3 Space 8 Order::Uca(&uca::SPANISH2, 1);
    Utf8mb3SpanishCi         199 "utf8mb3_spanish_ci"          Utf8mb3 Space 8 Order::Uca(&uca::SPANISH, 1);
    Utf8mb3SwedishCi         200 "utf8mb3_swedish_ci"          Utf8mb3 Space 8 Order::Uca(&uca::SWEDISH, 1);
    Utf8mb3TurkishCi         201 "utf8mb3_turkish_ci"          Utf8mb3 Space 8 Order::Uca(&uca::TURKISH, 1);
    Utf8mb3VietnameseCi      215 "utf8mb3_vietnamese_ci"       Utf8mb3 Space 8 Order::Uca(&uca::VIETNAMESE, 1);
    Utf8mb3TolowerCi          76 "utf8mb3_tolower_ci"          Utf8mb3 Space 1 Order::Table(&TOLOWER);
    Utf8mb3GeneralMysql500Ci 223 "utf8mb3_general_mysql500_ci" Utf8mb3 Space 1 Order::Table(&GENERAL_500);
    Armscii8GeneralCi         32 "armscii8_general_ci"         Armscii8 Space 1 Order::Table(&bytes::ARMSCII8_GENERAL_CI);
    Armscii8Bin               64 "armscii8_bin"                Armscii8 Space 1 Order::Table(&bytes::ARMSCII8_BIN);
    Cp1250GeneralCi           26 "cp1250_general_ci"           Cp1250  Space 1 Order::Table(&bytes::CP1250_GENERAL_CI);
    Cp1250Bin                 66 "cp1250_bin"                  Cp1250  Space 1 Order::Table(&bytes::CP1250_BIN);
    Cp1250CroatianCi          44 "cp1250_croatian_ci"          Cp1250  Space 1 Order::Table(&bytes::CP1250_CROATIAN_CI);
    Cp1250PolishCi            99 "cp1250_polish_ci"            Cp1250  Space 1 Order::Table(&bytes::CP1250_POLISH_CI);
    Cp1251GeneralCi           51 "cp1251_general_ci"           Cp1251  Space 1 Order::Table(&bytes::CP1251_GENERAL_CI);
    Cp1251Bin                 50 "cp1251_bin"                  Cp1251  Space 1 Order::Table(&bytes::CP1251_BIN);
    Cp1251BulgarianCi         14 "cp1251_bulgarian_ci"         Cp1251  Space 1 Order::Table(&bytes::CP1251_BULGARIAN_CI);
    Cp1251UkrainianCi         23 "cp1251_ukrainian_ci"         Cp1251  Space 1 Order::Table(&bytes::CP1251_UKRAINIAN_CI);
    Cp1251GeneralCs           52 "cp1251_general_cs"           Cp1251  Space 1 Order::Table(&bytes::CP1251_GENERAL_CS);
    Cp1256GeneralCi           57 "cp1256_general_ci"           Cp1256  Space 1 Order::Table(&bytes::CP1256_GENERAL_CI);
    Cp1256Bin                 67 "cp1256_bin"                  Cp1256  Space 1 Order::Table(&bytes::CP1256_BIN);
    Cp1257GeneralCi           59 "cp1257_general_ci"           Cp1257  Space 1 Order::Table(&bytes::CP1257_GENERAL_CI);
    Cp1257Bin                 58 "cp1257_bin"                  Cp1257  Space 1 Order::Table(&bytes::CP1257_BIN);
    Cp1257LithuanianCi        29 "cp1257_lithuanian_ci"        Cp1257  Space 1 Order::Table(&bytes::CP1257_LITHUANIAN_CI);
    Cp850GeneralCi             4 "cp850_general_ci"            Cp850   Space 1 Order::Table(&bytes::CP850_GENERAL_CI);
    Cp850Bin                  80 "cp850_bin"                   Cp850   Space 1 Order::Table(&bytes::CP850_BIN);
    Cp852GeneralCi            40 "cp852_general_ci"            Cp852   Space 1 Order::Table(&bytes::CP852_GENERAL_CI);
    Cp852Bin                  81 "cp852_bin"                   Cp852   Space 1 Order::Table(&bytes::CP852_BIN);
    Cp866GeneralCi            36 "cp866_general_ci"            Cp866   Space 1 Order::Table(&bytes::CP866_GENERAL_CI);
    Cp866Bin                  68 "cp866_bin"                   Cp866   Space 1 Order::Table(&bytes::CP866_BIN);
    Dec8SwedishCi              3 "dec8_swedish_ci"             Dec8    Space 1 Order::Table(&bytes::DEC8_SWEDISH_CI);
    Dec8Bin                   69 "dec8_bin"                    Dec8    Space 1 Order::Table(&bytes::DEC8_BIN);
    Geostd8GeneralCi          92 "geostd8_general_ci"          Geostd8 Space 1 Order::Table(&bytes::GEOSTD8_GENERAL_CI);
    Geostd8Bin                93 "geostd8_bin"                 Geostd8 Space 1 Order::Table(&bytes::GEOSTD8_BIN);
    GreekGeneralCi            25 "greek_general_ci"            Greek   Space 1 Order::Table(&bytes::GREEK_GENERAL_CI);
    GreekBin                  70 "greek_bin"                   Greek   Space 1 Order::Table(&bytes::GREEK_BIN);
    HebrewGeneralCi           16 "hebrew_general_ci"           Hebrew  Space 1 Order::Table(&bytes::HEBREW_GENERAL_CI);
    HebrewBin                 71 "hebrew_bin"                  Hebrew  Space 1 Order::Table(&bytes::HEBREW_BIN);
    Hp8EnglishCi               6 "hp8_english_ci"              Hp8     Space 1 Order::Table(&bytes::HP8_ENGLISH_CI);
    Hp8Bin                    72 "hp8_bin"                     Hp8     Space 1 Order::Table(&bytes::HP8_BIN);
    Keybcs2GeneralCi          37 "keybcs2_general_ci"          Keybcs2 Space 1 Order::Table(&bytes::KEYBCS2_GENERAL_CI);
    Keybcs2Bin                73 "keybcs2_bin"                 Keybcs2 Space 1 Order::Table(&bytes::KEYBCS2_BIN);
    Koi8rGeneralCi             7 "koi8r_general_ci"            Koi8r   Space 1 Order::Table(&bytes::KOI8R_GENERAL_CI);
    Koi8rBin                  74 "koi8r_bin"                   Koi8r   Space 1 Order::Table(&bytes::KOI8R_BIN);
    Koi8uGeneralCi            22 "koi8u_general_ci"            Koi8u   Space 1 Order::Table(&bytes::KOI8U_GENERAL_CI);
    Koi8uBin                  75 "koi8u_bin"                   Koi8u   Space 1 Order::Table(&bytes::KOI8U_BIN);
    Latin2GeneralCi            9 "latin2_general_ci"           Latin2  Space 1 Order::Table(&bytes::LATIN2_GENERAL_CI);
    Latin2Bin                 77 "latin2_bin"                  Latin2  Space 1 Order::Table(&bytes::LATIN2_BIN);
    Latin2CroatianCi          27 "latin2_croatian_ci"          Latin2  Space 1 Order::Table(&bytes::LATIN2_CROATIAN_CI);
    Latin2HungarianCi         21 "latin2_hungarian_ci"         Latin2  Space 1 Order::Table(&bytes::LATIN2_HUNGARIAN_CI);
    Latin5TurkishCi           30 "latin5_turkish_ci"           Latin5  Space 1 Order::Table(&bytes::LATIN5_TURKISH_CI);
    Latin5Bin                 78 "latin5_bin"                  Latin5  Space 1 Order::Table(&bytes::LATIN5_BIN);
    Latin7GeneralCi           41 "latin7_general_ci"           Latin7  Space 1 Order::Table(&bytes::LATIN7_GENERAL_CI);
    Latin7Bin                 79 "latin7_bin"                  Latin7  Space 1 Order::Table(&bytes::LATIN7_BIN);
    Latin7EstonianCs          20 "latin7_estonian_cs"          Latin7  Space 1 Order::Table(&bytes::LATIN7_ESTONIAN_CS);
    Latin7GeneralCs           42 "latin7_general_cs"           Latin7  Space 1 Order::Table(&bytes::LATIN7_GENERAL_CS);
    MacceGeneralCi            38 "macce_general_ci"            Macce   Space 1 Order::Table(&bytes::MACCE_GENERAL_CI);
    MacceBin                  43 "macce_bin"                   Macce   Space 1 Order::Table(&bytes::MACCE_BIN);
    MacromanGeneralCi         39 "macroman_general_ci"         Macroman Space 1 Order::Table(&bytes::MACROMAN_GENERAL_CI);
    MacromanBin               53 "macroman_bin"                Macroman Space 1 Order::Table(&bytes::MACROMAN_BIN);
    Ucs2GeneralCi             35 "ucs2_general_ci"             Ucs2    Space 1 Order::Table(&GENERAL);
    Ucs2Bin                   90 "ucs2_bin"                    Ucs2    Space 1 Order::CodePoints;
    Ucs2UnicodeCi            128 "ucs2_unicode_ci"             Ucs2    Space 8 Order::Uca(&UCA_400, 1);
    Ucs2IcelandicCi          129 "ucs2_icelandic_ci"           Ucs2    Space 8 Order::Uca(&uca::ICELANDIC, 1);
    Ucs2LatvianCi            130 "ucs2_latvian_ci"             Ucs2    Space 8 Order::Uca(&uca::LATVIAN, 1);
    Ucs2RomanianCi           131 "ucs2_romanian_ci"            Ucs2    Space 8 Order::Uca(&uca::ROMANIAN, 1);
    Ucs2SlovenianCi          132 "ucs2_slovenian_ci"           Ucs2    Space 8 Order::Uca(&uca::SLOVENIAN, 1);
    Ucs2PolishCi             133 "ucs2_polish_ci"              Ucs2    Space 8 Order::Uca(&uca::POLISH, 1);
    Ucs2EstonianCi           134 "ucs2_estonian_ci"            Ucs2    Space 8 Order::Uca(&uca::ESTONIAN, 1);
    Ucs2SpanishCi            135 "ucs2_spanish_ci"             Ucs2    Space 8 Order::Uca(&uca::SPANISH, 1);
    Ucs2SwedishCi            136 "ucs2_swedish_ci"             Ucs2    Space 8 Order::Uca(&uca::SWEDISH, 1);
    Ucs2TurkishCi            137 "ucs2_turkish_ci"             Ucs2    Space 8 Order::Uca(&uca::TURKISH, 1);
    Ucs2CzechCi              138 "ucs2_czech_ci"               Ucs2    Space 8 Order::Uca(&uca::CZECH, 1);
    Ucs2DanishCi             139 "ucs2_danish_ci"              Ucs2    Space 8 Order::Uca(&uca::DANISH, 1);
    Ucs2LithuanianCi         140 "ucs2_lithuanian_ci"          Ucs2    Space 8 Order::Uca(&uca::LITHUANIAN, 1);
    Ucs2SlovakCi             141 "ucs2_slovak_ci"              Ucs2    Space 8 Order::Uca(&uca::SLOVAK, 1);
    Ucs2Spanish2Ci           142 "ucs2_spanish2_ci"            Ucs2    Space 8 Order::Uca(&uca::SPANISH2, 1);
    Ucs2RomanCi              143 "ucs2_roman_ci"               Ucs2    Space 8 Order::Uca(&uca::ROMAN, 1);
    Ucs2PersianCi            144 "ucs2_persian_ci"             Ucs2    Space 8 Order::Uca(&uca::PERSIAN, 1);
    Ucs2EsperantoCi          145 "ucs2_esperanto_ci"           Ucs2    Space 8 Order::Uca(&uca::ESPERANTO, 1);
    Ucs2HungarianCi          146 "ucs2_hungarian_ci"           Ucs2    Space 8 Order::Uca(&uca::HUNGARIAN, 1);
    Ucs2SinhalaCi            147 "ucs2_sinhala_ci"             Ucs2    Space 8 Order::Uca(&uca::SINHALA, 1);
    Ucs2German2Ci            148 "ucs2_german2_ci"             Ucs2    Space 8 Order::Uca(&uca::GERMAN2, 1);
    Ucs2CroatianCi           149 "ucs2_croatian_ci"            Ucs2    Space 8 Order::Uca(&uca::CROATIAN, 1);
    Ucs2Unicode520Ci         150 "ucs2_unicode_520_ci"         Ucs2    Space 8 Order::Uca(&UCA_520, 1);
    Ucs2VietnameseCi         151 "ucs2_vietnamese_ci"          Ucs2    Space 8 Order::Uca(&uca::VIETNAMESE, 1);
    Ucs2GeneralMysql500Ci    159 "ucs2_general_mysql500_ci"    Ucs2    Space 1 Order::Table(&GENERAL_500);
    Utf16GeneralCi            54 "utf16_general_ci"            Utf16   Space 1 Order::Table(&GENERAL);
    Utf16Bin                  55 "utf16_bin"                   Utf16   Space 1 Order::CodePoints;
    Utf16UnicodeCi           101 "utf16_unicode_ci"            Utf16   Space 8 Order::Uca(&UCA_400, 1);
    Utf16IcelandicCi         102 "utf16_icelandic_ci"          Utf16   Space 8 Order::Uca(&uca::ICELANDIC, 1);
    Utf16LatvianCi           103 "utf16_latvian_ci"            Utf16   Space 8 Order::Uca(&uca::LATVIAN, 1);
    Utf16RomanianCi          104 "utf16_romanian_ci"           Utf16   Space 8 Order::Uca(&uca::ROMANIAN, 1);
    Utf16SlovenianCi         105 "utf16_slovenian_ci"          Utf16   Space 8 Order::Uca(&uca::SLOVENIAN, 1);
    Utf16PolishCi            106 "utf16_polish_ci"             Utf16   Space 8 Order::Uca(&uca::POLISH, 1);
    Utf16EstonianCi          107 "utf16_estonian_ci"           Utf16   Space 8 Order::Uca(&uca::ESTONIAN, 1);
    Utf16SpanishCi           108 "utf16_spanish_ci"            Utf16   Space 8 Order::Uca(&uca::SPANISH, 1);
    Utf16SwedishCi           109 "utf16_swedish_ci"            Utf16   Space 8 Order::Uca(&uca::SWEDISH, 1);
    Utf16TurkishCi           110 "utf16_turkish_ci"            Utf16   Space 8 Order::Uca(&uca::TURKISH, 1);
    Utf16CzechCi             111 "utf16_czech_ci"              Utf16   Space 8 Order::Uca(&uca::CZECH, 1);
    Utf16DanishCi            112 "utf16_danish_ci"             Utf16   Space 8 Order::Uca(&uca::DANISH, 1);
    Utf16LithuanianCi        113 "utf16_lithuanian_ci"         Utf16   Space 8 Order::Uca(&uca::LITHUANIAN, 1);
    Utf16SlovakCi            114 "utf16_slovak_ci"             Utf16   Space 8 Order::Uca(&uca::SLOVAK, 1);
    Utf16Spanish2Ci          115 "utf16_spanish2_ci"           Utf16   Space 8 Order::Uca(&uca::SPANISH2, 1);
    Utf16RomanCi             116 "utf16_roman_ci"              Utf16   Space 8 Order::Uca(&uca::ROMAN, 1);
    Utf16PersianCi           117 "utf16_persian_ci"            Utf16   Space 8 Order::Uca(&uca::PERSIAN, 1);
    Utf16EsperantoCi         118 "utf16_esperanto_ci"          Utf16   Space 8 Order::Uca(&uca::ESPERANTO, 1);
    Utf16HungarianCi         119 "utf16_hungarian_ci"          Utf16   Space 8 Order::Uca(&uca::HUNGARIAN, 1);
    Utf16SinhalaCi           120 "utf16_sinhala_ci"            Utf16   Space 8 Order::Uca(&uca::SINHALA, 1);
    Utf16German2Ci           121 "utf16_german2_ci"            Utf16   Space 8 Order::Uca(&uca::GERMAN2, 1);
    Utf16CroatianCi          122 "utf16_croatian_ci"           Utf16   Space 8 Order::Uca(&uca::CROATIAN, 1);
    Utf16Unicode520Ci        123 "utf16_unicode_520_ci"        Utf16   Space 8 Order::Uca(&UCA_520, 1);
    Utf16VietnameseCi        124 "utf16_vietnamese_ci"         Utf16   Space 8 Order::Uca(&uca::VIETNAMESE, 1);
    Utf16leGeneralCi          56 "utf16le_general_ci"          Utf16le Space 1 Order::Table(&GENERAL);
    Utf16leBin                62 "utf16le_bin"                 Utf16le Space 1 Order::CodePoints;
    Utf32GeneralCi            60 "utf32_general_ci"            Utf32   Space 1 Order::Table(&GENERAL);
    Utf32Bin                  61 "utf32_bin"                   Utf32   Space 1 Order::CodePoints;
    Utf32UnicodeCi           160 "utf32_unicode_ci"            Utf32   Space 8 Order::Uca(&UCA_400, 1);
    Utf32IcelandicCi         161 "utf32_icelandic_ci"          Utf32   Space 8 Order::Uca(&uca::ICELANDIC, 1);
    Utf32LatvianCi           162 "utf32_latvian_ci"            Utf32   Space 8 Order::Uca(&uca::LATVIAN, 1);
    Utf32RomanianCi          163 "utf32_romanian_ci"           Utf32   Space 8 Order::Uca(&uca::ROMANIAN, 1);
    Utf32SlovenianCi         164 "utf32_slovenian_ci"          Utf32   Space 8 Order::Uca(&uca::SLOVENIAN, 1);
    Utf32PolishCi            165 "utf32_polish_ci"             Utf32   Space 8 Order::Uca(&uca::POLISH, 1);
    Utf32EstonianCi          166 "utf32_estonian_ci"           Utf32   Space 8 Order::Uca(&uca::ESTONIAN, 1);
    Utf32SpanishCi           167 "utf32_spanish_ci"            Utf32   Space 8 Order::Uca(&uca::SPANISH, 1);
    Utf32SwedishCi           168 "utf32_swedish_ci"            Utf32   Space 8 Order::Uca(&uca::SWEDISH, 1);
    Utf32TurkishCi           169 "utf32_turkish_ci"            Utf32   Space 8 Order::Uca(&uca::TURKISH, 1);
    Utf32CzechCi             170 "utf32_czech_ci"              Utf32   Space 8 Order::Uca(&uca::CZECH, 1);
    Utf32DanishCi            171 "utf32_danish_ci"             Utf32   Space 8 Order::Uca(&uca::DANISH, 1);
    Utf32LithuanianCi        172 "utf32_lithuanian_ci"         Utf32   Space 8 Order::Uca(&uca::LITHUANIAN, 1);
    Utf32SlovakCi            173 "utf32_slovak_ci"             Utf32   Space 8 Order::Uca(&uca::SLOVAK, 1);
    Utf32Spanish2Ci          174 "utf32_spanish2_ci"           Utf32   Space 8 Order::Uca(&uca::SPANISH2, 1);
    Utf32RomanCi             175 "utf32_roman_ci"              Utf32   Space 8 Order::Uca(&uca::ROMAN, 1);
    Utf32PersianCi           176 "utf32_persian_ci"            Utf32   Space 8 Order::Uca(&uca::PERSIAN, 1);
    Utf32EsperantoCi         177 "utf32_esperanto_ci"          Utf32   Space 8 Order::Uca(&uca::ESPERANTO, 1);
    Utf32HungarianCi         178 "utf32_hungarian_ci"          Utf32   Space 8 Order::Uca(&uca::HUNGARIAN, 1);
    Utf32SinhalaCi           179 "utf32_sinhala_ci"            Utf32   Space 8 Order::Uca(&uca::SINHALA, 1);
    Utf32German2Ci           180 "utf32_german2_ci"            Utf32   Space 8 Order::Uca(&uca::GERMAN2, 1);
    Utf32CroatianCi          181 "utf32_croatian_ci"           Utf32   Space 8 Order::Uca(&uca::CROATIAN, 1);
    Utf32Unicode520Ci        182 "utf32_unicode_520_ci"        Utf32   Space 8 Order::Uca(&UCA_520, 1);
    Utf32VietnameseCi        183 "utf32_vietnamese_ci"         Utf32   Space 8 Order::Uca(&uca::VIETNAMESE, 1);
    Binary                63 "binary"                 Binary  None  1 Order::Bytes;
}

impl Collation {
    /// MySQL's name of it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// The number it has in the protocol.
    #[must_use]
    pub fn id(self) -> u16 {
        self.facts().id
    }

    /// The collation with this name, in any case; `utf8_…` is `utf8mb3_…`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Collation> {
        let is = |collation: &Collation| {
            let known = collation.name();
            known.eq_ignore_ascii_case(name)
                || known.strip_prefix("utf8mb3_").is_some_and(|order| {
                    let utf8 = name.split_at_checked(5);
                    utf8.is_some_and(|(charset, rest)| {
                        charset.eq_ignore_ascii_case("utf8_") && rest.eq_ignore_ascii_case(order)
                    })
                })
        };
        Collation::ALL.iter().copied().find(is)
    }

    /// The collation with this number.
    #[must_use]
    pub fn from_id(id: u16) -> Option<Collation> {
        Collation::ALL
            .iter()
            .copied()
            .find(|collation| collation.id() == id)
    }

    /// Its character set.
    #[must_use]
    pub fn charset(self) -> Charset {
        self.facts().charset
    }

    /// Whether its strings are bytes, not characters.
    #[must_use]
    pub fn is_binary(self) -> bool {
        self == Collation::Binary
    }

    /// Whether it is the default of its character set.
    #[must_use]
    pub fn is_default(self) -> bool {
        self == self.charset().default_collation()
    }

    /// Whether it orders by code points or bytes: MySQL calls them binary.
    #[must_use]
    pub fn is_by_code(self) -> bool {
        self == self.charset().bin_collation()
            || matches!(self.facts().order, Order::CodePoints | Order::Bytes)
    }

    /// Whether it tells small letters from capital ones.
    #[must_use]
    pub fn is_case_sensitive(self) -> bool {
        self.is_by_code() || self.name().ends_with("_cs")
    }

    /// Whether it compares as if the shorter string went on with spaces (PAD SPACE).
    #[must_use]
    pub fn pads(self) -> bool {
        self.facts().padding == Padding::Space
    }

    /// What SHOW COLLATION says as Sortlen.
    #[must_use]
    pub fn sort_length(self) -> u64 {
        self.facts().sort_length
    }

    /// The most bytes a character takes.
    #[must_use]
    pub fn max_char_bytes(self) -> u32 {
        self.charset().max_char_bytes()
    }
}

/// A weight table that is unpacked when it is first needed.
pub(super) type LazyTable = LazyLock<Table>;
