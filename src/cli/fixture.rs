//! `adjutant fixture`: the conformance fixture on the product's HTTP layers, or on its transport, for tests.

use clap::Args;
use tracing::level_filters::LevelFilter;

use super::mcp::stdio;
use super::output::{self, Failure};
use super::{Common, native_runners};
use adjutant_app::App;
use adjutant_base::config::{Auth, Config, Overrides, Roots, Switch};
use adjutant_http as http;
use adjutant_mcp as mcp;
use adjutant_mcp::fixture::Fixture;

/// Arguments of `adjutant fixture`.
#[derive(Debug, Args)]
pub(super) struct FixtureArgs {
    /// Address to listen on
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    http: String,
    /// Serve one connection on stdin and stdout instead
    #[arg(long, conflicts_with = "http")]
    stdio: bool,
}

/// Serves until a signal ends the process, without a token.
pub(super) fn run(args: &FixtureArgs, common: Common) -> Result<(), Failure> {
    common.start_log(LevelFilter::WARN)?;
    let overrides = Overrides {
        home: common.home,
        http: Some(Switch::address(&args.http)?),
        socket: Some(Switch::Off),
        auth: Some(Auth::None),
        ..Overrides::default()
    };
    let config = Config::load(overrides, Roots::Exactly(Vec::new()))?;
    let runners = native_runners(&config.runners)?;
    let app = App::new(config, runners);
    let Some(address) = app.config.http.address else {
        return Err(Failure::usage("the fixture serves only HTTP"));
    };
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(Failure::new)?;
    let fixture = Fixture::new(&key).map_err(Failure::new)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        if args.stdio {
            let (input, output) = stdio::open()?;
            mcp::serve_handler(&app, fixture, input, output).await;
            return Ok(());
        }
        let listener = http::BoundListener::open(address, &app.config.http, &app.config.home)
            .await
            .map_err(Failure::new)?;
        output::note(format!("fixture  http://{}/mcp", listener.address()));
        http::serve_handler(app, listener, move || fixture.clone()).await;
        Ok(())
    })
}
