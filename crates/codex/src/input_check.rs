//! The check of the input of a turn. Codex takes any file as an image and any word as an effort, and leaves it out later.

use serde_json::json;
use tokio::io::AsyncReadExt as _;

use super::capabilities::check_turn;
use super::thread_options::TurnInput;
use super::{Codex, Error};
use adjutant_base::text::suggest::near_names;

/// Efforts that each version knows. For another effort Codex is asked for the efforts of its models.
const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh"];
/// Bytes at the beginning of a file that say whether it is an image.
const HEAD_BYTES: u64 = 12;

impl Codex {
    /// Fails if the installed Codex lacks what an input needs, if a file is not an image, or if no model has the
    /// effort.
    pub(super) async fn check_input(&self, input: &TurnInput) -> Result<(), Error> {
        check_turn(&self.installed().await?, input)?;
        for path in &input.images {
            let why = match head(path).await {
                Ok(head) if is_image(&head) => continue,
                Ok(_) => "it is neither PNG, JPEG, GIF nor WebP".to_owned(),
                Err(error) => error.to_string(),
            };
            return Err(Error::NoImage { path: path.clone(), why });
        }
        match &input.effort {
            Some(effort) if !EFFORTS.contains(&effort.as_str()) => self.check_effort(effort).await,
            _ => Ok(()),
        }
    }

    async fn check_effort(&self, effort: &str) -> Result<(), Error> {
        let models = self.with_process("list its models", |codex| {
            Box::pin(async move { codex.call("model/list", &json!({})).await })
        });
        // Without a list, Codex decides.
        let Ok(models) = models.await else { return Ok(()) };
        let models = models["data"].as_array().into_iter().flatten();
        let efforts =
            models.flat_map(|model| model["supportedReasoningEfforts"].as_array().into_iter().flatten());
        let mut known: Vec<String> = Vec::new();
        for name in efforts.filter_map(|effort| effort["reasoningEffort"].as_str()) {
            if !known.iter().any(|one| one == name) {
                known.push(name.to_owned());
            }
        }
        if known.is_empty() || known.iter().any(|one| one == effort) {
            return Ok(());
        }
        let near = near_names(effort, known.iter().map(String::as_str));
        Err(Error::UnknownEffort { effort: effort.to_owned(), near, known })
    }
}

/// Returns the beginning of a file.
async fn head(path: &str) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    tokio::fs::File::open(path).await?.take(HEAD_BYTES).read_to_end(&mut head).await?;
    Ok(head)
}

fn is_image(head: &[u8]) -> bool {
    [&b"\x89PNG\r\n"[..], b"\xff\xd8\xff", b"GIF8"].iter().any(|sign| head.starts_with(sign))
        || head.starts_with(b"RIFF") && head.ends_with(b"WEBP")
}
