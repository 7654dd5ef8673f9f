//! The tokens of vendors: a prefix that the vendor documents, and what follows it.
//!
//! The list is made from the vendors' own pages, which the comments name. No crate that carries such a list has many users
//! yet, and the lists of scanners are large and written for another purpose: they report, and they may miss.

use super::lexer::Class::{self, Alnum, Base64, Dotted, Hex, Uuid, Word};

/// The documented form of a vendor's tokens.
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
    // docs.aws.amazon.com/bedrock/latest/userguide/api-keys.html
    token("AWS Bedrock key", &["ABSK", "bedrock-api-key-"], Base64, 40),
    // cloud.google.com/docs/authentication/api-keys, developers.google.com/identity/protocols/oauth2
    token("Google API key", &["AIza"], Word, 35),
    token("Google OAuth token", &["ya29.", "1//0", "GOCSPX-"], Word, 20),
    // learn.microsoft.com/entra/identity-platform (client secrets hold `8Q~`), learn.microsoft.com/azure/devops/release-notes
    token("Azure client secret", &["7Q~", "8Q~"], Dotted, 31),
    token("Azure storage key", &["+ASt"], Base64, 6),
    // docs.digitalocean.com/reference/api/create-personal-access-token
    token("DigitalOcean token", &["dop_v1_", "doo_v1_", "dor_v1_"], Hex, 40),
    // www.alibabacloud.com/help/ram, cloud.tencent.com/document/product/598, yandex.cloud/docs/iam/concepts
    token("Alibaba key id", &["LTAI"], Alnum, 16),
    token("Tencent key id", &["AKID"], Alnum, 32),
    token("Yandex Cloud key", &["AQVN", "y0_", "t1."], Word, 35),
    // devcenter.heroku.com/articles/oauth, fly.io/docs/security/tokens, docs.netlify.com/api/get-started
    token("Heroku key", &["HRKU-"], Word, 30),
    token("Fly.io token", &["fm1_", "fm2_", "fo1_", "fm1r_", "fm1a_"], Base64, 30),
    token("Netlify token", &["nfp_", "nfc_", "nfo_"], Alnum, 30),
    // vercel.com/docs/rest-api, supabase.com/docs/guides/api/api-keys, neon.tech/docs/manage/api-keys
    token("Vercel token", &["vercel_blob_rw_", "vcp_", "vci_", "vca_"], Word, 20),
    token("Supabase key", &["sbp_", "sb_secret_"], Word, 20),
    token("Neon key", &["napi_"], Alnum, 30),
    // developers.cloudflare.com/fundamentals/api/get-started, .../ssl/origin-configuration
    token("Cloudflare key", &["cfut_", "cfat_", "cfk_", "v1.0-"], Word, 32),
    // planetscale.com/docs/api/reference/service-tokens, docs.databricks.com/dev-tools/auth/pat
    token("PlanetScale token", &["pscale_tkn_", "pscale_pw_", "pscale_oauth_"], Dotted, 30),
    token("Databricks token", &["dapi", "dkea", "dose"], Hex, 32),
    // tailscale.com/kb/1277/key-prefixes, www.scaleway.com/docs
    token("Tailscale key", &["tskey-"], Word, 16),
    token("Scalingo token", &["tk-us-"], Word, 40),
    // ai.google.dev/gemini-api/docs/api-key, learn.microsoft.com (Azure OpenAI, Container Registry, Functions)
    token("Google API key", &["AQ.Ab8"], Word, 40),
    token("Azure key", &["JQQJ99", "+ACR", "AzFu"], Base64, 6),
    // api-docs.render.com, aiven.io/docs, docs.confluent.io/cloud/current/security, dev.e2b.dev/docs
    token("Render key", &["rnd_"], Alnum, 24),
    token("Aiven password", &["AVNS_"], Word, 16),
    token("Confluent secret", &["cflt"], Base64, 56),
    token("E2B key", &["e2b_"], Hex, 40),
    // Code and packages.
    // docs.github.com/authentication/keeping-your-account-and-data-secure/about-authentication-to-github
    token("GitHub token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], Alnum, 20),
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
    // support.atlassian.com/atlassian-account/docs/manage-api-tokens, support.atlassian.com/bitbucket-cloud
    token("Atlassian token", &["ATATT3x", "ATCTT3x", "ATBB", "ATTA"], Base64, 20),
    // the pages of npm, PyPI and crates.io about access tokens (crates.io: `cio`)
    token("npm token", &["npm_"], Alnum, 30),
    token("PyPI token", &["pypi-"], Word, 30),
    token("crates.io token", &["cio"], Alnum, 32),
    // guides.rubygems.org/api-key-scopes, learn.microsoft.com/nuget/nuget-org/scoped-api-keys, docs.docker.com/security
    token("RubyGems key", &["rubygems_"], Hex, 48),
    token("NuGet key", &["oy2"], Alnum, 43),
    token("Docker token", &["dckr_pat_", "dckr_oat_"], Word, 20),
    // jfrog.com/help (API keys, reference tokens), github.com/clojars/clojars-web/wiki, sourcegraph.com/docs/cli
    token("JFrog key", &["AKCp", "cmVmdGtu"], Alnum, 50),
    token("Clojars token", &["CLOJARS_"], Alnum, 50),
    token("Sourcegraph token", &["sgp_"], Word, 40),
    // circleci.com/docs/managing-api-tokens, buildkite.com/docs/apis/managing-api-tokens, www.pulumi.com/docs
    token("CircleCI token", &["CCIPAT_", "CCIPRJ_"], Word, 30),
    token("Buildkite token", &["bkua_", "bkct_", "bkaj_"], Alnum, 30),
    token("Pulumi token", &["pul-"], Hex, 40),
    // developer.hashicorp.com/vault/docs/concepts/tokens, developer.hashicorp.com/terraform/cloud-docs/users-teams
    token("Vault token", &["hvs.", "hvb.", "hvr."], Word, 24),
    token("Terraform token", &[".atlasv1."], Word, 60),
    // docs.doppler.com/reference, www.infracost.io/docs, docs.prefect.io, docs.openshift.com/authentication
    token("Doppler token", &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."], Dotted, 40),
    token("Infracost key", &["ico-"], Alnum, 32),
    token("Prefect key", &["pnu_", "pnb_"], Alnum, 36),
    token("OpenShift token", &["sha256~"], Word, 43),
    // docs.sonarsource.com (tokens), docs.snyk.io/snyk-api, developer.harness.io, trigger.dev/docs, docs.defined.net
    token("Sonar token", &["squ_", "sqp_", "sqa_"], Hex, 40),
    token("Snyk token", &["snyk_uat.", "snyk_sat."], Dotted, 30),
    token("Harness token", &["pat."], Dotted, 60),
    token("Trigger.dev key", &["tr_dev_", "tr_prod_", "tr_stg_", "tr_preview_"], Alnum, 20),
    token("Defined key", &["dnkey-"], Word, 40),
    // developer.1password.com/docs/service-accounts, github.com/FiloSottile/age
    token("1Password token", &["ops_eyJ"], Base64, 40),
    token("1Password secret key", &["A3-"], Word, 30),
    token("age key", &["AGE-SECRET-KEY-1", "AGE-PLUGIN-"], Alnum, 40),
    // Models.
    // platform.openai.com/docs/api-reference, docs.anthropic.com/api, openrouter.ai/docs: `sk-`, `sk-proj-`, `sk-ant-`, `sk-or-`
    token("API key `sk-`", &["sk-"], Word, 18),
    // huggingface.co/docs/hub/security-tokens, console.groq.com/docs, docs.x.ai, docs.perplexity.ai
    token("Hugging Face token", &["hf_", "api_org_"], Alnum, 20),
    token("Groq key", &["gsk_"], Alnum, 20),
    token("xAI key", &["xai-"], Word, 20),
    token("Perplexity key", &["pplx-"], Alnum, 32),
    // replicate.com/docs, docs.fireworks.ai, inference-docs.cerebras.ai, docs.together.ai, docs.nvidia.com/nim
    token("Replicate token", &["r8_"], Alnum, 30),
    token("Fireworks key", &["fw_"], Alnum, 20),
    token("Cerebras key", &["csk-"], Alnum, 32),
    token("Together key", &["tgp_v1_"], Word, 30),
    token("NVIDIA key", &["nvapi-"], Word, 40),
    // docs.langchain.com/langsmith, docs.pinecone.io, docs.tavily.com, elevenlabs.io/docs, docs.voyageai.com, jina.ai
    token("LangSmith key", &["lsv2_pt_", "lsv2_sk_", "ls__"], Word, 32),
    token("Pinecone key", &["pcsk_"], Word, 30),
    token("Tavily key", &["tvly-"], Word, 20),
    token("ElevenLabs key", &["sk_"], Hex, 40),
    token("Voyage key", &["pa-"], Word, 40),
    token("Jina key", &["jina_"], Word, 40),
    // docs.firecrawl.dev, docs.wandb.ai, context7.com/docs, docs.cursor.com/account
    token("Firecrawl key", &["fc-"], Hex, 32),
    token("Weights & Biases key", &["wandb_v1_"], Word, 50),
    token("Context7 key", &["ctx7sk-"], Uuid, 36),
    token("Cursor key", &["key_"], Hex, 60),
    // Messages and mail.
    // api.slack.com/authentication/token-types
    token(
        "Slack token",
        &[
            "xoxa-", "xoxb-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxc-", "xoxd-",
            "xapp-", "xwfp-",
        ],
        Dotted,
        10,
    ),
    // www.twilio.com/docs/iam/api-keys, www.twilio.com/docs/sendgrid/ui/account-and-settings/api-keys
    token("Twilio key", &["SK"], Hex, 32),
    token("SendGrid key", &["SG."], Dotted, 50),
    // documentation.mailgun.com, developers.brevo.com, resend.com/docs, learn.microsoft.com (Teams), dev.twitch.tv
    token("Mailgun key", &["key-", "pubkey-"], Hex, 32),
    token("Brevo key", &["xkeysib-", "xsmtpsib-"], Word, 60),
    token("Resend key", &["re_"], Word, 24),
    // developers.facebook.com/docs/facebook-login/guides/access-tokens, developer.x.com/docs/authentication
    token("Facebook token", &["EAAC", "EAAB", "EAAG", "EAAa", "EAAJ", "IGQV"], Alnum, 60),
    token("X bearer token", &["AAAAAAAAAAAAAAAAAAAAA"], Base64, 30),
    // Money.
    // docs.stripe.com/keys, docs.stripe.com/webhooks#endpoint-secrets
    token("Stripe key", &["sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_org_", "whsec_"], Base64, 16),
    // developer.squareup.com/docs/build-basics/access-tokens, developer.paypal.com/braintree, plaid.com/docs/api
    token("Square token", &["sq0atp-", "sq0csp-", "sq0idp-", "EAAAE", "EAAAl"], Word, 22),
    token("PayPal token", &["access_token$production$", "access_token$sandbox$"], Base64, 20),
    token("Plaid token", &["access-sandbox-", "access-development-", "access-production-"], Word, 36),
    // developer.flutterwave.com/docs, docs.easypost.com, docs.goshippo.com, docs.duffel.com
    token("Flutterwave key", &["FLWSECK-", "FLWSECK_TEST-", "FLWSECK_LIVE-"], Word, 12),
    token("EasyPost key", &["EZAK", "EZTK"], Alnum, 54),
    token("Shippo key", &["shippo_live_", "shippo_test_"], Hex, 40),
    token("Duffel key", &["duffel_live_", "duffel_test_"], Word, 40),
    // www.mercadopago.com/developers, docs.adyen.com/development-resources/api-credentials, docs.lob.com, polar.sh/docs
    token("Mercado Pago token", &["APP_USR-"], Word, 40),
    token("Adyen key", &["AQE"], Base64, 80),
    token("Lob key", &["live_", "test_"], Hex, 35),
    token("Polar token", &["polar_oat_", "polar_pat_"], Alnum, 30),
    // Products.
    // shopify.dev/docs/apps/build/authentication-authorization, linear.app/developers, developers.notion.com
    token("Shopify token", &["shpat_", "shpca_", "shppa_", "shpss_", "shptka_", "shpua_"], Hex, 24),
    token("Linear key", &["lin_api_", "lin_oauth_", "lin_wh_"], Alnum, 20),
    token("Notion token", &["ntn_", "secret_"], Alnum, 40),
    // airtable.com/developers/web/guides/personal-access-tokens, developers.figma.com, developers.asana.com
    token("Airtable token", &["pat"], Dotted, 78),
    token("Figma token", &["figd_", "figo_", "figu_"], Word, 30),
    // developers.hubspot.com/docs (private apps), docs.statsig.com, api.intra.42.fr/apidoc, io.adafruit.com/api/docs
    token("HubSpot token", &["pat-na1-", "pat-na2-", "pat-eu1-", "pat-ap1-"], Uuid, 36),
    token("Statsig key", &["secret-", "console-"], Alnum, 40),
    token("42 secret", &["s-s4t2ud-"], Hex, 60),
    token("Adafruit key", &["aio_"], Alnum, 28),
    // www.dropbox.com/developers/documentation, developer.typeform.com, www.contentful.com/developers/docs
    token("Dropbox token", &["sl.u.", "sl.B", "sl.A"], Word, 60),
    token("Typeform token", &["tfp_"], Dotted, 40),
    token("Contentful token", &["CFPAT-"], Word, 43),
    // docs.readme.com, developer.frame.io, developer.adobe.com, docs.mapbox.com/api/guides, posthog.com/docs/api
    token("ReadMe key", &["rdme_"], Alnum, 60),
    token("Frame.io token", &["fio-u-"], Word, 50),
    token("Adobe secret", &["p8e-"], Alnum, 32),
    token("Mapbox token", &["sk.eyJ"], Dotted, 40),
    token("PostHog key", &["phx_", "phs_"], Alnum, 30),
    // learning.postman.com/docs/developer/postman-api, octopus.com/docs/octopus-rest-api, rootly.com/api
    token("Postman key", &["PMAK-"], Word, 50),
    token("Octopus key", &["API-"], Alnum, 26),
    token("Rootly key", &["rootly_"], Hex, 60),
    // Observation.
    // grafana.com/docs/grafana-cloud, docs.newrelic.com/docs/apis, docs.sentry.io/account/auth-tokens, docs.dynatrace.com
    token("Grafana token", &["glc_", "glsa_"], Base64, 30),
    token("New Relic key", &["NRAK-", "NRII-", "NRAA-", "NRSP-", "NRJS-"], Word, 18),
    token("Sentry token", &["sntrys_", "sntryu_", "sntrya_", "sntryi_"], Base64, 40),
    token("Dynatrace token", &["dt0c01.", "dt0s01.", "dt0s02."], Dotted, 60),
    // www.honeycomb.io/docs, docs.launchdarkly.com/home/account/api, langfuse.com/docs
    token("Honeycomb key", &["hcaik_", "hcxik_", "hcalk_"], Alnum, 40),
    token("LaunchDarkly key", &["api-", "sdk-", "mob-"], Uuid, 36),
    // Formats.
    // RFC 7519: the header of a JSON Web Token begins with `{"` in base64url
    token("JSON Web Token", &["eyJ"], Dotted, 30),
];
