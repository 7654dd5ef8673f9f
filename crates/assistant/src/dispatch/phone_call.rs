//! Phone calls by the provider's HTTP API, with the text as a sound file where a speech program is configured.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::message::{OutgoingMessage, SendOutcome, make_private};
use super::senders::{Senders, failure_text, outcome_of_status};
use adjutant_host::process;

/// How long the program may speak into its file.
const SPEECH_TIMEOUT: Duration = Duration::from_secs(20);

/// Characters that are escaped in a value of a form.
const FORM: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'*');

/// Characters of one call.
const MAX_SPEECH_CHARS: usize = 600;

/// Places the call. If the connection breaks after the request, it is unknown whether the phone rings, and no second
/// call follows by itself.
pub(super) async fn send(senders: &Senders, message: &OutgoingMessage<'_>) -> SendOutcome {
    let Some(number) = &message.user.phone else {
        return SendOutcome::Rejected("the user has no phone".to_owned());
    };
    let wording = &message.notification.wording;
    let words = if wording.speech.is_empty() { &message.text } else { &wording.speech };
    let words: String = words.chars().take(MAX_SPEECH_CHARS).collect();
    let sound = write_speech(senders, message, &words).await;
    let (Some(phone), Some(client)) = (&senders.delivery.phone, &senders.http) else {
        let sound = sound.map_or_else(String::new, |file| {
            format!("; what it would say is in {}", file.file_name().unwrap_or_default().to_string_lossy())
        });
        return SendOutcome::Simulated(format!("no provider of calls is configured{sound}"));
    };
    let voice = escaped(&message.user.preferences.locale);
    let twiml = format!("<Response><Say language=\"{voice}\">{}</Say></Response>", escaped(&words));
    let address = format!("{}/2010-04-01/Accounts/{}/Calls.json", phone.base_url, phone.account);
    let form = [("To", number.as_str()), ("From", phone.from.as_str()), ("Twiml", twiml.as_str())];
    let body = form.map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, FORM))).join("&");
    let request = client
        .post(address)
        .basic_auth(&phone.account, Some(&phone.token))
        .header("content-type", "application/x-www-form-urlencoded")
        .body(body);
    match request.send().await {
        Ok(answer) => match outcome_of_status(answer.status().as_u16()) {
            // The provider may have started to call before it failed.
            SendOutcome::Failed(why) if answer.status().is_server_error() => SendOutcome::Unknown(why),
            outcome => outcome,
        },
        Err(error) if error.is_connect() || error.is_builder() => {
            SendOutcome::Failed(failure_text(&error).to_owned())
        }
        Err(error) => SendOutcome::Unknown(failure_text(&error).to_owned()),
    }
}

/// Writes the spoken words into a sound file; `None` if no program or no folder is configured, or the program fails.
async fn write_speech(senders: &Senders, message: &OutgoingMessage<'_>, words: &str) -> Option<PathBuf> {
    let (program, arguments) = senders.delivery.speech.split_first()?;
    let folder = senders.delivery.spool.as_deref()?;
    make_private(folder).await.ok()?;
    let file = folder.join(format!("{}.wav", message.notification.id));
    let mut argv: Vec<OsString> = vec![program.into()];
    let voice = &message.user.preferences.voice;
    argv.extend(arguments.iter().map(|argument| OsString::from(argument.replace("{voice}", voice))));
    argv.push(file.clone().into());
    // What starts with a dash would be an option.
    argv.push(format!(" {words}").into());
    let run = process::output(&argv, Path::new("/"), &[], 0, SPEECH_TIMEOUT).await;
    match run {
        Ok(run) if run.code == Some(0) => Some(file),
        Ok(_) => None,
        Err(error) => {
            tracing::debug!(%error, "no sound file was made");
            None
        }
    }
}

/// Returns a text as a value in XML, without control characters.
fn escaped(text: &str) -> String {
    let printable: String = text.chars().filter(|c| !c.is_control() || *c == '\n').collect();
    printable.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
