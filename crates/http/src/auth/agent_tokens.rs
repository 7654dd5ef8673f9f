//! Tokens of agents: each has a name, can ask and never answer, and ends when it is revoked.
//!
//! The file `agent-tokens` in the home has one line for each: the name, the SHA-256 digest, and the time of creation
//! in milliseconds since 1970. The token itself is shown once and not kept.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use super::secret_file::{random, read_private, replace};
use adjutant_base::text::hex;

/// Maximum number of agents' tokens.
const MAX_TOKENS: usize = 256;

/// Maximum number of characters of a token's name.
const MAX_NAME_CHARS: usize = 40;

/// A token of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentToken {
    pub name: String,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// The SHA-256 digest of the token, in hexadecimal.
    pub(super) digest: String,
}

/// A change of the agents' tokens that was not made.
#[derive(Debug, thiserror::Error)]
pub enum AgentTokenError {
    #[error("`{0}` is not a valid name of a token: use up to 40 letters, digits, `-`, `_` and `.`")]
    Name(String),
    #[error("a token `{0}` already exists; choose another name, or revoke it first")]
    Taken(String),
    #[error("unknown token `{0}`")]
    Unknown(String),
    #[error("there are {MAX_TOKENS} tokens, which is the limit; revoke one first")]
    Full,
    #[error("the tokens of agents cannot be read or written: {0}")]
    File(#[from] io::Error),
}

/// Returns the agents' tokens of the hub in `home`, oldest first.
pub fn agent_tokens(home: &Path) -> io::Result<Vec<AgentToken>> {
    Ok(read(&path(home))?.to_vec())
}

/// Makes a token for the agent `name` and returns it; it is not kept and cannot be shown again.
pub fn add_agent_token(home: &Path, name: &str) -> Result<String, AgentTokenError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if name.is_empty() || name.len() > MAX_NAME_CHARS || !name.bytes().all(allowed) {
        return Err(AgentTokenError::Name(name.to_owned()));
    }
    let secret = random()?;
    change(home, |tokens| {
        if tokens.iter().any(|token| token.name == name) {
            return Err(AgentTokenError::Taken(name.to_owned()));
        }
        if tokens.len() >= MAX_TOKENS {
            return Err(AgentTokenError::Full);
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let created_at = i64::try_from(now).unwrap_or(i64::MAX);
        tokens.push(AgentToken { name: name.to_owned(), created_at, digest: digest(secret.as_str()) });
        Ok(())
    })?;
    Ok(secret.as_str().to_owned())
}

/// Revokes the token of the agent `name`. A running hub rejects it from then on and ends its event streams.
pub fn revoke_agent_token(home: &Path, name: &str) -> Result<(), AgentTokenError> {
    change(home, |tokens| {
        let count = tokens.len();
        tokens.retain(|token| token.name != name);
        if tokens.len() == count { Err(AgentTokenError::Unknown(name.to_owned())) } else { Ok(()) }
    })
}

pub(super) fn path(home: &Path) -> PathBuf {
    home.join("agent-tokens")
}

pub(super) fn read(path: &Path) -> io::Result<Arc<[AgentToken]>> {
    let text = match read_private(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Arc::default()),
        read => read?,
    };
    let token = |line: &str| {
        let mut parts = line.split_ascii_whitespace();
        let (name, digest) = (parts.next()?.to_owned(), parts.next()?.to_owned());
        Some(AgentToken { name, digest, created_at: parts.next()?.parse().ok()? })
    };
    Ok(text.lines().filter_map(token).collect())
}

pub(super) fn digest(token: &str) -> String {
    hex::sha256(token)
}

fn change(
    home: &Path,
    apply: impl FnOnce(&mut Vec<AgentToken>) -> Result<(), AgentTokenError>,
) -> Result<(), AgentTokenError> {
    std::fs::create_dir_all(home)?;
    // Two commands at once would lose the change of one.
    let folder = std::fs::File::open(home)?;
    rustix::fs::flock(&folder, rustix::fs::FlockOperation::LockExclusive).map_err(io::Error::from)?;
    let mut tokens = agent_tokens(home)?;
    apply(&mut tokens)?;
    let lines: Vec<String> =
        tokens.iter().map(|token| format!("{} {} {}", token.name, token.digest, token.created_at)).collect();
    Ok(replace(&path(home), &lines.join("\n"))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_word_without_a_separator() {
        let home = Path::new("/nonexistent");
        for name in ["", "two words", "a:b", "line\nbreak", "ä", &"x".repeat(41)] {
            assert!(matches!(add_agent_token(home, name), Err(AgentTokenError::Name(_))), "{name:?}");
        }
    }
}
