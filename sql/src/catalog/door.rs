//! Who failed to come in: tables of performance_schema and information_schema.

use super::{Rows, accounts::moment, number, text};
use crate::{
    password_policy::{COMPONENT, Policy},
    state::{State, hosts::Trouble},
};
use cohort_engine::types::Value;

pub(super) const CONNECTION_CONTROL_FAILED_LOGIN_ATTEMPTS: &str = "\
    USERHOST varchar(357)!, FAILED_ATTEMPTS int+!";

pub(super) const PS_CONNECTION_CONTROL_FAILED_LOGIN_ATTEMPTS: &str = "\
    USERHOST varchar(6553)!, FAILED_ATTEMPTS int!";

pub(super) const PS_HOST_CACHE: &str = "\
    IP varchar(64)!, HOST varchar(255), HOST_VALIDATED varchar(3)!, SUM_CONNECT_ERRORS bigint!, \
    COUNT_HOST_BLOCKED_ERRORS bigint!, COUNT_NAMEINFO_TRANSIENT_ERRORS bigint!, \
    COUNT_NAMEINFO_PERMANENT_ERRORS bigint!, COUNT_FORMAT_ERRORS bigint!, \
    COUNT_ADDRINFO_TRANSIENT_ERRORS bigint!, COUNT_ADDRINFO_PERMANENT_ERRORS bigint!, \
    COUNT_FCRDNS_ERRORS bigint!, COUNT_HOST_ACL_ERRORS bigint!, COUNT_NO_AUTH_PLUGIN_ERRORS \
    bigint!, COUNT_AUTH_PLUGIN_ERRORS bigint!, COUNT_HANDSHAKE_ERRORS bigint!, \
    COUNT_PROXY_USER_ERRORS bigint!, COUNT_PROXY_USER_ACL_ERRORS bigint!, \
    COUNT_AUTHENTICATION_ERRORS bigint!, COUNT_SSL_ERRORS bigint!, \
    COUNT_MAX_USER_CONNECTIONS_ERRORS bigint!, COUNT_MAX_USER_CONNECTIONS_PER_HOUR_ERRORS bigint!, \
    COUNT_DEFAULT_DATABASE_ERRORS bigint!, COUNT_INIT_CONNECT_ERRORS bigint!, COUNT_LOCAL_ERRORS \
    bigint!, COUNT_ACCOUNT_LOCKED_ERRORS bigint!, COUNT_TEMPORARY_ACCOUNT_LOCKED_ERRORS bigint!, \
    COUNT_UNKNOWN_ERRORS bigint!, FIRST_SEEN timestamp(0)!, LAST_SEEN timestamp(0)!, \
    FIRST_ERROR_SEEN timestamp(0), LAST_ERROR_SEEN timestamp(0)";

pub(super) const MYSQL_COMPONENT: &str = "\
    component_id int+!, component_group_id int+!, component_urn text!";

/// mysql.component.
pub(super) fn components(session: &State) -> Rows {
    let policy = Policy::of(&session.instance.globals.values());
    let row = |_| vec![number(1), number(1), text(COMPONENT)];
    policy.map(row).into_iter().collect()
}

/// CONNECTION_CONTROL_FAILED_LOGIN_ATTEMPTS.
pub(super) fn failed_logins(session: &State) -> Rows {
    let list = session.instance.door.delays.list().into_iter();
    list.map(|(who, failed)| vec![text(who), number(failed)])
        .collect()
}

/// host_cache. Names are not looked up: what could go wrong with that is 0, and HOST is NULL. Nor is anybody blocked.
pub(super) fn host_cache(session: &State) -> Rows {
    let hosts = session.instance.door.hosts.list().into_iter();
    let row = |(address, host): (std::net::IpAddr, crate::state::hosts::Host)| {
        let count = |trouble| number(host.count(trouble));
        let none = || number(0);
        vec![
            text(address.to_string()),
            Value::Null,
            text("YES"),
            number(host.in_a_row),
            none(),
            none(),
            none(),
            none(),
            none(),
            none(),
            none(),
            none(),
            count(Trouble::NoPlugin),
            none(),
            count(Trouble::Handshake),
            none(),
            none(),
            count(Trouble::Authentication),
            none(),
            count(Trouble::UserConnections),
            none(),
            count(Trouble::Database),
            count(Trouble::InitConnect),
            none(),
            count(Trouble::Locked),
            count(Trouble::TemporarilyLocked),
            count(Trouble::Other),
            moment(session, host.first_seen),
            moment(session, host.last_seen),
            moment(session, host.first_error),
            moment(session, host.last_error),
        ]
    };
    hosts.map(row).collect()
}
