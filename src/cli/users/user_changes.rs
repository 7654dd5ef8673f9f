//! Arguments that change a user, shared by `add` and `edit`.

use clap::Args;

use crate::cli::one_of;
use crate::cli::output::Failure;
use adjutant_assistant::notification::Channel;
use adjutant_assistant::user::{ChannelPreference, QuietHours, WeekendPolicy};
use adjutant_assistant::{User, Zone};

/// Addresses and preferences of a user. Missing ones stay unchanged.
#[derive(Debug, Default, Args)]
pub(super) struct UserChanges {
    /// The mail address; empty for none
    #[arg(long)]
    email: Option<String>,
    /// The phone number with its country, such as +15550100200; empty for none
    #[arg(long)]
    phone: Option<String>,
    /// The time zone, such as Europe/Berlin
    #[arg(long, value_name = "ZONE")]
    time_zone: Option<String>,
    /// The language, such as en or de-CH
    #[arg(long)]
    locale: Option<String>,
    /// The voice of calls
    #[arg(long)]
    voice: Option<String>,
    /// Channels of notifications: email, call, both or popup
    #[arg(long, hide_possible_values = true, value_parser = one_of(ChannelPreference::ALL.iter().map(|one| (one.name(), *one))))]
    channels: Option<ChannelPreference>,
    /// Quiet hours, such as 21:00-07:00, or `none`
    #[arg(long, value_name = "HOURS", value_parser = quiet_hours)]
    quiet_hours: Option<Quiet>,
    /// Channels at weekends: email, call, both or none
    #[arg(long, hide_possible_values = true, value_parser = one_of(WeekendPolicy::ALL.iter().map(|one| (one.name(), *one))))]
    weekend: Option<WeekendPolicy>,
    /// Maximum number of calls for one occurrence, 1 to 10
    #[arg(long, value_name = "N")]
    max_calls: Option<u32>,
    /// Minutes before the start from which an event is urgent
    #[arg(long, value_name = "MINUTES")]
    escalation: Option<u32>,
    /// Channels of an urgent notification until it is acknowledged, such as popup,email,call
    #[arg(long, value_delimiter = ',', hide_possible_values = true, value_parser = one_of(Channel::ALL.iter().map(|one| (one.name(), *one))))]
    ladder: Option<Vec<Channel>>,
    /// Minutes between the steps of the ladder
    #[arg(long, value_name = "MINUTES")]
    ladder_wait: Option<u32>,
    /// ntfy topic; empty for none
    #[arg(long, value_name = "TOPIC")]
    ntfy: Option<String>,
    /// Webhook URL, called with POST; empty for none
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,
}

/// Quiet hours, or none.
type Quiet = Option<QuietHours>;

fn quiet_hours(text: &str) -> Result<Quiet, String> {
    if text == "none" {
        return Ok(None);
    }
    let hours = text.split_once('-').and_then(|(start, end)| {
        Some(QuietHours { start: start.trim().parse().ok()?, end: end.trim().parse().ok()? })
    });
    hours.map(Some).ok_or_else(|| "use hours like 21:00-07:00, or none".to_owned())
}

impl UserChanges {
    /// Applies the values to a user.
    pub(super) fn apply(self, user: &mut User) -> Result<(), Failure> {
        let optional = |target: &mut Option<String>, value: Option<String>| {
            if let Some(value) = value {
                *target = Some(value).filter(|value| !value.is_empty());
            }
        };
        optional(&mut user.email, self.email);
        optional(&mut user.phone, self.phone);
        let preferences = &mut user.preferences;
        optional(&mut preferences.ntfy_topic, self.ntfy);
        optional(&mut preferences.webhook_url, self.webhook);
        if let Some(name) = self.time_zone {
            preferences.zone = Zone::named(&name).map_err(Failure::usage)?;
        }
        set(&mut preferences.locale, self.locale);
        set(&mut preferences.voice, self.voice);
        set(&mut preferences.channels, self.channels);
        set(&mut preferences.quiet, self.quiet_hours);
        set(&mut preferences.weekend, self.weekend);
        set(&mut preferences.max_calls, self.max_calls);
        set(&mut preferences.escalation_minutes, self.escalation);
        set(&mut preferences.ladder, self.ladder);
        set(&mut preferences.ladder_minutes, self.ladder_wait);
        Ok(())
    }
}

/// Sets a value if there is a new one.
pub(super) fn set<T>(target: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *target = value;
    }
}
