use crate::{
    args::{Global, Output},
    backend,
    failure::Result,
    output::{self, json, table::Table},
};

/// Shows the settings in force. Whatever cannot be used is an error.
pub(super) fn check(global: &Global, output: Output) -> Result {
    let config = backend::config(global)?;
    goqueue::driver::check(&config)?;
    let mut settings = config.settings();
    if global.driver.is_some() {
        for setting in settings
            .iter_mut()
            .filter(|setting| setting.key == "driver")
        {
            setting.source = Some("--driver".into());
        }
    }
    if output.json {
        let line = |setting: goqueue::config::Setting| json::SettingLine {
            key: setting.key,
            value: setting.value,
            source: setting.source,
        };
        let settings = settings.into_iter().map(line).collect();
        return output::json(&json::Settings { settings });
    }
    let mut table = Table::new(&["KEY", "VALUE", "SET BY"]);
    for setting in &settings {
        let source = setting.source.as_deref().unwrap_or("-");
        table.plain_row(&[&setting.key, &setting.value, source]);
    }
    table.print()
}
