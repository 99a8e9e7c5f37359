//! libFuzzer's main program for all targets: COHORT_FUZZ_TARGET chooses.
#![no_main]

use cohort_fuzz::Target;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("COHORT_FUZZ_TARGET").unwrap_or_default();
    Target::named(&name).unwrap_or_else(|| panic!("COHORT_FUZZ_TARGET: there is no '{name}'"))
});

fuzz_target!(|bytes: &[u8]| TARGET.check(bytes));
