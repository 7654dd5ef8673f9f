//! The capabilities of Codex by version. The source is the schema that each tested version prints (`codex app-server
//! generate-json-schema --experimental`): 0.92.0, 0.153.4 and 0.169.0.

use serde::{Deserialize, Serialize};

use super::detect::{Installed, number};
use super::error::Error;
use super::thread_options::{Act, Backend, TurnInput};

/// The last tested version without the capabilities that a later one has.
const LAST_WITHOUT: (u32, u32) = (0, 92);

/// The tested versions that first have a capability.
const V92: (u32, u32) = (0, 92);
const V153: (u32, u32) = (0, 153);

/// A capability of Codex in app-server, from a version on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Capability {
    pub(super) name: &'static str,
    /// What Codex does, after "can".
    about: &'static str,
    since: (u32, u32),
}

/// A capability, and whether the installed Codex has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Offered {
    pub name: String,
    pub about: String,
    /// `None` for a version between the tested ones: Codex is asked when the capability is needed.
    pub offered: Option<bool>,
    /// The first tested version that has it.
    pub since: String,
}

/// The installed Codex, and its capabilities.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Capabilities {
    pub version: String,
    pub backend: String,
    pub capabilities: Vec<Offered>,
}

macro_rules! capabilities {
    ($($constant:ident $name:literal $since:ident $about:literal)*) => {
        $(pub(super) const $constant: Capability = Capability { name: $name, about: $about, since: $since };)*
        const ALL: &[Capability] = &[$($constant),*];
    };
}

capabilities! {
    LIST "list" V92 "list the threads that were started without Adjutant"
    IMPORT "import" V92 "give the history of a thread"
    STEER "steer" V153 "take text into a running turn"
    MODEL "model" V92 "change the model for a turn"
    EFFORT "effort" V92 "change the reasoning effort for a turn"
    IMAGES "images" V92 "take images with a prompt"
    FORK "fork" V92 "fork a thread"
    FORK_EARLIER "fork-earlier" V153 "fork a thread at an earlier turn"
    REVERT "revert" V92 "revert the last turns of a thread"
    COMPACT "compact" V153 "compact a thread"
    REVIEW "review" V92 "review changes"
    RENAME "rename" V153 "rename a thread"
    ARCHIVE "archive" V92 "archive a thread"
    DELETE "delete" V153 "delete a thread"
    PLAN "plan" V92 "report the plan of a turn"
    DIFF "diff" V92 "report the changes of a turn as a diff"
    LIMITS "limits" V92 "report the rate limits of the account"
    CONTEXT "context" V153 "report the size of the model's context"
    END_COMMANDS "end-commands" V153 "end a command that continues after its turn"
}

impl Capability {
    fn is_in(self, installed: &Installed) -> Option<bool> {
        let number = number(&installed.version)?;
        match installed.backend {
            Backend::McpServer => Some(false),
            Backend::AppServer if number >= self.since => Some(true),
            Backend::AppServer if number <= LAST_WITHOUT => Some(false),
            Backend::AppServer => None,
        }
    }

    /// Fails if the installed Codex is known to lack it. The error names a version that has it.
    pub(super) fn require(self, installed: &Installed) -> Result<(), Error> {
        if self.is_in(installed) != Some(false) {
            return Ok(());
        }
        let since = version(self.since);
        let (program, since) = match installed.backend {
            Backend::AppServer => (format!("codex {}", installed.version), since),
            Backend::McpServer => ("codex mcp-server".to_owned(), format!("app-server of {since}")),
        };
        Err(Error::Lacks { program, about: self.about, since })
    }
}

/// Fails if the installed Codex is known to lack what a turn needs.
pub(super) fn check_turn(installed: &Installed, turn: &TurnInput) -> Result<(), Error> {
    let needs = [
        (COMPACT, turn.act == Act::Compact),
        (REVIEW, matches!(turn.act, Act::Review(_))),
        (IMAGES, !turn.images.is_empty()),
        (MODEL, turn.model.is_some()),
        (EFFORT, turn.effort.is_some()),
    ];
    needs.into_iter().filter(|(_, needed)| *needed).try_for_each(|(one, _)| one.require(installed))
}

/// Returns all capabilities.
pub(super) fn of(installed: &Installed) -> Capabilities {
    let offered = |one: &Capability| Offered {
        name: one.name.to_owned(),
        about: one.about.to_owned(),
        offered: one.is_in(installed),
        since: version(one.since),
    };
    Capabilities {
        version: installed.version.clone(),
        backend: installed.backend.name().to_owned(),
        capabilities: ALL.iter().map(offered).collect(),
    }
}

fn version((major, minor): (u32, u32)) -> String {
    format!("{major}.{minor}")
}

#[cfg(test)]
mod tests {
    use super::{ALL, COMPACT, Installed, of};
    use crate::thread_options::Backend;

    #[test]
    fn a_version_without_a_capability_is_refused_with_the_version_that_has_it() {
        let installed = |version: &str, backend| Installed {
            program: "codex".into(),
            version: version.to_owned(),
            backend,
        };
        let refused = |version, backend| {
            COMPACT.require(&installed(version, backend)).err().map(|error| error.to_string())
        };
        let app = Backend::AppServer;
        assert_eq!(
            refused("0.92.0", app).unwrap(),
            "codex 0.92.0 cannot compact a thread; 0.153 and later can"
        );
        assert_eq!(
            refused("0.153.4", Backend::McpServer).unwrap(),
            "codex mcp-server cannot compact a thread; app-server of 0.153 and later can"
        );
        assert_eq!(refused("0.120.0", app), None, "a version between the tested ones is asked");
        assert_eq!(refused("0.153.4", app), None);
        let all = of(&installed("0.120.0", app)).capabilities;
        assert_eq!(all.len(), ALL.len());
        assert!(all.iter().all(|one| one.offered == if one.since == "0.92" { Some(true) } else { None }));
    }
}
