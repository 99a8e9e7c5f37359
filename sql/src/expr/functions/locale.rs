//! How FORMAT() writes numbers in the countries of the world: MySQL's locales.

/// How numbers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Locale {
    /// Before the fraction.
    point: char,
    /// Between groups of digits, if there are groups.
    separator: Option<char>,
    /// How many digits the groups before the last three have.
    group: usize,
}

const fn locale(point: char, separator: Option<char>) -> Locale {
    let group = 3;
    Locale {
        point,
        separator,
        group,
    }
}

/// en_US, which is also taken where there is no such locale.
pub(super) const DEFAULT: Locale = locale('.', Some(','));

/// The locales by how they write numbers. MySQL has no separator for bg_BG, and writes a NUL.
const LOCALES: [(Locale, &str); 9] = [
    (
        DEFAULT,
        "ar_AE ar_BH ar_DZ ar_EG ar_IN ar_IQ ar_JO ar_KW ar_LB ar_LY ar_MA ar_OM ar_QA ar_SD ar_SY \
         ar_TN ar_YE en_AU en_CA en_GB en_NZ en_PH en_US en_ZA en_ZW es_DO es_GT es_HN es_MX es_NI \
         es_PA es_PE es_PR es_SV es_US gu_IN he_IL hi_IN ja_JP ko_KR ms_MY th_TH ur_PK zh_CN zh_HK \
         zh_TW",
    ),
    (locale('.', None), "ar_SA sr_RS"),
    (
        locale(',', Some('.')),
        "be_BY da_DK de_BE de_DE de_LU es_AR es_BO es_CL es_CO es_EC es_ES es_PY es_UY es_VE fo_FO \
         hu_HU id_ID is_IS lt_LT mn_MN nb_NO no_NO ro_RO ru_UA sq_AL tr_TR uk_UA vi_VN",
    ),
    (locale(',', Some('\0')), "bg_BG"),
    (
        locale(',', None),
        "ca_ES de_AT el_GR eu_ES fr_BE fr_CA fr_CH fr_FR fr_LU gl_ES hr_HR it_IT nl_BE nl_NL pl_PL \
         pt_BR pt_PT sl_SI",
    ),
    (
        locale(',', Some(' ')),
        "cs_CZ es_CR et_EE fi_FI lv_LV mk_MK ru_RU sk_SK sv_FI sv_SE",
    ),
    (locale('.', Some('\'')), "de_CH"),
    (locale(',', Some('\'')), "it_CH rm_CH"),
    (
        Locale {
            group: 2,
            ..DEFAULT
        },
        "en_IN ta_IN te_IN",
    ),
];

/// The locale of this name.
pub(super) fn find(name: &str) -> Option<Locale> {
    let has = |names: &str| {
        let mut names = names.split_whitespace();
        names.any(|known| known.eq_ignore_ascii_case(name))
    };
    let found = LOCALES.iter().find(|(_, names)| has(names));
    found.map(|(locale, _)| *locale)
}

impl Locale {
    /// A number of digits, with a point perhaps, as it is written here.
    pub fn write(self, number: &str) -> String {
        let (sign, digits) = match number.strip_prefix('-') {
            Some(digits) => ("-", digits),
            None => ("", number),
        };
        let (whole, fraction) = digits
            .split_once('.')
            .map_or((digits, None), |(whole, fraction)| (whole, Some(fraction)));
        let mut out = sign.to_string();
        for (i, digit) in whole.chars().enumerate() {
            let left = whole.len() - i;
            let begins = left >= 3 && (left - 3) % self.group == 0;
            if let Some(separator) = self.separator.filter(|_| i > 0 && begins) {
                out.push(separator);
            }
            out.push(digit);
        }
        if let Some(fraction) = fraction {
            out.push(self.point);
            out.push_str(fraction);
        }
        out
    }
}
