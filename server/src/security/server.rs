//! What is to be said of a server's accounts and settings.

use super::Finding;
use crate::import::text::string;
use cohort_mysql::client::{Client, Row};
use std::collections::{HashMap, HashSet};

/// Rights with which one can get all others, or keep everybody else out.
const STATIC: &str = "Super_priv = 'Y' OR Grant_priv = 'Y' OR Create_user_priv = 'Y' OR \
     Shutdown_priv = 'Y' OR File_priv = 'Y'";
const DYNAMIC: [&str; 7] = [
    "SYSTEM_USER",
    "SYSTEM_VARIABLES_ADMIN",
    "CONNECTION_ADMIN",
    "ROLE_ADMIN",
    "SET_ANY_DEFINER",
    "BINLOG_ADMIN",
    "BACKUP_ADMIN",
];
/// Where only this machine's people come from.
const HERE: [&str; 3] = ["localhost", "127.0.0.1", "::1"];
/// Accounts of the server's own, which MySQL has locked.
const OWN: [&str; 3] = ["mysql.sys", "mysql.session", "mysql.infoschema"];

struct Account {
    user: String,
    host: String,
    plugin: String,
    has_password: bool,
    is_locked: bool,
    is_expired: bool,
    /// REQUIRE, as mysql.user has it.
    required: String,
    /// SUPER or its like.
    is_powerful: bool,
    is_system_user: bool,
}

impl Account {
    fn name(&self) -> String {
        format!("{}@{}", string(&self.user), string(&self.host))
    }
    fn is_here(&self) -> bool {
        HERE.contains(&self.host.as_str())
    }
    /// A role is an account that nobody can log in to.
    fn is_role(&self) -> bool {
        self.is_locked && !self.has_password
    }
    fn needs_certificate(&self) -> bool {
        matches!(self.required.as_str(), "X509" | "SPECIFIED")
    }
    fn alter(&self, what: &str) -> String {
        format!("ALTER USER {} {what};", self.name())
    }
}

/// What is not as it should be.
pub fn look(client: &mut Client) -> Result<Vec<Finding>, String> {
    let accounts = accounts(client)?;
    let mut settings = HashMap::new();
    for name in [
        "bind_address",
        "connection_control_failed_connections_threshold",
        "general_log",
        "require_secure_transport",
        "validate_password.length",
        "validate_password.policy",
    ] {
        let value = client.variable(name).map_err(|error| error.to_string())?;
        settings.extend(value.map(|value| (name, value)));
    }
    let mut findings: Vec<Finding> = accounts.iter().flat_map(of_account).collect();
    findings.extend(of_transport(&accounts, &settings));
    findings.extend(of_settings(&settings));
    Ok(findings)
}

fn accounts(client: &mut Client) -> Result<Vec<Account>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("cannot read the accounts: {error}");
    let dynamic = DYNAMIC.map(string).join(", ");
    let holders = client
        .query(&format!(
            "SELECT USER, HOST, PRIV FROM mysql.global_grants WHERE PRIV IN ({dynamic})"
        ))
        .map_err(|error| failed(&error))?;
    let mut powerful = HashSet::new();
    let mut system = HashSet::new();
    for row in holders {
        let [user, host, privilege] = fields(row);
        if privilege == "SYSTEM_USER" {
            system.insert((user.clone(), host.clone()));
        }
        powerful.insert((user, host));
    }
    let rows = client
        .query(&format!(
            "SELECT User, Host, plugin, authentication_string <> '', account_locked = 'Y', \
             password_expired = 'Y', ssl_type, {STATIC} FROM mysql.user ORDER BY User, Host"
        ))
        .map_err(|error| failed(&error))?;
    let account = |row: Row| {
        let [
            user,
            host,
            plugin,
            password,
            locked,
            expired,
            required,
            powers,
        ] = fields(row);
        let key = (user.clone(), host.clone());
        Account {
            has_password: password == "1",
            is_locked: locked == "1",
            is_expired: expired == "1",
            required,
            is_powerful: powers == "1" || powerful.contains(&key),
            is_system_user: system.contains(&key),
            user,
            host,
            plugin,
        }
    };
    let accounts = rows.into_iter().map(account);
    Ok(accounts
        .filter(|account| !OWN.contains(&account.user.as_str()))
        .collect())
}

/// The values of a row, of which there are so many; NULL is nothing.
fn fields<const N: usize>(row: Row) -> [String; N] {
    let mut values = row.into_iter();
    std::array::from_fn(|_| values.next().flatten().unwrap_or_default())
}

fn of_account(account: &Account) -> Vec<Finding> {
    let mut findings = Vec::new();
    let name = account.name();
    let mut say = |finding, what: &str, advice: String| {
        findings.push(Finding::new(finding, &name, what, advice));
    };
    if account.is_role() {
        return Vec::new();
    }
    let drop = format!("DROP USER {name};");
    if account.user.is_empty() {
        say(
            "anonymous-account",
            "everybody from there may log in, whatever they call themselves",
            drop.clone(),
        );
    }
    if !account.has_password && !account.is_locked && !account.needs_certificate() {
        say(
            "no-password",
            "whoever knows the name may log in",
            account.alter("IDENTIFIED BY '…'"),
        );
    }
    if account.is_powerful && account.host.contains('%') {
        say(
            "powerful-from-anywhere",
            "it may change accounts or settings, and come from many machines",
            "grant it what it needs, or let it come from one place only (RENAME USER)".into(),
        );
    }
    if account.user == "root" && !account.is_here() {
        say(
            "root-from-elsewhere",
            "root may log in from other machines",
            drop,
        );
    }
    if (account.is_locked || account.is_expired) && account.is_system_user {
        say(
            "locked-with-power",
            "nobody uses it, but it still has SYSTEM_USER: views with it as definer may, too",
            format!("REVOKE SYSTEM_USER ON *.* FROM {name};"),
        );
    }
    if ["mysql_native_password", "sha256_password"].contains(&account.plugin.as_str()) {
        say(
            "old-plugin",
            "what is stored of its password is quickly guessed from",
            account.alter("IDENTIFIED WITH caching_sha2_password BY '…'"),
        );
    }
    findings
}

/// Who may come over the network, and how.
fn of_transport(accounts: &[Account], settings: &HashMap<&str, String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let remote = accounts
        .iter()
        .filter(|account| !account.is_here() && !account.is_locked);
    let is_required = settings
        .get("require_secure_transport")
        .is_some_and(|value| value == "ON");
    for account in remote {
        if account.required.is_empty() && !is_required {
            findings.push(Finding::new(
                "tls-not-required",
                account.name(),
                "others may read along what it sends and gets",
                account.alter("REQUIRE SSL") + " or SET PERSIST require_secure_transport = ON;",
            ));
        }
        if account.is_powerful && !account.needs_certificate() {
            findings.push(Finding::new(
                "client-not-verified",
                account.name(),
                "it may change accounts or settings from other machines with a password alone",
                account.alter("REQUIRE X509"),
            ));
        }
    }
    findings
}

fn of_settings(settings: &HashMap<&str, String>) -> Vec<Finding> {
    let value = |name: &str| settings.get(name).map_or("", String::as_str);
    let mut findings = Vec::new();
    let mut say = |finding, name: &str, what: String, advice: &str| {
        findings.push(Finding::new(finding, name, what, advice));
    };
    let is_open = |address: &str| ["*", "0.0.0.0", "::"].contains(&address.trim());
    if value("bind_address").split(',').any(is_open) {
        say(
            "bind-address-open",
            "bind_address",
            format!(
                "the server listens on all networks ({})",
                value("bind_address")
            ),
            "name the address that clients use, or keep others out by a firewall",
        );
    }
    if value("general_log") == "ON" {
        say(
            "general-log-on",
            "general_log",
            "all statements are written down, with what is in them".into(),
            "SET PERSIST general_log = OFF;",
        );
    }
    match value("validate_password.policy") {
        "" | "OFF" => say(
            "passwords-not-checked",
            "validate_password.policy",
            "any password may be set".into(),
            "INSTALL COMPONENT 'file://component_validate_password';",
        ),
        "LOW" => say(
            "weak-password-policy",
            "validate_password.policy",
            "only the length of passwords is looked at".into(),
            "SET PERSIST validate_password.policy = 'MEDIUM';",
        ),
        _ => {}
    }
    let length = value("validate_password.length").parse::<u64>();
    if length.is_ok_and(|length| length < 8) {
        say(
            "weak-password-policy",
            "validate_password.length",
            format!(
                "{} characters are enough",
                value("validate_password.length")
            ),
            "SET PERSIST validate_password.length = 12;",
        );
    }
    if ["", "0"].contains(&value("connection_control_failed_connections_threshold")) {
        say(
            "guesses-not-slowed-down",
            "connection_control_failed_connections_threshold",
            "passwords may be tried as fast as the server answers".into(),
            "SET PERSIST connection_control_failed_connections_threshold = 3;",
        );
    }
    findings
}
