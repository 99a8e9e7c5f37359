//! INSTALL and UNINSTALL COMPONENT. There is one that can be: validate_password, which is installed
//! as long as validate_password.policy is not OFF.

use super::Session;
use crate::{
    error::SqlError,
    password_policy::{COMPONENT, Policy},
    privileges::Privilege,
    variables::{self, persisted::Persisted},
};
use cohort_engine::types::Value;

const POLICY: &str = "validate_password.policy";

impl Session {
    /// INSTALL COMPONENT: the policy becomes MySQL's usual one, for the next starts as well.
    pub(super) fn install(&mut self, components: &[String]) -> Result<(), SqlError> {
        self.need_on_components(Privilege::Insert)?;
        let mut is_on = self.has_policy();
        for component in components {
            if !component.contains("://") {
                return Err(SqlError::no_schema_of_component(component));
            }
            if component != COMPONENT || is_on {
                return Err(SqlError::component_not_loaded(component));
            }
            is_on = true;
        }
        self.set_policy("MEDIUM")
    }

    /// UNINSTALL COMPONENT: passwords are not looked at any more.
    pub(super) fn uninstall(&mut self, components: &[String]) -> Result<(), SqlError> {
        self.need_on_components(Privilege::Delete)?;
        let mut is_on = self.has_policy();
        for component in components {
            if component != COMPONENT || !is_on {
                return Err(SqlError::component_not_there(component));
            }
            is_on = false;
        }
        self.set_policy("OFF")
    }

    fn has_policy(&self) -> bool {
        Policy::of(&self.state.instance.globals.values()).is_some()
    }

    fn need_on_components(&self, privilege: Privilege) -> Result<(), SqlError> {
        self.state
            .need_within_table(&[privilege], ("mysql", "component"))
    }

    fn set_policy(&self, policy: &str) -> Result<(), SqlError> {
        let instance = &self.state.instance;
        let variable = variables::find(POLICY)?;
        let (user, host) = self.state.account.clone();
        instance.persisted().change(|known| {
            let one = Persisted {
                value: policy.to_owned(),
                micros: instance.env().wall_micros(),
                user,
                host,
            };
            known.insert(POLICY.to_owned(), one);
            Ok(())
        })?;
        instance.set_global(&variable, Value::Bytes(policy.into()))
    }

    /// 1819 for a password that is not as validate_password has it.
    pub(super) fn check_password(&self, password: &str) -> Result<(), SqlError> {
        let instance = &self.state.instance;
        let Some(policy) = Policy::of(&instance.globals.values()) else {
            return Ok(());
        };
        let names = [self.state.who.user.as_str(), self.state.account.0.as_str()];
        policy.check(password, &names, &instance.dictionary_words())
    }
}
