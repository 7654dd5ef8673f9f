//! The tokens of vendors: a prefix, and what follows it.
//!
//! A comment names the vendor's page where one states the form; other tokens have it as they are issued. No crate that
//! carries such a list has many users yet, and the lists of scanners are large and written for another purpose: they
//! report, and they may miss.

use super::lexer::Class::{self, Alnum, Base64, Dollar, Dotted, Hex, Uuid, Word};

/// The form of a vendor's tokens.
#[derive(Debug)]
pub(super) struct Token {
    /// The name of the rule.
    pub(super) name: &'static str,
    pub(super) prefixes: &'static [&'static str],
    /// The bytes that follow the prefix.
    pub(super) class: Class,
    /// Minimum number of these bytes.
    pub(super) min: usize,
}

const fn token(name: &'static str, prefixes: &'static [&'static str], class: Class, min: usize) -> Token {
    Token { name, prefixes, class, min }
}

/// All tokens, by the kinds of their vendors.
pub(super) const TOKENS: &[Token] = &[
    // Clouds.
    // docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html, "Understanding unique ID prefixes"
    token("AWS access key id", &["AKIA", "ASIA", "ABIA", "ACCA"], Alnum, 16),
    token("AWS Bedrock key", &["ABSK", "bedrock-api-key-"], Base64, 40),
    token("Google API key", &["AIza"], Word, 35),
    token("Google OAuth token", &["ya29.", "1//0", "GOCSPX-"], Word, 20),
    // Client secrets hold `8Q~`.
    token("Azure client secret", &["7Q~", "8Q~"], Dotted, 31),
    token("Azure storage key", &["+ASt"], Base64, 6),
    // docs.digitalocean.com/notes/2022/api-token-format
    token("DigitalOcean token", &["dop_v1_", "doo_v1_", "dor_v1_"], Hex, 40),
    token("Alibaba key id", &["LTAI"], Alnum, 16),
    token("Tencent key id", &["AKID"], Alnum, 32),
    token("Yandex Cloud key", &["AQVN", "y0_", "t1."], Word, 35),
    token("Heroku key", &["HRKU-"], Word, 30),
    token("Fly.io token", &["fm1_", "fm2_", "fo1_", "fm1r_", "fm1a_"], Base64, 30),
    token("Netlify token", &["nfp_", "nfc_", "nfo_"], Alnum, 30),
    token("Vercel token", &["vercel_blob_rw_", "vcp_", "vci_", "vca_"], Word, 20),
    // supabase.com/docs/guides/getting-started/api-keys
    token("Supabase key", &["sbp_", "sb_secret_"], Word, 20),
    token("Neon key", &["napi_"], Alnum, 30),
    // developers.cloudflare.com/fundamentals/api/get-started/token-formats
    token("Cloudflare key", &["cfut_", "cfat_", "cfk_", "v1.0-"], Word, 32),
    token("PlanetScale token", &["pscale_tkn_", "pscale_pw_", "pscale_oauth_"], Dotted, 30),
    token("Databricks token", &["dapi", "dkea", "dose"], Hex, 32),
    // tailscale.com/kb/1277/key-prefixes
    token("Tailscale key", &["tskey-"], Word, 16),
    token("Scaleway key id", &["SCW"], Alnum, 17),
    token("Scalingo token", &["tk-us-"], Word, 40),
    // Gemini; Azure OpenAI, Container Registry, Functions.
    token("Google API key", &["AQ.Ab8"], Word, 40),
    token("Azure key", &["JQQJ99", "+ACR", "AzFu"], Base64, 6),
    // docs.docker.com/engine/swarm/swarm-tutorial/add-nodes
    token("Docker Swarm join token", &["SWMTKN-1-"], Word, 60),
    token("Kaggle token", &["KGAT_"], Alnum, 24),
    token("Render key", &["rnd_"], Alnum, 24),
    token("Aiven password", &["AVNS_"], Word, 16),
    token("Confluent secret", &["cflt"], Base64, 56),
    token("E2B key", &["e2b_"], Hex, 40),
    // neon.com/docs: passwords of roles
    token("Neon password", &["npg_"], Alnum, 12),
    token("MongoDB Atlas secret", &["mdb_sa_sk_"], Word, 30),
    token("RunPod key", &["rpa_"], Alnum, 40),
    token("Anyscale key", &["esecret_"], Alnum, 24),
    token("Browserbase key", &["bb_live_", "bb_test_"], Word, 24),
    // Code and packages.
    // github.blog/changelog/2021-03-31-authentication-token-format-updates-are-generally-available
    token("GitHub token", &["ghp_", "gho_", "ghu_", "ghr_"], Alnum, 20),
    // docs.github.com (generating an installation access token for a GitHub App): `ghs_APPID_JWT` since April 2026
    token("GitHub token", &["ghs_"], Dotted, 20),
    token("GitHub token", &["github_pat_"], Word, 20),
    // docs.gitlab.com/security/tokens, "Token prefixes"
    token(
        "GitLab token",
        &[
            "glpat-",
            "gldt-",
            "glrt-",
            "glrtr-",
            "glcbt-",
            "glptt-",
            "glft-",
            "glimt-",
            "glagent-",
            "glsoat-",
            "gloas-",
            "glffct-",
            "glwt-",
            "GR1348941",
        ],
        Dotted,
        16,
    ),
    token("Atlassian token", &["ATATT3x", "ATCTT3x", "ATBB", "ATTA"], Base64, 20),
    // GitHub Changelog, "npm has a new access token format"
    token("npm token", &["npm_"], Alnum, 30),
    // github.com/packagist/private-packagist-docs (docs/composer-authentication.md)
    token("Packagist token", &["packagist_ort_", "packagist_out_", "packagist_uut_"], Hex, 60),
    token("PyPI token", &["pypi-"], Word, 30),
    token("crates.io token", &["cio"], Alnum, 32),
    token("RubyGems key", &["rubygems_"], Hex, 48),
    token("NuGet key", &["oy2"], Alnum, 43),
    token("Docker token", &["dckr_pat_", "dckr_oat_"], Word, 20),
    token("JFrog key", &["AKCp", "cmVmdGtu"], Alnum, 50),
    token("Clojars token", &["CLOJARS_"], Alnum, 50),
    token("Sourcegraph token", &["sgp_"], Word, 40),
    // circleci.com/changelog/new-format-for-api-access-tokens
    token("CircleCI token", &["CCIPAT_", "CCIPRJ_"], Word, 30),
    // buildkite.com/docs/platform/security/tokens, github.com/buildkite/agent (internal/redact/redact.go)
    token(
        "Buildkite token",
        &[
            "bkaa_", "bkaj_", "bkar_", "bkat_", "bkcqt_", "bkct_", "bkjat_", "bkpat_", "bkps_", "bkpt_",
            "bkrt_", "bktr_", "bktx_", "bkua_", "bkur_",
        ],
        Dotted,
        24,
    ),
    // github.com/ory/hydra, commit b170cc11e5081abcfb74b274c6d355f0e4a5b6fe
    token("Ory token", &["ory_at_", "ory_rt_", "ory_ac_"], Dotted, 40),
    token("Pulumi token", &["pul-"], Hex, 40),
    token("Vault token", &["hvs.", "hvb.", "hvr."], Word, 24),
    token("Terraform token", &[".atlasv1."], Word, 60),
    token("Doppler token", &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."], Dotted, 40),
    token("Infracost key", &["ico-"], Alnum, 32),
    token("Prefect key", &["pnu_", "pnb_"], Alnum, 36),
    token("OpenShift token", &["sha256~"], Word, 43),
    token("Sonar token", &["squ_", "sqp_", "sqa_"], Hex, 40),
    token("Snyk token", &["snyk_uat.", "snyk_sat."], Dotted, 30),
    token("Harness token", &["pat."], Dotted, 60),
    token("Trigger.dev key", &["tr_dev_", "tr_prod_", "tr_stg_", "tr_preview_"], Alnum, 20),
    token("Defined key", &["dnkey-"], Word, 40),
    token("1Password token", &["ops_eyJ"], Base64, 40),
    token("1Password secret key", &["A3-"], Word, 30),
    token("age key", &["AGE-SECRET-KEY-1", "AGE-PLUGIN-"], Alnum, 40),
    // Models.
    // OpenAI, Anthropic, OpenRouter and others.
    token("API key `sk-`", &["sk-"], Word, 18),
    token("Hugging Face token", &["hf_", "api_org_"], Alnum, 20),
    token("Groq key", &["gsk_"], Alnum, 20),
    token("xAI key", &["xai-"], Word, 20),
    token("Perplexity key", &["pplx-"], Alnum, 32),
    token("Replicate token", &["r8_"], Alnum, 30),
    token("Fireworks key", &["fw_"], Alnum, 20),
    token("Cerebras key", &["csk-"], Alnum, 32),
    token("Together key", &["tgp_v1_"], Word, 30),
    token("NVIDIA key", &["nvapi-"], Word, 40),
    token("LangSmith key", &["lsv2_pt_", "lsv2_sk_", "ls__"], Word, 32),
    token("Pinecone key", &["pcsk_"], Word, 30),
    token("Tavily key", &["tvly-"], Word, 20),
    token("ElevenLabs key", &["sk_"], Hex, 40),
    token("Voyage key", &["pa-"], Word, 40),
    token("Jina key", &["jina_"], Word, 40),
    token("Firecrawl key", &["fc-"], Hex, 32),
    token("Weights & Biases key", &["wandb_v1_"], Word, 50),
    token("Context7 key", &["ctx7sk-"], Uuid, 36),
    token("Cursor key", &["key_"], Hex, 60),
    token("OpenAI session", &["sess-"], Alnum, 40),
    token("Brave key", &["BSA"], Word, 28),
    // Messages and mail.
    // docs.slack.dev/authentication/tokens
    token(
        "Slack token",
        &[
            "xoxa-", "xoxb-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxc-", "xoxd-",
            "xapp-", "xwfp-",
        ],
        Dotted,
        10,
    ),
    token("Twilio key", &["SK"], Hex, 32),
    token("SendGrid key", &["SG."], Dotted, 50),
    token("Mailgun key", &["key-", "pubkey-"], Hex, 32),
    token("Brevo key", &["xkeysib-", "xsmtpsib-"], Word, 60),
    token("Resend key", &["re_"], Word, 24),
    token("MailerSend token", &["mlsn."], Hex, 60),
    token("Discord token", &["mfa."], Word, 80),
    // dev.twitch.tv/docs/chat/authenticating-with-twitch
    token("Twitch token", &["oauth:"], Alnum, 30),
    token("ntfy token", &["tk_"], Alnum, 29),
    // matrix-org/synapse: user, random letters, a checksum
    token("Matrix token", &["syt_"], Word, 28),
    // The base64 of `tok:`.
    token("Intercom token", &["dG9rO"], Base64, 36),
    token("Facebook token", &["EAAC", "EAAB", "EAAG", "EAAa", "EAAJ", "IGQV"], Alnum, 60),
    token("X bearer token", &["AAAAAAAAAAAAAAAAAAAAA"], Base64, 30),
    // Money.
    // docs.stripe.com/api/authentication
    token("Stripe key", &["sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_org_", "whsec_"], Base64, 16),
    token("Square token", &["sq0atp-", "sq0csp-", "sq0idp-", "EAAAE", "EAAAl"], Word, 22),
    token("PayPal token", &["access_token$production$", "access_token$sandbox$"], Dollar, 20),
    token("Plaid token", &["access-sandbox-", "access-development-", "access-production-"], Word, 36),
    token("Flutterwave key", &["FLWSECK-", "FLWSECK_TEST-", "FLWSECK_LIVE-"], Word, 12),
    token("EasyPost key", &["EZAK", "EZTK"], Alnum, 54),
    token("Shippo key", &["shippo_live_", "shippo_test_"], Hex, 40),
    token("Duffel key", &["duffel_live_", "duffel_test_"], Word, 40),
    token("Mercado Pago token", &["APP_USR-"], Word, 40),
    token("Adyen key", &["AQE"], Base64, 80),
    token("Lob key", &["live_", "test_"], Hex, 35),
    token("Polar token", &["polar_oat_", "polar_pat_"], Alnum, 30),
    // docs.stripe.com/api/payment_intents/object (`client_secret`), …/api/ephemeral_keys
    token("Stripe secret", &["_secret_"], Alnum, 20),
    token("Stripe key", &["ek_live_", "ek_test_"], Base64, 20),
    token("Stytch secret", &["secret-live-", "secret-test-"], Word, 30),
    // Products.
    // shopify.dev/changelog/length-of-the-shopify-access-token-is-increasing, …/app-secret-key-length-has-increased
    token("Shopify token", &["shpat_", "shpca_", "shppa_", "shpss_", "shptka_", "shpua_"], Hex, 24),
    token("Linear key", &["lin_api_", "lin_oauth_", "lin_wh_"], Alnum, 20),
    token("Notion token", &["ntn_", "secret_"], Alnum, 40),
    token("Airtable token", &["pat"], Dotted, 78),
    token("Figma token", &["figd_", "figo_", "figu_"], Word, 30),
    token("HubSpot token", &["pat-na1-", "pat-na2-", "pat-eu1-", "pat-ap1-"], Uuid, 36),
    token("Statsig key", &["secret-", "console-"], Alnum, 40),
    token("42 secret", &["s-s4t2ud-"], Hex, 60),
    token("Adafruit key", &["aio_"], Alnum, 28),
    token("Dropbox token", &["sl.u.", "sl.B", "sl.A"], Word, 60),
    token("Typeform token", &["tfp_"], Dotted, 40),
    token("Contentful token", &["CFPAT-"], Word, 43),
    token("ReadMe key", &["rdme_"], Alnum, 60),
    token("Frame.io token", &["fio-u-"], Word, 50),
    token("Adobe secret", &["p8e-"], Alnum, 32),
    token("Mapbox token", &["sk.eyJ"], Dotted, 40),
    token("PostHog key", &["phx_", "phs_"], Alnum, 30),
    token("Postman key", &["PMAK-"], Word, 50),
    token("Octopus key", &["API-"], Alnum, 26),
    token("Rootly key", &["rootly_"], Hex, 60),
    // Observation.
    // docs.sentry.io/security-legal-pii/security/token-formats, docs.dynatrace.com (access tokens, "Token format")
    token("Grafana token", &["glc_", "glsa_"], Base64, 30),
    token("New Relic key", &["NRAK-", "NRII-", "NRAA-", "NRSP-", "NRJS-"], Word, 18),
    token("Sentry token", &["sntrys_", "sntryu_", "sntrya_", "sntryi_"], Base64, 40),
    token("Dynatrace token", &["dt0c01.", "dt0s01.", "dt0s02."], Dotted, 60),
    token("LaunchDarkly key", &["api-", "sdk-", "mob-"], Uuid, 36),
    // docs.datadoghq.com/account_management/api-app-keys
    token("Datadog key", &["ddapp_", "ddpat_"], Alnum, 30),
    // Formats.
    // postgresql.org/docs/current/catalog-pg-authid.html; the empty half of a pair of hashes of Windows
    token("password hash", &["md5", "aad3b435b51404eeaad3b435b51404ee:"], Hex, 32),
    // RFC 7519: the header of a JSON Web Token begins with `{"` in base64url
    token("JSON Web Token", &["eyJ"], Dotted, 30),
    // laravel/framework (src/Illuminate/Encryption/Encrypter.php): `{"iv":"` in base64, as in its cookies
    token("Laravel cookie", &["eyJpdiI6"], Base64, 60),
    // BIP 32, NIP-19, spec.torproject.org/control-spec: private keys in base58, bech32 and base64
    token("extended private key", &["xprv", "yprv", "zprv", "tprv"], Alnum, 100),
    token("Nostr key", &["nsec1"], Alnum, 58),
    // jedisct1.github.io/minisign: an encrypted key and its header
    token("minisign key", &["RWRTY0Iy"], Base64, 100),
    token("Tor key", &["ED25519-V3:"], Base64, 80),
];
