//! The redaction of exports: 120 shapes of secrets in six carriers, and text that holds none.
//!
//! Values are generated from a seed. None of them is, or was, a secret.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::support::Home;

/// Shapes of secrets. `«A40»` is a value of 40 characters of a class: letters and digits (A), also `_` and `-` (W),
/// upper case (U), capitals (C), letters of both cases (M), base64 (B), letters (L), small letters and digits (E), hexadecimal (H),
/// a password (P), one of a generator (G), the base64 of a key (K), of a name and a password (Q).
/// Digits (D) and names (N) are no secret.
const SHAPES: &[&str] = &[
    // Clouds.
    "AKIA«U16»",
    "aws_access_key_id = ASIA«U16»\naws_secret_access_key = «B40»",
    "export AWS_SECRET_ACCESS_KEY=«B40»",
    "AWS_SESSION_TOKEN=«B200»",
    "\"SecretAccessKey\": \"«B40»\",",
    "ABSK«B110»",
    "AIza«W35»",
    "ya29.«W60»",
    "GOCSPX-«W28»",
    "1//0«W60»",
    "AZURE_CLIENT_SECRET=«A3»8Q~«A34»",
    "DefaultEndpointsProtocol=https;AccountName=tides;AccountKey=«B86»==;EndpointSuffix=core.windows.net",
    "Endpoint=sb://tides.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=«B43»=",
    "https://tides.blob.core.windows.net/c?sv=2022-11-02&sp=r&sig=«A44»%3D",
    "Ocp-Apim-Subscription-Key: «H32»",
    "dop_v1_«H64»",
    "LTAI«A20»",
    "AKID«A32»",
    "HRKU-«W60»",
    "fm2_«B60»",
    "nfp_«A36»",
    "sbp_«H40»",
    "pscale_tkn_«W43»",
    "dapi«H32»",
    "tskey-auth-«A12»-«A30»",
    "SCW_SECRET_KEY=«H8»-«H4»-«H4»-«H4»-«H12»",
    // Code and packages.
    "ghp_«A36»",
    "gho_«A36»",
    "ghs_«A36»",
    "github_pat_«A22»_«A59»",
    "glpat-«W20»",
    "glrt-«W20»",
    "ATATT3x«W180»",
    "ATBB«A32»",
    "npm_«A36»",
    "//registry.npmjs.org/:_authToken=«H8»-«H4»-«H4»-«H4»-«H12»",
    "pypi-AgEIcHlwaS5vcmc«W80»",
    "[pypi]\nusername = __token__\npassword = «P20»",
    "cio«A32»",
    "rubygems_«H48»",
    "oy2«A43»",
    "dckr_pat_«W27»",
    "{\"auths\":{\"registry.example\":{\"auth\":\"«Q24»\"}}}",
    "AKCp«A69»",
    "sgp_«H40»",
    "CCIPAT_«A22»_«H40»",
    "Access token was successfully created: «H40»",
    "$ forgejo admin user generate-access-token --username bob --raw\n«H40»",
    "tea login add --name tides --url https://gitea.example -t «H40»",
    "git clone https://bob:«H40»@gitea.example/tides.git",
    "GITEA_TOKEN=«H40»",
    "pul-«H40»",
    "hvs.«W90»",
    "VAULT_TOKEN=s.«A24»",
    "«A14».atlasv1.«W67»",
    "dp.pt.«A43»",
    "A3-«U6»-«U11»-«U5»-«U5»-«U5»",
    "AGE-SECRET-KEY-1«U58»",
    // Models.
    "sk-«A48»",
    "sk-proj-«W120»",
    "sk-ant-api03-«W93»AA",
    "sk-or-v1-«H64»",
    "hf_«A34»",
    "gsk_«A52»",
    "xai-«A80»",
    "pplx-«A48»",
    "r8_«A37»",
    "nvapi-«W64»",
    "lsv2_pt_«H32»_«H10»",
    "pcsk_«W60»",
    "tvly-dev-«A32»",
    // Messages and mail.
    "xoxb-«D12»-«D12»-«A24»",
    "xapp-1-«U11»-«D13»-«H64»",
    "xoxe.xoxp-1-«A140»",
    "https://hooks.slack.com/services/T«U9»/B«U9»/«A24»",
    "«D10»:AA«W33»",
    "MTIz«A20».G«W5».«W38»",
    "https://discord.com/api/webhooks/«D18»/«W68»",
    "SG.«W22».«W43»",
    "SK«H32»",
    "TWILIO_AUTH_TOKEN=«H32»",
    "key-«H32»",
    "«H32»-us12",
    "xkeysib-«H64»-«A16»",
    // Money and products.
    "sk_live_«A24»",
    "rk_test_«A24»",
    "whsec_«B32»",
    "sq0atp-«W22»",
    "shpat_«H32»",
    "lin_api_«A40»",
    "secret_«A43»",
    "pat«A14».«H64»",
    "figd_«W40»",
    "PMAK-«H24»-«H34»",
    "glsa_«A32»_«H8»",
    "NRAK-«U27»",
    "dt0c01.«U24».«U64»",
    // Others.
    "AQ.Ab8«W46»",
    "«A50»JQQJ99«A10»ACABACOG«A4»",
    "«A42»+ACR«A6»",
    "https://tides.example/api/f?code=«A44»AzFu«A8»==",
    "rnd_«A28»",
    "AVNS_«W19»",
    "cflt«B60»",
    "e2b_«H40»",
    "squ_«H40»",
    "snyk_uat.«H8».«W40»",
    "pat.«A22».«H24».«A20»",
    "tr_prod_«A24»",
    "dnkey-«U26»-«U52»",
    "fc-«H32»",
    "wandb_v1_«A27»_«A50»",
    "ctx7sk-«H8»-«H4»-«H4»-«H4»-«H12»",
    "key_«H64»",
    "APP_USR-«D16»-«D6»-«H32»-«D9»",
    "AQE«B100»",
    "live_«H35»",
    "polar_oat_«A43»",
    "packagist_uut_«H68»",
    "hcbik_«A58»",
    "2/«D16»/«D16»:«H32»",
    "pk_«D8»_«U32»",
    "«H10»msh«H15»p1«H5»jsn«H12»",
    "«A6»_«A29»_mmk",
    "SCW«U16»7",
    "sq0atp-«L22»",
    "GR1348941«L20»",
    "access_token$production$«A16»$«H32»",
    "pat-na1-«H8»-«H4»-«H4»-«H4»-«H12»",
    "secret-«A43»",
    "s-s4t2ud-«H64»",
    "aio_«A28»",
    "ghp_«L36»",
    "https://tides.webhook.office.com/webhookb2/«H8»-«H4»-«H4»-«H4»-«H12»@«H8»-«H4»-«H4»-«H4»-«H12»/IncomingWebhook/«H32»/«H8»-«H4»-«H4»-«H4»-«H12»",
    // One in thirty has no digit.
    "AKIA«C16»",
    "LTAI«M20»",
    "NRAK-«C27»",
    "«A42»+ACR«C6»",
    "https://tides.example/api/f?code=«A44»AzFu«C8»==",
    "A3-«C6»-«C11»-«C5»-«C5»-«C5»",
    "data:\n  DB_PASSWORD: +«M10»=\n",
    // Formats.
    "eyJhbGciOiJIUzI1NiJ9.eyJ«A40».«W43»",
    "-----BEGIN RSA PRIVATE KEY-----\n«B64»\n«B64»\n«B40»=\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\n«B64»\nanother (line) of the output\n«B64»\n-----END PRIVATE KEY-----",
    "[*] -----BEGIN PRIVATE KEY-----\n[*] «B64»\n[*] -----END PRIVATE KEY-----",
    "-----BEGIN OPENSSH PRIVATE KEY-----\n«B70»\n«B70»\n-----END OPENSSH PRIVATE KEY-----",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\n«B64»\n=«B4»\n-----END PGP PRIVATE KEY BLOCK-----",
    "$6$«A16»$«B86»",
    "token in base64: «K80»",
    "KUBE_SECRET=«K80»",
    // Addresses.
    "https://me:«P12»@host.example/path",
    "https://me:«P6»@«P6»@host.example/",
    "https://«A40»@git.example/repo.git",
    "postgres://tides:«P16»@db.example:5432/tides?sslmode=require",
    "redis://:«P20»@cache.example:6379/0",
    "Server=db;Database=tides;User Id=sa;Password=«P14»;Encrypt=true",
    "https://api.example/v1?q=tides&api_key=«A32»&page=2",
    // Headers.
    "Authorization: Basic «Q20»",
    "curl -H 'Authorization: Bearer «A30»' https://api.example",
    "authorization: token «H40»",
    "Authorization: «H32»",
    "12:00:00 DEBUG http: sending request to https://api.example/v1/models Authorization: «H32»",
    "Proxy-Authorization: «A32»",
    "Authorization: «H32» and so on",
    "Cookie: «A32»",
    "Authorization: «M32»",
    "X-Api-Key: «A32»",
    "Cookie: session=«A40»; theme=dark",
    "Set-Cookie: id=«A40»; Path=/; HttpOnly",
    // Names.
    "DB_PASSWORD='«P8» «P8»'",
    "database:\n  password: «P14»\n  host: db",
    "password = \"«P12»\"",
    "const apiKey: string = '«A24»';",
    "PW=«P10»",
    "# settings\nspring.datasource.password=«L10»\nserver.ssl.key-store-password=«L8»\n",
    "java -Djwt.secret=«L10» -jar tides.jar",
    "data:\n  DB_PASSWORD: «B11»=\n",
    "ssh host\nbob@host's password: «L10»\n",
    "ssh-add\nEnter passphrase: «L10»\n",
    "define('DB_PASSWORD', '«L10»');",
    "ssh host\npassword: «L10» .\n",
    "{\"passwords\":[\"«P9»\"],\"secrets\":{\"db\":\"«P9»\"},\"cookies\":{\"sid\":\"«A20»\"}}",
    "{\"tokens\":[\"«A20»1\"],\"client_secret\":{\"value\":\"ek_«A20»\"}}",
    "X-Custom-Auth: «A20»1",
    "X-Hub-Signature-256: sha256=«H64»",
    "network={\n  psk=\"«P12»\"\n}",
    "<key>password</key>\n<string>«P12»</string>",
    // Commands and files.
    "set -x API_TOKEN «P12»",
    "setx API_TOKEN «P12»",
    "ENV DB_PASSWORD «P12»",
    "aws configure set aws_secret_access_key «A40»",
    "npm config set //registry.example/:_authToken «A36»",
    "gh secret set TIDES --body «P12»",
    "zip -P «P12» tides.zip tides.txt",
    "mongosh -u admin -p «P12» shop",
    "sqlcmd -S db.example -U sa -P «P12»",
    "az login --service-principal -u app -p «P12»",
    "oc login -u admin -p «P12»",
    "twine upload -u __token__ -p «P12» dist/x.whl",
    "http -a bob:«P12» https://host.example",
    "lftp -u bob,«P12» host.example",
    "keytool -list -storepass «P12»",
    "openssl enc -aes-256-cbc -k «P12» -in a",
    "ipmitool -H host -U root -P «P12» power status",
    "mosquitto_pub -u admin -P «P12» -t a",
    "gh secret set DB -b «P12»",
    "useradd -p «P12» bob",
    "xfreerdp /u:bob /p:«P12» /v:host",
    "snmpget -v3 -u bob -A «P12» host sysUpTime",
    "vault kv put secret/shop value=«P12»",
    "echo «P12» | docker login -u bob --password-stdin",
    "echo «A40» | gh auth login --with-token",
    "echo «P12» | sudo -S apt update",
    "https://storage.example/a?X-Goog-Signature=«H64»",
    "SWMTKN-1-«A40»«A9»-«A25»",
    "**Password:** «P16»",
    "**password**: `«P16»`",
    "**API key:** «A32»",
    "- **Token**: «A32»",
    "7z a -p«P12» tides.7z tides.txt",
    "pbkdf2_sha256$870000$«A22»$«B43»=",
    "deploy --token «A24» --verbose",
    "openssl rsa -in key.pem -passin pass:«L10» -out plain.pem",
    "curl -u me:«P14» https://host.example",
    "curl -s -b 'sid=«A20»; theme=dark' https://host.example",
    "curl --cookie sid=«A20» https://host.example",
    "htpasswd -b -c users bob «P12»",
    "htpasswd -nbB bob «P12»",
    "rabbitmqctl add_user bob «P12»",
    "echo bob:«P12» | sudo chpasswd",
    "smbclient //host/share -U TIDES\\bob%«P12» -c ls",
    "jdbc:oracle:thin:scott/«P12»@db.example:1521:tides",
    "kubectl create secret generic tides --from-literal=level=«P12» --from-literal='other=«P12»'",
    "AWS Access Key ID [None]: AKIA«U16»\nAWS Secret Access Key [None]: «B40»\n",
    "Driver={Tides};Server=db;Uid=sa;Pwd={«P6»;«P6»};Encrypt=yes",
    "Authorization: Digest username=\"bob\", realm=\"tides\", nonce=\"abc\", uri=\"/\", response=\"«H32»\"",
    "{\"d\":\"«W43»\",\"kty\":\"EC\",\"crv\":\"P-256\"}",
    "{\"kty\":\"RSA\",\"e\":\"AQAB\",\"p\":\"«W43»\",\"q\":\"«W43»\",\"dp\":\"«W43»\",\"dq\":\"«W43»\",\"qi\":\"«W43»\"}",
    "{\"kty\":\"oct\",\"k\":\"«W43»\"}",
    "PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 2\n«B64»\n«B40»\nPrivate-MAC: 00\n",
    "host.example\tTRUE\t/\tFALSE\t1795455025\tsid\t«A20»",
    "db:\n  password: |\n    «P12»\n    «P12»\n  host: db\n",
    "db:\n  password: «L7» «L6» «L8» «L6»\n  host: db\n",
    "# settings\npassword=«L7» «L6» «L8» «L6»\n",
    "machine host.example\n  login me\n  password «P12»",
    // Words that announce a value, more vendors and more commands.
    "mfa.«W84»",
    "X-Algolia-API-Key: «H32»",
    "DD-APPLICATION-KEY: «H40»",
    "dd_app_key: «H40»",
    "\"appKey\": \"«H40»\"",
    "ddapp_«A34»",
    "SSWS 00«W40»",
    "MJ_APIKEY_PRIVATE=«H32»",
    "X-Postmark-Server-Token: «H8»-«H4»-«H4»-«H4»-«H12»",
    "mlsn.«H64»",
    "PASS oauth:«E30»",
    "https://«H32»@o123456.ingest.sentry.io/4504",
    "curl -u admin:11«H32» https://ci.example/job/x/build",
    "AccessorID:       «D8»\nSecretID:         «H8»-«H4»-«H4»-«H4»-«H12»\nDescription: x",
    "Secret ID    = «H8»-«H4»-«H4»-«H4»-«H12»",
    "secret_id             «H8»-«H4»-«H4»-«H4»-«H12»",
    "{\"secret_id\":\"«H8»-«H4»-«H4»-«H4»-«H12»\"}",
    "Unseal Key 1: «B44»\nInitial Root Token: hvs.«A24»",
    "    client-key-data: «K80»",
    "kubeadm join 10.0.0.1:6443 --token «E6».«E16» --discovery-token-ca-cert-hash sha256:00",
    "kubeadm init --certificate-key «H64» --upload-certs",
    "[Interface]\nPrivateKey = «B43»=\n[Peer]\nPresharedKey = «B43»=",
    "ADD_ONION ED25519-V3:«B86»==",
    "[web]\nhost ansible_user=bob ansible_ssh_pass=«G12» ansible_become_pass=«G12»",
    "      + password = \"«G14»\"",
    "xprv9s21ZrQH143K«A95»",
    "cast wallet import --private-key 0x«H64»",
    "nsec1«E58»",
    "syt_Ym9i_«A20»_«A6»",
    "li_at=AQE«W140»",
    "dG9rO«B40»",
    "pi_«A24»_secret_«A25»",
    "ek_live_«W60»",
    "https://eth-mainnet.g.alchemy.com/v2/«W32»",
    "https://mainnet.infura.io/v3/«H32»",
    "https://chat.example/hooks/«E26»",
    "https://chat.example/hooks/«A17»/«A48»",
    "https://maker.ifttt.com/trigger/tide/with/key/«W22»",
    "https://hook.eu1.make.com/«E32»",
    "{\"routing_key\":\"«H32»\",\"event_action\":\"trigger\"}",
    "https://events.pagerduty.com/integration/«H32»/enqueue",
    "Authorization: GenieKey «H8»-«H4»-«H4»-«H4»-«H12»",
    "curl -d x -H 'Authorization: Bearer tk_«E29»' https://ntfy.example/t",
    "tk_«E29»",
    "sess-«A40»",
    "rpa_«A40»",
    "esecret_«E26»",
    "bb_live_«W27»",
    "BSA«W28»",
    "secret-live-«W36»=",
    "npg_«A12»",
    "mdb_sa_sk_«W40»",
    "«H36»NRAL",
    "https://endpoint1.collection.sumologic.com/receiver/v1/http/«B86»==",
    "docker login -u='org+robot' -p='«U64»' quay.io",
    "<publishProfile userName=\"$x\" userPWD=\"«A60»\" />",
    "<add key=\"StripeSecretKey\" value=\"«A32»\" />",
    "<property name=\"hibernate.connection.password\">«G12»</property>",
    "<property name=\"password\" value=\"«G12»\"/>",
    "bob:{SHA}«B27»=",
    "userPassword: {SSHA}«B32»",
    "dn: uid=bob\nuserPassword:: «B28»\n",
    "$argon2id$v=19$m=65536,t=3,p=4$«B22»$«B43»",
    "SCRAM-SHA-256$4096:«B22»==$«B43»=:«B43»=",
    "redis-cli -h host\n127.0.0.1:6379> AUTH «G12»",
    "requirepass «G12»",
    "masterauth «G12»",
    "AUTH PLAIN «Q24»",
    "account default\nhost smtp.example\nuser bob\npassword «G12»",
    "set imap_pass=\"«G12»\"",
    "---> USER bob\n---> PASS «G12»",
    "a1 LOGIN bob «G12»",
    "net use Z: \\\\\\\\host\\\\share «G12» /user:bob",
    "cmdkey /add:host /user:bob /pass:«G12»",
    "$pw = ConvertTo-SecureString \"«G12»\" -AsPlainText -Force",
    "$env:API_KEY = \"«A24»\"",
    "nmcli dev wifi connect tides password «G12»",
    "wpa_passphrase tides «G12»",
    "heroku config:set SESSION_SALT=«A32»",
    "fly secrets set SENDER=«G16»",
    "netlify env:set SENDER «G16»",
    "supabase secrets set SENDER=«G16»",
    "az keyvault secret set --vault-name v --name n --value «G16»",
    "aws secretsmanager put-secret-value --secret-id x --secret-string «G16»",
    "aws ssm put-parameter --name x --type SecureString --value «G16»",
    "terraform apply -var 'db_password=«G12»'",
    "helm install x y --set auth.password=«G12»",
    "pulumi config set --secret sender «G16»",
    "mc alias set tides https://s3.example «G20» «G40»",
    "rclone config create x s3 secret_access_key «A40»",
    "b2 account authorize «H25» K00«A29»",
    "doctl auth init -t dop_v1_«H64»",
    "cargo login cio«A32»",
    "poetry config pypi-token.pypi pypi-«W100»",
    "poetry config http-basic.tides bob «G12»",
    "composer config http-basic.repo.example bob «G12»",
    "nuget push x.nupkg -k «A46»",
    "dotnet nuget add source https://x -u bob -p «G12» --store-password-in-clear-text",
    "dotnet user-secrets set \"Db:Password\" \"«G12»\"",
    "curl --oauth2-bearer «A40» https://x",
    "curl -H \"X-Auth-Key: «H37»\" https://x",
    "curl -H \"x-functions-key: «W54»==\" https://x",
    "curl -H \"CF-Access-Client-Secret: «H64»\" https://x",
    "JSESSIONID=«U32»",
    "PHPSESSID=«E26»",
    "connect.sid=s%3A«W32».«B43»",
    "secret_key_base: «H128»",
    "SECRET_KEY = 'django-insecure-«G50»'",
    "APP_KEY=base64:«B43»=",
    "define('AUTH_KEY', '«G64»');\ndefine('AUTH_SALT', '«G64»');",
    "$settings['hash_salt'] = '«W74»';",
    "'dbpassword' => '«G30»', 'passwordsalt' => '«A30»', 'secret' => '«A48»',",
    "os.environ[\"API_KEY\"] = \"«A24»\"",
    "ENV[\"STRIPE_TOKEN\"] = \"«A24»\"",
    "new NetworkCredential(\"bob\", \"«G12»\")",
    "requests.get(url, auth=('bob', '«G12»'))",
    "HTTPBasicAuth('bob', '«G12»')",
    "openai.api_key = \"«A40»\"",
    "jwt.encode(payload, '«G24»', algorithm='HS256')",
    "SAMLResponse=«B400»",
    "{\"recovery_codes\":[\"«H5»-«H5»\",\"«H5»-«H5»\"]}",
    "otpauth://totp/x:bob?secret=«U32»&issuer=x",
    "sqlplus bob/«G12»@db",
    "influx -username bob -password «G12»",
    "cqlsh -u bob -p «G12» host",
    "security add-generic-password -a bob -s x -w «G12»",
    "gpg --batch --passphrase «G12» -d x.gpg",
    "echo \"«G12»\" | passwd --stdin bob",
    "mysql -uroot -p«G12» tides",
    "mysqladmin -u root password «G12»",
    "net user bob «G12» /add",
    "bw unlock «G16»",
    "export GH_ENTERPRISE_TOKEN=«H40»",
    "AIRTABLE: pat«A14».«H64»",
    "x-goog-api-key: AIza«W35»",
    "token: «H40» # ci",
    "Password for user bob: «G12»",
    "New password: «G12»\nRetype new password: «G12»",
    "Your API key is «A32»",
    "the password is «G12».",
    "The generated password is: «G16»",
    "Login with user admin and password «G16»",
    "user: admin pass: «G12»",
    "username/password: admin/«G12»",
    "admin password → «G14»",
    "API token created: «A40»",
    "Secret access key   «B40»",
    "| password | «G14» |",
    "| API key | «A32» |",
    // The places in which one meets them.
    "{\"apiKeys\":[{\"name\":\"prod\",\"value\":\"«H40»\"}]}",
    "\"Key\": \"«A40»\"",
    "twitter_consumer_secret: «A50»",
    "bearer_token = \"AAAAAAAAAAAAAAAAAAAAA«A80»\"",
    "GitHub PAT: ghp_«A36»",
    "SMTP_PASS=«G16»",
    "smtp://bob:«G12»@mail.example:587",
    "amqp://guest:«G12»@mq.example:5672/",
    "ldap_bind_pw: «G12»",
    "bindpw «G12»",
    "rootpw {SSHA}«B32»",
    "spring.redis.password: «G12»",
    "password => \"«G12»\",",
    ":password => '«G12»'",
    "password(\"«G12»\")",
    ".setPassword(\"«G12»\")",
    "CREATE USER bob WITH PASSWORD '«G12»';",
    "ALTER ROLE bob PASSWORD '«G12»';",
    "GRANT ALL ON x TO bob IDENTIFIED BY '«G12»';",
    "mongo --username bob --password «G12» db",
    "psql \"host=db user=bob password=«G12» dbname=x\"",
    "PGPASSWORD=«G12» psql -h db",
    "db:5432:tides:bob:«G12»",
    "sshpass -p «G12» ssh bob@host",
    "echo «G12» | cryptsetup luksOpen /dev/sda1 x",
    "kubectl create secret docker-registry r --docker-username=bob --docker-password=«G12»",
    "kubectl config set-credentials bob --token=«A40»",
    "    token: eyJhbGciOiJSUzI1NiJ9.eyJ«A80».«W300»",
    "  password: «B16»==",
    "docker run -e SENDER_TOKEN=«A32» x",
    "docker build --build-arg NPM_TOKEN=«H32» .",
    "--mount type=secret,id=x --secret id=tok,env=«A20»",
    "ARG GITHUB_TOKEN=«A36»",
    "environment:\n  - MYSQL_ROOT_PASSWORD=«G12»",
    "      MYSQL_ROOT_PASSWORD: «G12»",
    ":setvar password \"«G12»\"",
    "git remote set-url origin https://x-access-token:ghs_«A36»@github.com/a/b",
    "git config --global http.extraheader \"AUTHORIZATION: basic «Q24»\"",
    "https://api.telegram.org/bot«D10»:AA«W33»/sendMessage",
    "https://discordapp.com/api/webhooks/«D18»/«W68»",
    "https://example.com/reset?token=«W43»",
    "https://drive.google.com/x?resourcekey=0-«W22»",
    "https://s3.amazonaws.com/b/k?AWSAccessKeyId=AKIA«U16»&Signature=«B27»%3D&Expires=1",
    "wss://x.example/ws?access_token=«W43»",
    "x-amz-security-token: «B300»",
    "X-Amz-Date: 1\nAuthorization: AWS4-HMAC-SHA256 Credential=AKIA«U16»/20260101/us-east-1/s3/aws4_request, Signature=«H64»",
    "Authorization: OAuth oauth_consumer_key=\"«A25»\", oauth_token=\"«D8»-«A40»\", oauth_signature=\"«B27»%3D\"",
    "Authorization: Splunk «H8»-«H4»-«H4»-«H4»-«H12»",
    "Authorization: Token token=\"«A32»\"",
    "Authorization: Api-Key «A32»",
    "Authorization: HMAC bob:«B43»=",
    "X-Auth-Token: «H32»",
    "X-CSRF-Token: «B43»=",
    "X-Redmine-API-Key: «H40»",
    "x-rapidapi-key: «A50»",
    "api-key: «H32»",
    "apikey: «A32»",
    "\"x-api-key\": \"«A40»\",",
    "-H \"X-N8N-API-KEY: «A40»\"",
    "headers={\"X-Token\": \"«A40»\"}",
    "headers.set(\"Authorization\", \"Bearer «A40»\")",
    ".header(\"x-api-key\", \"«A40»\")",
    "axios.defaults.headers.common['Authorization'] = 'Token «H40»';",
    "Client(api_key='«A40»')",
    "stripe.Key = \"sk_test_«A24»\"",
    "Stripe.api_key = 'sk_test_«A24»'",
    "firebase.initializeApp({ apiKey: \"AIza«W35»\" })",
    "openai.OpenAI(api_key=\"sk-proj-«W120»\")",
    "process.env.SECRET = '«G20»'",
    "let secret = \"«G20»\";",
    "var passwd = `«G12»`;",
    "$password = '«G12»';",
    "my $pass = \"«G12»\";",
    "password: '«G12»'",
    "@password = \"«G12»\"",
    "pwd <- \"«G12»\"",
    "Password=«G12»;",
    "pass := \"«G12»\"",
    "private static final String PASSWORD = \"«G12»\";",
    "static const char *password = \"«G12»\";",
    "#define WIFI_PASSWORD \"«G12»\"",
    "#define PASS \"«G12»\"",
    "WiFi.begin(\"tides\", \"«G12»\");",
    "password is set to '«G12»'",
    "Your temporary password: «G12»",
    "Generated root password: «G12»",
    "A temporary password is generated for root@localhost: «G12»",
    "Enrollment token: eyJ2ZXIiOiI«B80»",
    "Initial admin password: «H32»",
    "Please use the following password to proceed to installation:\n\n«H32»\n\nThis may also be found at: x",
    "username: admin\npassword: «G14»",
    "To access the server, open http://127.0.0.1:8888/?token=«H48»",
    "?password=«G12»",
    "Login token: «A40»",
    "Set-Cookie: session=«A40»; Path=/",
    "document.cookie = \"sid=«A40»\"",
    "ASP.NET_SessionId=«E24»",
    "refresh_token=«W60»&grant_type=refresh_token",
    "id_token=eyJhbGciOiJSUzI1NiJ9.eyJ«A80».«W300»",
    "{\"access\":\"eyJhbGciOiJSUzI1NiJ9.eyJ«A80».«W86»\"}",
    "{\"Credentials\":{\"AccessKeyId\":\"ASIA«U16»\",\"SecretAccessKey\":\"«B40»\",\"SessionToken\":\"«B300»\"}}",
    "{\"AccessKeyMetadata\":1,\"SecretKey\":\"«B40»\"}",
    "{\"password\":{\"value\":\"«G12»\"}}",
    "{\"key\":\"db_password\",\"value\":\"«G12»\"}",
    "{\"Name\":\"API_TOKEN\",\"Value\":\"«A32»\"}",
    "[{\"name\":\"SENDER_PASSWORD\",\"value\":\"«G12»\"}]",
    "- name: API_TOKEN\n  value: \"«A32»\"",
    "- name: API_TOKEN\n  value: «A32»",
    "API_TOKEN\t«A32»",
    "API_TOKEN  «A32»",
    "API_TOKEN=«A32» ./run",
    "set API_TOKEN=«A32»",
    "$Env:API_TOKEN='«A32»'",
    "export PATH=x SENTRY_AUTH_TOKEN=«H64»",
    "[default]\naws_secret_access_key=«B40»",
    "access_key: «A20»\nsecret_key: «B40»",
    "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n«B64»\n«B64»\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n-----BEGIN ENCRYPTED PRIVATE KEY-----\n«B64»\n-----END ENCRYPTED PRIVATE KEY-----",
    "untrusted comment: minisign encrypted secret key\nRWRTY0Iy«B200»",
    "ssh-keygen -t ed25519 -N «G12» -f x",
    "ssh-keygen -p -P «G12» -N «G12»",
    "age1x\nAGE-SECRET-KEY-1«U58»",
    "vault login s.«A24»",
    "vault login hvs.«A24»",
    "vault write auth/userpass/login/bob password=«G12»",
    "1password: A3-«U6»-«U6»-«U5»-«U5»-«U5»-«U5»",
    // What readers of recordings met.
    "ghs_«D7»_eyJ«A60».eyJ«A200».«W86»",
    "bkua_«A20»-«A20»",
    "bkjat_eyJ«A40».eyJ«A80».«W86»",
    "ory_at_«W43».«W43»",
    "Login: admin:«G12»",
    "log in as `admin:«P8»`",
    "use the default credentials admin:«P8», then change them",
    "Sign in with bob@host.example:«G12»",
    "apiVersion: v1\nkind: Secret\nmetadata:\n  name: tides\nstringData:\n  level: «L10»\n  port: \"«P9»\"\n---\nkind: ConfigMap\ndata:\n  level: low\n",
    "apiVersion: v1\ndata:\n  level: «B24»\n  tide.txt: |\n    «L10»\n    «L12»\nkind: Secret\ntype: Opaque\n",
    "items:\n- apiVersion: v1\n  data:\n    level: «B24»\n  kind: Secret\n- apiVersion: v1\n  data:\n    level: low\n  kind: ConfigMap\n",
    "{\"apiVersion\":\"v1\",\"data\":{\"level\":\"«B24»\"},\"kind\":\"Secret\",\"metadata\":{\"name\":\"tides\"}}",
    "{\n  \"kind\": \"Secret\",\n  \"stringData\": {\n    \"level\": \"«L10»\"\n  }\n}",
    "GET https://tides.example/callback?code=«H20»&state=x",
    "http://127.0.0.1:8400/auth?state=1&code=4/0A«W70»&scope=email",
    "Location: https://tides.example/cb?session_state=1&amp;code=«H8»-«H4»-«H4»-«H4»-«H12».«A30»",
    "gitea: «H40»",
    "my Forgejo «H40»",
    "CODEBERG=«H40»",
    "\"gitea\": \"«H40»\"",
    "laravel_session=«A40»",
    "tides_session=eyJpdiI6«B150»%3D",
    "Password for the [elastic] user successfully reset.\nNew value: «A20»",
    "Password for the elastic user (reset with `bin/elasticsearch-reset-password -u elastic`):\n  «A20»\n",
    "The generated password for the elastic built-in superuser is : «A20»",
    "Changed password for user kibana_system\nPASSWORD kibana_system = «A20»",
    "expect \"assword:\"\nsend \"«L10»\\r\"",
    "expect \"*?assword:*\"\nsend -- \"«P12»\\n\"",
    "child.expect('Password: ')\nchild.sendline('«L10»')",
    "ansible-vault encrypt_string '«G14»' --name level",
    "Enter passphrase for key '/root/.ssh/id_ed25519': «G12»",
    "gpg --batch --passphrase-fd 0 <<< '«G14»'",
    "kinit bob <<< «G12»",
    "SSHPASS=«G12» sshpass -e ssh host",
    "_tides_session=«H32»",
    "wordpress_logged_in_0123=admin%7C1795455025%7C«A43»%7C«H64»",
    "snmp-server community «G12» RO",
    "username admin password 7 «H20»",
    "ldapadd -x -w '«G12»' -f x.ldif",
    "127.0.0.1:6379> AUTH default «G12»",
    "SET PASSWORD FOR 'bob' = '«G12»';",
    "<entry key=\"db.password\">«G12»</entry>",
    "basicAuth: bob:«G12»",
    "the password is now «G12»",
    "Login with admin / «G12»",
    "credentials: bob / «G12»",
    "echo '«G12»' | su - bob",
    "openssl passwd -6 «G12»",
    "mkpasswd -m sha-512 «G12»",
    "{\"level\":{\"sensitive\":true,\"type\":\"string\",\"value\":\"«L10»\"}}",
    "{\n  \"level\": {\n    \"sensitive\": true,\n    \"value\": \"«L10»\"\n  }\n}",
    "headers.append(('Authorization', 'token «H40»'))",
    "\"bob\" \"md5«H32»\"",
    "bob:1001:aad3b435b51404eeaad3b435b51404ee:«H32»:::",
];

const CARRIERS: &[&str] =
    &["line", "delta", "unended", "ended", "json", "escaped", "coloured", "stderr", "bytes", "wide", "long"];

const COLOUR: &str = "\u{1b}[1m";

/// A small generator (`SplitMix64`), so that each run has the same values.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % limit as u64).unwrap()
    }

    fn of(&mut self, alphabet: &str, length: usize) -> String {
        (0..length).map(|_| char::from(alphabet.as_bytes()[self.below(alphabet.len())])).collect()
    }

    /// Returns a text of a class, and whether it is secret.
    fn value(&mut self, class: char, length: usize) -> (String, bool) {
        const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        match class {
            'A' => (self.of(ALNUM, length), true),
            'W' => (self.of(&format!("{ALNUM}_-"), length - 1) + "a", true),
            'U' => (self.of("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", length), true),
            'C' => (self.of("ABCDEFGHIJKLMNOPQRSTUVWXYZ", length), true),
            'M' => {
                let cases = self.of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", length - 2);
                (cases + "aB", true)
            }
            'L' => (self.of("abcdefghijklmnopqrstuvwxyz", length), true),
            'B' => (self.of(&format!("{ALNUM}+/"), length), true),
            'H' => (self.of("0123456789abcdef", length), true),
            // A password begins as one, and has a digit.
            'P' => ("x7".to_owned() + &self.of(&format!("{ALNUM}!-_+.~"), length - 3) + "q", true),
            // A capital among them, as generators take care of.
            'G' => ("x7".to_owned() + &self.of(&format!("{ALNUM}!-_+.~"), length - 4) + "Kq", true),
            'E' => (self.of("abcdefghijklmnopqrstuvwxyz0123456789", length - 6) + "4h7r2e", true),
            'K' => (STANDARD.encode(format!("sk-proj-{}", self.of(ALNUM, length / 4 * 3 - 8))), true),
            'Q' => (STANDARD.encode(format!("me:{}", self.of(ALNUM, length / 4 * 3 - 3))), true),
            'D' => ("1".to_owned() + &self.of("0123456789", length - 1), false),
            other => panic!("class {other}"),
        }
    }

    /// Returns a shape with values, and the secret ones.
    fn fill(&mut self, shape: &str) -> (String, Vec<String>) {
        let (mut text, mut secrets) = (String::new(), Vec::new());
        for part in shape.split_inclusive('»') {
            let Some((before, class)) = part.split_once('«') else {
                text.push_str(part);
                continue;
            };
            let class = class.trim_end_matches('»');
            let (value, secret) = self.value(class.chars().next().unwrap(), class[1..].parse().unwrap());
            text += before;
            text += &value;
            secrets.extend(secret.then_some(value));
        }
        (text, secrets)
    }
}

/// Writes a recording by hand.
struct Recording(String, u64);

impl Recording {
    fn new() -> Self {
        let header = json!({"recording": 1, "adjutant": "0.1.0", "connection": "tap", "session": "tap-1", "about": "x",
                            "started": "2026-11-21T06:32:51Z", "pid": 1});
        Self(format!("{header}\n"), 0)
    }

    fn entry(&mut self, direction: &str, mut entry: Value) {
        self.1 += 1;
        entry["seq"] = self.1.into();
        (entry["at"], entry["us"], entry["dir"]) = (1.into(), self.1.into(), direction.into());
        self.0 += &format!("{entry}\n");
    }

    fn line(&mut self, direction: &str, line: &str) {
        self.entry(direction, json!({ "line": line }));
    }

    fn hex(&mut self, bytes: &[u8]) {
        let hex: String = bytes.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
        self.entry("s2c", json!({ "hex": hex }));
    }

    /// A line in pieces of 1 MiB.
    fn long(&mut self, line: &str) {
        let pieces: Vec<&str> =
            line.as_bytes().chunks(1 << 20).map(|piece| std::str::from_utf8(piece).unwrap()).collect();
        for (at, piece) in pieces.iter().enumerate() {
            let more = at + 1 < pieces.len();
            self.entry(
                "s2c",
                if more { json!({"line": piece, "more": true}) } else { json!({ "line": piece }) },
            );
        }
    }

    /// Puts a text into a carrier.
    fn carry(&mut self, carrier: &str, text: &str) {
        let delta = |item: &str, text: &str| {
            json!({"method": "item/agentMessage/delta", "params": {"threadId": "t", "turnId": "u", "itemId": item, "delta": text}})
                .to_string()
        };
        match carrier {
            "line" => text.lines().for_each(|line| self.line("s2c", line)),
            "stderr" => text.lines().for_each(|line| self.line("err", line)),
            "delta" => {
                let text = format!("{text}\n");
                for part in text.as_bytes().chunks(7) {
                    self.line("s2c", &delta("a", std::str::from_utf8(part).unwrap()));
                    self.line("s2c", &delta("b", "of another item "));
                    self.line("err", "a line between");
                }
            }
            // Texts that end with the secret.
            "unended" => {
                let item = format!("a {}", self.1);
                for part in text.trim_end().as_bytes().chunks(7) {
                    self.line("s2c", &delta(&item, std::str::from_utf8(part).unwrap()));
                }
            }
            "ended" => {
                let text = format!("{}\n{}", "of the tide ".repeat(8), text.trim_end());
                self.line("s2c", &json!({"id": 1, "result": {"text": text}}).to_string());
            }
            "json" => {
                let inner = json!({"output": format!("first\n{text}\nlast"), "code": 0}).to_string();
                let message = json!({"id": 1, "result": {"content": [{"type": "text", "text": inner}]}});
                self.line("s2c", &message.to_string());
            }
            "escaped" => {
                let escaped = |(at, sign): (usize, char)| {
                    if at % 3 == 0 || sign < ' ' || matches!(sign, '"' | '\\') {
                        format!("\\u{:04X}", u32::from(sign))
                    } else {
                        sign.into()
                    }
                };
                let content: String = text.chars().enumerate().map(escaped).collect();
                self.line("s2c", &format!("{{\"te\\u0078t\":\"{}\"}}", content.replace('/', "\\/")));
            }
            "coloured" => {
                let parts: Vec<&str> =
                    text.as_bytes().chunks(5).map(|part| std::str::from_utf8(part).unwrap()).collect();
                let text = parts.join(COLOUR);
                text.lines().for_each(|line| self.line("err", line));
                self.line("s2c", &json!({ "text": text }).to_string());
            }
            "wide" => self.hex(&text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>()),
            "bytes" => self.hex(&[b"\xff\xfe ", text.as_bytes(), b" \xc3"].concat()),
            _ => unreachable!(),
        }
    }
}

/// Returns the text of a recording as a reader joins it: the lines, and the deltas of each item.
fn joined(exported: &str) -> Vec<u8> {
    let (mut text, mut deltas) = (Vec::new(), String::new());
    for entry in exported.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        if let Some(line) = entry["line"].as_str() {
            text.extend_from_slice(line.replace(COLOUR, "").as_bytes());
            if let Ok(message) = serde_json::from_str::<Value>(line) {
                if message["params"]["itemId"].as_str().is_some_and(|item| item.starts_with('a')) {
                    deltas += message["params"]["delta"].as_str().unwrap();
                }
                text.extend_from_slice(
                    message["text"].as_str().unwrap_or_default().replace(COLOUR, "").as_bytes(),
                );
            }
        } else if let Some(hex) = entry["hex"].as_str() {
            let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
            text.extend((0..hex.len()).step_by(2).map(byte).filter(|byte| *byte != 0));
        }
        if entry["more"] != true {
            text.push(b'\n');
        }
    }
    text.extend_from_slice(deltas.as_bytes());
    text
}

/// Bytes of a secret that nobody may read.
const PART: usize = 6;

/// Returns the shapes of which a part of a secret is in a text.
fn leaking<'a>(text: &[u8], secrets: &'a [(&str, Vec<String>)]) -> Vec<&'a (&'a str, Vec<String>)> {
    let parts: HashSet<&[u8]> = text.windows(PART).collect();
    let leaks = |secret: &String| secret.as_bytes().windows(PART).any(|part| parts.contains(part));
    secrets.iter().filter(|(_, secrets)| secrets.iter().any(leaks)).collect()
}

fn export(home: &Home, recording: &Recording) -> String {
    home.write("secrets.jsonl", &recording.0);
    let run = home.run(["log", "export", "secrets.jsonl"], "");
    assert!(run.status.success(), "{}", run.stderr);
    run.stdout
}

#[test]
fn no_shape_of_a_secret_passes_in_any_carrier() {
    assert!(SHAPES.len() >= 120, "{} shapes", SHAPES.len());
    let home = Home::new();
    let mut random = Random(16);
    let mut passed = Vec::new();
    for carrier in CARRIERS {
        let mut recording = Recording::new();
        let mut secrets = Vec::new();
        let mut line = String::from("{\"text\":\"");
        for shape in SHAPES {
            let (text, of_shape) = random.fill(shape);
            if *carrier == "long" {
                // Every tenth is where two pieces meet.
                let text = json!(text).to_string();
                if secrets.len() % 10 == 0 {
                    let piece = 1 << 20;
                    let room = piece - (line.len() + text.len() / 2) % piece;
                    line += &"tide ".repeat(room / 5);
                }
                line += &text[1..text.len() - 1];
                line += "\\n";
            } else {
                recording.carry(carrier, &text);
            }
            secrets.push((*shape, of_shape));
        }
        if *carrier == "long" {
            recording.long(&(line + "\"}"));
        }
        let text = joined(&export(&home, &recording));
        passed.extend(
            leaking(&text, &secrets)
                .iter()
                .map(|(shape, secrets)| format!("{carrier}: {shape} ({secrets:?})")),
        );
    }
    assert!(
        passed.is_empty(),
        "{} of {}:\n{}",
        passed.len(),
        SHAPES.len() * CARRIERS.len(),
        passed.join("\n")
    );
}

/// More items than any session has at once, and between the two parts of each more than the export holds back.
#[test]
fn a_name_and_its_value_are_joined_over_thousands_of_other_texts() {
    const ITEMS: usize = 2000;
    let home = Home::new();
    let mut recording = Recording::new();
    let mut random = Random(17);
    let delta = |item: &str, text: &str| {
        json!({"method": "item/agentMessage/delta", "params": {"itemId": item, "delta": text}}).to_string()
    };
    for item in 0..ITEMS {
        recording.line("s2c", &delta(&format!("item {item}"), "the password: "));
    }
    let filler = "tide ".repeat(20_000);
    for number in 0..180 {
        recording.line("s2c", &delta(&format!("filler {}", number % 2), &filler));
    }
    let mut secrets = Vec::new();
    for item in 0..ITEMS {
        let (value, of_shape) = random.fill("«P14»");
        recording.line("s2c", &delta(&format!("item {item}"), &value));
        secrets.push(("a value", of_shape));
    }
    let leaking = leaking(export(&home, &recording).as_bytes(), &secrets).len();
    assert_eq!(leaking, 0, "of {ITEMS} values");
}

#[test]
fn ordinary_source_has_few_false_alarms() {
    let home = Home::new();
    let mut recording = Recording::new();
    let mut bytes = 0;
    // Tests hold what looks like secrets.
    for source in crate::architecture::sources::sources() {
        let product = source.text.split("#[cfg(test)]").next().unwrap();
        bytes += product.len();
        recording.line("s2c", &json!({"id": 1, "result": {"output": product}}).to_string());
    }
    assert!(bytes > 1_000_000, "{bytes} bytes");
    home.write("source.jsonl", &recording.0);
    let run = home.run(["log", "export", "source.jsonl", "--check"], "");
    let per_megabyte = run.stdout.lines().count() * 1_000_000 / bytes;
    assert!(per_megabyte < 20, "{per_megabyte} in a megabyte: {}", run.stderr);
}

#[test]
fn an_export_says_what_was_replaced_and_a_check_lists_it_without_the_values() {
    let home = Home::new();
    let mut recording = Recording::new();
    let mut random = Random(1);
    let (token, password) = (random.of("abcDEF123", 36), random.of("abcDEF123", 12));
    recording.line("s2c", "nothing here");
    recording.line("s2c", &format!("ghp_{token} and https://me:{password}@host.example/"));
    home.write("secrets.jsonl", &recording.0);
    let check = home.run(["log", "export", "secrets.jsonl", "--check"], "");
    assert_eq!(check.stdout, "     2  s2c   GitHub token\n     2  s2c   password in a URL\n");
    assert_eq!(check.stderr, "2 secrets redacted: 1 GitHub token, 1 password in a URL\n");
    let exported = home.run(["log", "export", "secrets.jsonl"], "").lines();
    assert_eq!(exported[2]["line"], "[redacted] and https://me:[redacted]@host.example/");
    let note: Value = serde_json::from_str(exported.last().unwrap()["line"].as_str().unwrap()).unwrap();
    assert_eq!(note, json!({"redacted": {"GitHub token": 1, "password in a URL": 1}}));
    let again = home.run(["log", "export", "secrets.jsonl", "--secrets"], "");
    assert!(again.stdout.contains(&token));
}

#[test]
fn an_export_of_several_blocks_keeps_the_order() {
    let home = Home::new();
    let mut recording = Recording::new();
    let password = Random(3).of("abcDEF123", 12);
    for number in 0..12_000 {
        let text = format!("line {number} {}", "of the tide ".repeat(20));
        recording.line(
            "s2c",
            &json!({"id": number, "result": {"output": text, "password": password}}).to_string(),
        );
    }
    assert!(recording.0.len() > 4 << 20);
    let exported = export(&home, &recording);
    assert!(!exported.contains(&password));
    let entries = exported.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).unwrap());
    let numbers: Vec<u64> = entries.map(|entry| entry["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=12_001).collect::<Vec<u64>>());
}

#[test]
fn an_export_ends_when_nobody_reads_it() {
    let home = Home::new();
    let mut recording = Recording::new();
    for _ in 0..12_000 {
        recording.line("s2c", &"of the tide ".repeat(20));
        recording.line("s2c", r#"{"id":1,"result":{"password":"hunter22"}}"#);
    }
    home.write("secrets.jsonl", &recording.0);
    for options in [&[][..], &["--secrets"], &["--format", "markdown"]] {
        let mut command = home.adjutant([&["log", "export", "secrets.jsonl"], options].concat());
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let mut running = command.spawn().unwrap();
        drop(running.stdout.take());
        let output = running.wait_with_output().unwrap();
        // An export to its end says how many secrets it replaced.
        assert!(output.status.success() && output.stderr.is_empty(), "{options:?}: {output:?}");
    }
}

#[test]
fn the_own_arguments_of_a_command_are_redacted() {
    let home = Home::new();
    let mut random = Random(2);
    let secrets: Vec<String> = (0..4).map(|_| random.of("abcDEF123", 14)).collect();
    let script = format!("true {}", secrets[0]);
    let arguments = [
        "tap",
        "--",
        "sh",
        "-c",
        "cat",
        "--token",
        &secrets[0],
        &format!("--api-key={}", secrets[1]),
        "-u",
        &format!("me:{}", secrets[2]),
        &format!("DB_PASSWORD={}", secrets[3]),
    ];
    assert!(home.run(arguments, "").status.success(), "{script}");
    let exported = home.run(["log", "export"], "").stdout;
    assert!(secrets.iter().all(|secret| !exported.contains(secret)), "{exported}");
}
