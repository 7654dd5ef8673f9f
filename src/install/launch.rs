//! The command line that a client's configuration runs: this program, and the home if it is not the default.

use adjutant_base::text::shell_quoting::quoted;

/// Program and home that a client's entry and its hook name.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    /// The absolute path of this program. A bare name is never written, because applications that a desktop starts do
    /// not have the `PATH` of a shell, and an agent's `PATH` may change with the folder it works in.
    pub(crate) program: String,
    /// The home, if it is not the default one. Clients do not pass on `ADJUTANT_HOME`.
    pub(crate) home: Option<String>,
}

impl Launch {
    /// Returns the words of the hook of the client named `client`.
    pub(super) fn hook_words<'a>(&'a self, client: &'a str) -> Vec<&'a str> {
        let home = self.home.iter().flat_map(|home| ["--home", home]);
        [self.program.as_str(), "hook", client].into_iter().chain(home).collect()
    }

    /// Returns the same words as a shell line.
    pub(super) fn hook_line(&self, client: &str) -> String {
        self.hook_words(client).into_iter().map(quoted).collect::<Vec<_>>().join(" ")
    }
}
