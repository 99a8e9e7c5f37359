use super::{pipeline::Pipeline, *};

fn line(text: &str) -> Line {
    Line {
        micros: 1_785_499_200_000_001,
        thread: 7,
        level: Level::Error,
        code: Notice::DiskFull.to_string(),
        subsystem: "Engine".to_owned(),
        text: text.to_owned(),
    }
}

fn bytes(text: &str) -> Value {
    Value::Bytes(text.into())
}

#[test]
fn lines_have_the_forms_of_mysql() {
    let line = line("no [room] \"here\"");
    let shown = text::line(&line);
    assert_eq!(
        shown,
        "2026-07-31T12:00:00.000001Z 7 [ERROR] [MY-050010] [Engine] no [room] \"here\"\n"
    );
    assert_eq!(text::parsed(shown.trim_end()), Some(line.clone()));
    let json: serde_json::Value =
        serde_json::from_str(&text::json(&line, Notice::DiskFull.symbol())).unwrap();
    assert_eq!(json["err_code"], 50010);
    assert_eq!(json["prio"], 1);
    assert_eq!(json["label"], "Error");
    assert_eq!(json["msg"], "no [room] \"here\"");
    assert_eq!(json["ts"], 1_785_499_200_000_u64);
}

#[test]
fn a_text_stays_in_its_line() {
    let shown = text::escaped("a\u{202e}\u{85}\0b\n2026 [System]");
    assert_eq!(shown, "a\\u{202e}\\u{85}\\u{0}b\\n2026 [System]");
    assert_eq!(text::escaped(&"x".repeat(100_000)).len(), 8192);
    for other in [
        "",
        "no line",
        "2026-07-31T12:00:00.000001Z 7 [ERROR] [MY-1]",
        "x 7 [Note] [a] [b] c",
    ] {
        assert_eq!(text::parsed(other), None, "{other}");
    }
}

#[test]
fn what_is_suppressed_is_neither_an_error_nor_of_the_system() {
    let mut pipeline = Pipeline::default();
    let through = |pipeline: &Pipeline| {
        let all = [
            Notice::Ready,
            Notice::DiskFull,
            Notice::NoTls,
            Notice::LoginRefused,
        ];
        all.map(|notice| pipeline.lets_through(notice))
    };
    assert_eq!(through(&pipeline), [true, true, true, false]);
    pipeline.set("log_error_verbosity", &Value::UInt(3));
    assert_eq!(through(&pipeline), [true; 4]);
    let list = "ER_SERVER_STARTUP_MSG, MY-050010,13595 , MY-010926";
    pipeline.set("log_error_suppression_list", &bytes(list));
    assert_eq!(through(&pipeline), [true, true, false, false]);
    // Without the filter nobody asks for either.
    pipeline.set("log_error_services", &bytes("log_sink_json"));
    assert_eq!(through(&pipeline), [true; 4]);
    assert_eq!(pipeline.sinks(), [Sink::Json]);
    pipeline.set(
        "log_error_services",
        &bytes("log_filter_internal; log_sink_internal,log_sink_json"),
    );
    pipeline.set("log_error_suppression_list", &bytes(""));
    pipeline.set("log_error_verbosity", &Value::UInt(1));
    assert_eq!(through(&pipeline), [true, true, false, false]);
    assert_eq!(pipeline.sinks(), Sink::ALL);
}

#[test]
fn values_that_name_nothing_are_refused() {
    for list in ["foo", "MY-010926,,", "MY-099999", "MY-001064", "ER NO"] {
        assert!(
            !can_be("log_error_suppression_list", &bytes(list)),
            "{list}"
        );
    }
    for list in [
        "",
        "MY-010926",
        "ER_SERVER_STARTUP_MSG,010926 , MY-010914",
        "MY-050028",
        "MY-013360",
    ] {
        assert!(can_be("log_error_suppression_list", &bytes(list)), "{list}");
    }
    for list in [
        "foo",
        "log_sink_internal log_sink_internal",
        "log_sink_syseventlog",
    ] {
        assert!(!can_be("log_error_services", &bytes(list)), "{list}");
    }
    assert!(can_be("log_error_services", &bytes("")));
    assert!(can_be("port", &bytes("foo")));
}

#[test]
fn the_last_lines_are_kept_and_each_has_a_moment_of_its_own() {
    let mut recent = Recent::default();
    recent.add(line("one"));
    recent.add(line("two"));
    let kept = recent.lines();
    assert_eq!(kept[1].micros, kept[0].micros + 1);
    for _ in 0..10_000 {
        recent.add(line(&"x".repeat(1000)));
    }
    let buffered = recent.buffered();
    assert!(
        buffered.bytes <= 5 << 20 && buffered.bytes > 4 << 20,
        "{buffered:?}"
    );
    assert_eq!(buffered.events + buffered.expired, 10_002);
    assert_eq!(buffered.latest, kept[0].micros + 10_001);
}
