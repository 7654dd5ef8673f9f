class Adjutant < Formula
  desc "Local hub for coding agents: prompts, delegation, questions over MCP"
  homepage "https://github.com/@REPOSITORY@"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

@ARCHIVES@
  def install
    bin.install "adjutant"
    doc.install "LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY-LICENSES.txt", "adjutant.cdx.json"
    generate_completions_from_executable(bin/"adjutant", "completions")
  end

  service do
    run [opt_bin/"adjutant", "serve", "--quiet", "--log-level", "info", "--any-port"]
    keep_alive successful_exit: false
    environment_variables PATH: std_service_path_env
    error_log_path var/"log/adjutant.log"
  end

  test do
    request = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    assert_match "expand_prompt", pipe_output("#{bin}/adjutant mcp prompts", request)
  end
end
