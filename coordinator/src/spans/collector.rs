//! Where spans are sent, as settings or OpenTelemetry's own variables say.

use crate::api::unescape;
use std::collections::BTreeMap;

/// Where spans are sent, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collector {
    /// Its address for traces.
    pub url: String,
    /// What to send with each request.
    pub headers: BTreeMap<String, String>,
    /// What this service is called.
    pub service: String,
}

impl Collector {
    /// As the variables say that each program with OpenTelemetry knows, if they say anything.
    /// `endpoint` is a setting that comes before theirs.
    ///
    /// # Errors
    ///
    /// What of them is not done here.
    pub fn find(
        endpoint: Option<&str>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Collector>, String> {
        let given = |name: &str| variable(name).filter(|value| !value.is_empty());
        let either = |end: &str| {
            let own = given(&format!("OTEL_EXPORTER_OTLP_TRACES_{end}"));
            own.or_else(|| given(&format!("OTEL_EXPORTER_OTLP_{end}")))
        };
        let traces = |base: &str| format!("{}/v1/traces", base.trim_end_matches('/'));
        let url = match endpoint {
            Some(base) => traces(base),
            None => {
                let is_off = given("OTEL_SDK_DISABLED").is_some_and(|value| value == "true")
                    || given("OTEL_TRACES_EXPORTER").is_some_and(|value| value != "otlp");
                let whole = given("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
                let base = given("OTEL_EXPORTER_OTLP_ENDPOINT").map(|base| traces(&base));
                match whole.or(base) {
                    Some(url) if !is_off => url,
                    _ => return Ok(None),
                }
            }
        };
        if let Some(protocol) = either("PROTOCOL").filter(|protocol| protocol != "http/protobuf") {
            return Err(format!(
                "OTEL_EXPORTER_OTLP_PROTOCOL: spans are sent over http/protobuf, not {protocol}"
            ));
        }
        let headers = either("HEADERS").map(|text| headers(&text)).transpose()?;
        Ok(Some(Collector {
            url,
            headers: headers.unwrap_or_default(),
            service: given("OTEL_SERVICE_NAME").unwrap_or_else(|| "cohort".to_owned()),
        }))
    }
}

/// `name=value,name=value`, percent-encoded.
fn headers(text: &str) -> Result<BTreeMap<String, String>, String> {
    let parts = text.split(',').filter(|part| !part.trim().is_empty());
    let header = |part: &str| {
        let (name, value) = part.split_once('=')?;
        // Only in queries a plus sign is something else.
        let value = unescape(&value.trim().replace('+', "%2B"));
        Some((name.trim().to_owned(), value))
    };
    let all: Option<_> = parts.map(header).collect();
    all.ok_or_else(|| "OTEL_EXPORTER_OTLP_HEADERS: name=value,name=value is expected".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(
        endpoint: Option<&str>,
        variables: &[(&str, &str)],
    ) -> Result<Option<Collector>, String> {
        Collector::find(endpoint, |name| {
            let given = variables.iter().find(|(known, _)| *known == name);
            given.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn settings_come_before_variables() {
        let url = |endpoint, variables: &[(&str, &str)]| {
            let collector = found(endpoint, variables).expect("a collector or none");
            collector.map(|collector| collector.url)
        };
        let general = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/");
        let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://c/mine");
        assert_eq!(url(None, &[]), None);
        assert_eq!(
            url(None, &[general]).as_deref(),
            Some("http://c:4318/v1/traces")
        );
        assert_eq!(url(None, &[general, own]).as_deref(), Some("http://c/mine"));
        let set = url(Some("http://d"), &[general, own]);
        assert_eq!(set.as_deref(), Some("http://d/v1/traces"));
        assert_eq!(url(None, &[general, ("OTEL_SDK_DISABLED", "true")]), None);
        assert_eq!(
            url(None, &[general, ("OTEL_TRACES_EXPORTER", "none")]),
            None
        );
    }

    #[test]
    fn what_is_not_done_is_refused() {
        let protocol = ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
        assert!(found(Some("http://c"), &[protocol]).is_err_and(|why| why.contains("grpc")));
        assert_eq!(found(None, &[protocol]), Ok(None));
        let headers = ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b+c, x = y");
        let named = ("OTEL_SERVICE_NAME", "bank");
        let collector = found(Some("http://c"), &[headers, named]);
        let collector = collector.expect("valid").expect("a collector");
        let wanted = [("api-key", "a b+c"), ("x", "y")];
        let wanted = wanted.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(
            (collector.headers, &*collector.service),
            (wanted.into(), "bank")
        );
        assert!(found(Some("http://c"), &[("OTEL_EXPORTER_OTLP_HEADERS", "x")]).is_err());
    }
}
