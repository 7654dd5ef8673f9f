//! Phone calls: the words as a sound file where a program for it is there, then the provider by HTTP.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::send::Letter;
use super::{Outcome, Ways, make_private, web};
use crate::process;

/// How long the program may speak into its file.
const PATIENCE: Duration = Duration::from_secs(20);

/// Characters of one call.
const LONGEST: usize = 600;

/// Places the call. A connection that broke after the request leaves open whether the phone rings: then nobody knows,
/// and nothing is tried again by itself.
pub(super) async fn send(ways: &Ways, letter: &Letter<'_>) -> Outcome {
    let Some(number) = &letter.user.phone else {
        return Outcome::Refused("the user has no phone".to_owned());
    };
    let wording = &letter.notification.wording;
    let words = if wording.speech.is_empty() { &letter.text } else { &wording.speech };
    let words: String = words.chars().take(LONGEST).collect();
    let sound = speak(ways, letter, &words).await;
    let (Some(phone), Some(client)) = (&ways.delivery.phone, &ways.web) else {
        let sound = sound.map_or_else(String::new, |file| {
            format!("; what it would say is in {}", file.file_name().unwrap_or_default().to_string_lossy())
        });
        return Outcome::Simulated(format!("no provider of calls is configured{sound}"));
    };
    let voice = escaped(&letter.user.preferences.locale);
    let twiml = format!("<Response><Say language=\"{voice}\">{}</Say></Response>", escaped(&words));
    let address = format!("{}/2010-04-01/Accounts/{}/Calls.json", phone.base_url, phone.account);
    let form = [("To", number.as_str()), ("From", phone.from.as_str()), ("Twiml", twiml.as_str())];
    let body = form.map(|(name, value)| format!("{name}={}", encoded(value))).join("&");
    let request = client
        .post(address)
        .basic_auth(&phone.account, Some(&phone.token))
        .header("content-type", "application/x-www-form-urlencoded")
        .body(body);
    match request.send().await {
        Ok(answer) => match web::of_status(answer.status().as_u16()) {
            // The provider may have started to call before it failed.
            Outcome::Failed(why) if answer.status().is_server_error() => Outcome::Unknown(why),
            outcome => outcome,
        },
        Err(error) if error.is_connect() || error.is_builder() => {
            Outcome::Failed(web::failure(&error).to_owned())
        }
        Err(error) => Outcome::Unknown(web::failure(&error).to_owned()),
    }
}

/// Writes what a voice says into a sound file; none where no program or no folder for it is there.
async fn speak(ways: &Ways, letter: &Letter<'_>, words: &str) -> Option<PathBuf> {
    let (program, arguments) = ways.delivery.speech.split_first()?;
    let folder = ways.delivery.spool.as_deref()?;
    make_private(folder).await.ok()?;
    let file = folder.join(format!("{}.wav", letter.notification.id));
    let mut argv: Vec<OsString> = vec![program.into()];
    let voice = &letter.user.preferences.voice;
    argv.extend(arguments.iter().map(|argument| OsString::from(argument.replace("{voice}", voice))));
    argv.push(file.clone().into());
    // What starts with a dash would be an option.
    argv.push(format!(" {words}").into());
    let run = process::short(&argv, Path::new("/"), &[], 0, PATIENCE).await;
    match run {
        Ok(run) if run.code == Some(0) => Some(file),
        Ok(_) => None,
        Err(error) => {
            tracing::debug!(%error, "no sound file was made");
            None
        }
    }
}

/// A text within XML.
fn escaped(text: &str) -> String {
    let plain: String = text.chars().filter(|c| !c.is_control() || *c == '\n').collect();
    plain.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A value of a form.
fn encoded(value: &str) -> String {
    use std::fmt::Write as _;
    value.bytes().fold(String::new(), |mut text, byte| {
        if byte.is_ascii_alphanumeric() || b"-._*".contains(&byte) {
            text.push(char::from(byte));
        } else {
            // Writing into a String cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
        text
    })
}
