//! `scripts/release` makes every package without a network, and what can be installed without one runs.
//!
//! The binary in them is a line of shell that becomes the real one: packages of a debug build would be large. Where a package
//! is installed into an empty root, the real one takes its place there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::real_clients::{is_excluded, node};
use crate::support::{Home, Peer};

const VERSION: &str = env!("CARGO_PKG_VERSION");
const ON_ARM: bool = cfg!(target_arch = "aarch64");
const TARGET: &str = if ON_ARM { "aarch64-unknown-linux-gnu" } else { "x86_64-unknown-linux-gnu" };
/// What Debian and Node call this machine.
const DEBIAN: &str = if ON_ARM { "arm64" } else { "amd64" };
const NODE: &str = if ON_ARM { "linux-arm64" } else { "linux-x64" };

/// The files of a release, in a separate home.
struct Release {
    home: Home,
    dist: PathBuf,
}

/// Runs a program to its end and returns its output.
#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}\n{text}\n{}", String::from_utf8_lossy(&output.stderr));
    text
}

fn script(home: &Home, without: &str) -> Command {
    let program = home.write_program(
        "build/adjutant",
        format!("#!/bin/sh\nexec {} \"$@\"\n", env!("CARGO_BIN_EXE_adjutant")),
    );
    let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/release"));
    command.args(["--repository", "example/adjutant", "--target", TARGET, "--without", without]);
    command.arg("--binary").arg(program).arg("--dist").arg(home.path().join("dist"));
    // The licences of the linked crates are read from Cargo's own folder.
    let cargo_home = std::env::var_os("CARGO_HOME")
        .map_or_else(|| Path::new(&std::env::var_os("HOME").unwrap()).join(".cargo"), PathBuf::from);
    command.env("CARGO", env!("CARGO")).env("CARGO_HOME", cargo_home).env("HOME", home.path());
    command
}

impl Release {
    fn new(without: &str) -> Self {
        let home = Home::new();
        run(&mut script(&home, without));
        Self { dist: home.path().join("dist"), home }
    }

    fn file(&self, name: &str) -> PathBuf {
        let file = self.dist.join(name);
        assert!(file.exists(), "there is no {name}");
        file
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap()
    }

    /// What is in an archive, with its modes, unpacked by Python.
    fn unpacked(&self, name: &str) -> PathBuf {
        let folder = self.home.path().join("unpacked").join(name);
        fs::create_dir_all(&folder).unwrap();
        run(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(self.file(name)).arg(&folder));
        folder
    }

    fn sha256(&self, name: &str) -> String {
        run(Command::new("sha256sum").arg(self.file(name))).split(' ').next().unwrap().to_owned()
    }
}

/// Asserts that a program of a package is adjutant, and ends when its input does.
fn assert_serves(program: &mut Command) {
    let mut peer = Peer::start(program.args(["mcp", "prompts"]));
    let tools = peer.call(1, "tools/list", json!({}));
    assert_eq!(tools["result"]["tools"][1]["name"], "expand_prompt");
    let (status, log) = peer.finish();
    assert!(status.success(), "{log}");
}

/// Asserts that the program of a package serves in `root`, a folder that holds the installed package and nothing else: no
/// shell, no library, no configuration. Only root may change the root, so other users do not check it.
fn assert_serves_alone(root: &Path, program: &str) {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = root.join(program);
    fs::remove_file(&place).unwrap();
    let real = Path::new(env!("CARGO_BIN_EXE_adjutant"));
    fs::hard_link(real, &place).or_else(|_| fs::copy(real, &place).map(drop)).unwrap();
    fs::create_dir_all(root.join("home")).unwrap();
    let alone = || {
        let mut command = Command::new("chroot");
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", "/home");
        command.arg(root).arg(format!("/{program}"));
        command
    };
    assert_serves(&mut alone());
    assert_eq!(run(alone().arg("--version")).trim(), format!("adjutant {VERSION}"));
    assert!(run(alone().arg("licenses")).contains("tokio"));
}

#[test]
fn every_package_has_the_licences_the_linked_crates_and_the_readme() {
    let without = if is_excluded("npm") || is_excluded("dpkg") { "npm,deb" } else { "" };
    let release = Release::new(without);
    let (tar, zip) = (["tar", "tzf"].as_slice(), ["python3", "-m", "zipfile", "-l"].as_slice());
    let mut packages = vec![
        (format!("adjutant-{VERSION}-{TARGET}.tar.gz"), tar),
        (format!("adjutant-{VERSION}-{TARGET}.mcpb"), zip),
        (
            format!(
                "adjutant_mcp-{VERSION}-py3-none-manylinux_2_17_{}.whl",
                TARGET.split('-').next().unwrap()
            ),
            zip,
        ),
    ];
    if without.is_empty() {
        packages.push((format!("adjutant_{VERSION}_{DEBIAN}.deb"), ["dpkg-deb", "--contents"].as_slice()));
        packages.push((format!("adjutant-mcp-{VERSION}.tgz"), tar));
        packages.push((format!("adjutant-mcp-{NODE}-{VERSION}.tgz"), tar));
    }
    let notices = ["LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY-LICENSES.txt", "adjutant.cdx.json"];
    for (package, list) in packages {
        let listed = run(Command::new(list[0]).args(&list[1..]).arg(release.file(&package)));
        for file in notices {
            assert!(listed.contains(file), "{package} has no {file}\n{listed}");
        }
        // A wheel has its README in its metadata.
        assert!(listed.contains("README.md") || listed.contains("METADATA"), "{package}\n{listed}");
    }
    let formula = release.text("adjutant.rb");
    for file in notices {
        assert!(release.file(&format!("container-{TARGET}")).join(file).exists(), "{file}");
        assert!(formula.contains(&format!("\"{file}\"")), "the formula leaves {file} in the archive");
    }
}

#[test]
fn every_package_names_its_homepage_and_what_it_is_found_by() {
    let packaging = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging");
    for (file, fields) in [
        ("npm/package.json", ["\"homepage\"", "\"keywords\"", "\"license\""]),
        ("npm/platform.json", ["\"homepage\"", "\"keywords\"", "\"license\""]),
        ("mcpb/manifest.json", ["\"homepage\"", "\"keywords\"", "\"license\""]),
        ("pypi/METADATA", ["Project-URL: Homepage", "Keywords:", "License-Expression:"]),
        ("debian/control", ["Homepage:", "Section:", "Description:"]),
        ("homebrew/adjutant.rb", ["homepage ", "desc ", "license "]),
    ] {
        let text = fs::read_to_string(packaging.join(file)).unwrap();
        for field in fields {
            assert!(text.contains(field), "{file} has no {field}");
        }
    }
}

#[test]
fn every_pinned_dependency_has_its_reason() {
    let manifest = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).unwrap();
    let lines: Vec<&str> = manifest.lines().collect();
    let mut pinned = lines.windows(2).filter(|pair| pair[1].contains("\"="));
    assert!(pinned.clone().count() > 0);
    let without = pinned.find(|pair| !pair[0].starts_with("# Pinned: "));
    assert!(without.is_none(), "{without:?}");
}

#[test]
fn every_checksum_matches_and_every_placeholder_is_filled() {
    let release = Release::new("npm,deb");
    run(Command::new("sha256sum").args(["--check", "--quiet", "SHA256SUMS"]).current_dir(&release.dist));
    for name in ["adjutant.rb", "server.json", &format!("container-{TARGET}/Containerfile")] {
        let text = release.text(name);
        assert!(text.contains("example") && text.contains(VERSION), "{name}\n{text}");
        assert!(
            !text
                .split('@')
                .any(|word| word.len() > 2 && word.chars().all(|c| c.is_ascii_uppercase() || c == '_')),
            "{name}"
        );
    }
    let mut repeated = script(&release.home, "npm,deb");
    let noted = repeated.output().unwrap();
    assert!(
        String::from_utf8_lossy(&noted.stderr)
            .contains("repository = \"https://github.com/example/adjutant\"")
    );
    let repeated = run(&mut repeated);
    assert!(repeated.contains("SHA256SUMS"), "{repeated}");
    let refused = script(&release.home, "npm").args(["--repository", "no name"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("is not OWNER/NAME"));
}

#[test]
fn two_releases_of_one_binary_have_the_same_bytes_and_name_the_linked_crates() {
    let without = if is_excluded("npm") || is_excluded("dpkg") { "npm,deb" } else { "" };
    let release = Release::new(without);
    let sums = release.text("SHA256SUMS");
    // An archive that took the time of its files would differ now.
    let binary = fs::File::options().append(true).open(release.home.path().join("build/adjutant")).unwrap();
    binary.set_modified(std::time::UNIX_EPOCH).unwrap();
    drop(binary);
    let mut repeated = script(&release.home, without);
    run(repeated.arg("--dist").arg(release.home.path().join("again")));
    assert_eq!(fs::read_to_string(release.home.path().join("again/SHA256SUMS")).unwrap(), sums);

    let bill: Value =
        serde_json::from_str(&release.text(&format!("adjutant-{VERSION}-{TARGET}.cdx.json"))).unwrap();
    assert_eq!((&bill["bomFormat"], &bill["specVersion"]), (&json!("CycloneDX"), &json!("1.6")));
    let components = bill["components"].as_array().unwrap();
    let serde = components.iter().find(|component| component["name"] == "serde").unwrap();
    assert!(serde["purl"].as_str().unwrap().starts_with("pkg:cargo/serde@1."), "{serde}");
    assert_eq!(serde["hashes"][0]["content"].as_str().unwrap().len(), 64, "{serde}");
    for linked in ["tokio", "rmcp", "adjutant-store"] {
        assert!(components.iter().any(|component| component["name"] == linked), "{linked}");
    }
    assert!(components.iter().all(|component| component["name"] != "insta"), "a crate of the tests");

    let folder = release.unpacked(&format!("adjutant-{VERSION}-{TARGET}.mcpb"));
    let notices = fs::read_to_string(folder.join("THIRD-PARTY-LICENSES.txt")).unwrap();
    for component in components.iter().filter(|component| !component["hashes"].is_null()) {
        let (name, version) = (component["name"].as_str().unwrap(), component["version"].as_str().unwrap());
        assert!(notices.matches(&format!("{name} {version}")).count() >= 2, "no text for {name} {version}");
    }
    assert!(folder.join("adjutant.cdx.json").exists());
}

#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn the_program_prints_the_licences_of_what_is_linked() {
    let list = "import pathlib, sys; sys.dont_write_bytecode = True; sys.path.insert(0, 'scripts/release.d'); \
        from linked_crates import LinkedCrates; \
        print(LinkedCrates(pathlib.Path.cwd(), 'x86_64-unknown-linux-gnu', 'linux').notices(), end='')";
    let mut python = Command::new("python3");
    let linked = run(python.args(["-c", list]).current_dir(env!("CARGO_MANIFEST_DIR")));
    let home = Home::new();
    let printed = home.run(["licenses"], "");
    assert!(printed.status.success(), "{}", printed.stderr);
    assert!(
        printed.stdout == linked,
        "run `python3 scripts/release.d/linked_crates.py`, which writes the file"
    );
}

#[test]
fn the_registry_entry_and_the_bundle_are_valid() {
    let release = Release::new("npm,deb");
    let server: Value = serde_json::from_str(&release.text("server.json")).unwrap();
    assert_eq!(
        server["$schema"],
        "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
    );
    assert_eq!(
        (&server["name"], &server["version"]),
        (&json!("io.github.example/adjutant"), &json!(VERSION))
    );
    let schema = jsonschema::validator_for(&registry_schema()).unwrap();
    let faults: Vec<String> =
        schema.iter_errors(&server).map(|fault| format!("{}: {fault}", fault.instance_path())).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let packages = server["packages"].as_array().unwrap();
    let kinds: Vec<_> = packages.iter().map(|package| package["registryType"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["npm", "pypi", "oci", "mcpb"]);
    for package in packages {
        assert_eq!(package["transport"]["type"], "stdio");
        assert!(package["identifier"].is_string());
    }
    let bundle = format!("adjutant-{VERSION}-{TARGET}.mcpb");
    assert_eq!(packages[3]["fileSha256"], release.sha256(&bundle).as_str());
    assert!(packages[3]["identifier"].as_str().unwrap().ends_with(&bundle));

    let folder = release.unpacked(&bundle);
    let manifest: Value = serde_json::from_slice(&fs::read(folder.join("manifest.json")).unwrap()).unwrap();
    for member in ["manifest_version", "name", "version", "description", "author", "server"] {
        assert!(!manifest[member].is_null(), "a manifest needs {member}");
    }
    let entry = manifest["server"]["entry_point"].as_str().unwrap();
    assert_eq!(manifest["server"]["mcp_config"]["command"], format!("${{__dirname}}/{entry}"));
    assert_eq!(manifest["compatibility"]["platforms"], json!(["linux"]));
    // Python's unpacker drops modes; the archive has them.
    let modes = "import sys, zipfile; print(oct(zipfile.ZipFile(sys.argv[1]).getinfo(sys.argv[2]).external_attr >> 16))";
    let mode = run(Command::new("python3").args(["-c", modes]).arg(release.file(&bundle)).arg(entry));
    assert_eq!(mode.trim(), "0o100755");
}

#[test]
fn the_archive_the_formula_and_the_image_agree() {
    let release = Release::new("npm,deb");
    let name = format!("adjutant-{VERSION}-{TARGET}");
    let archive = format!("{name}.tar.gz");
    let formula = release.text("adjutant.rb");
    assert!(
        formula.contains(&release.sha256(&archive)) && formula.contains(&format!("/v{VERSION}/{archive}\"")),
        "{formula}"
    );
    let words = |word: &str| formula.split_whitespace().filter(|found| *found == word).count();
    // `class`, `def`, `service do`, `test do` and two blocks for the platform.
    assert_eq!(words("do") + words("def") + words("class"), words("end"), "{formula}");
    run(Command::new("tar").arg("xzf").arg(release.file(&archive)).current_dir(release.home.path()));
    assert_serves(&mut Command::new(release.home.path().join(&name).join("adjutant")));
    assert_serves_alone(&release.home.path().join(&name), "adjutant");

    // The path for cargo-binstall is the binary's path in the archive.
    let manifest = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).unwrap();
    let answer = manifest.split("[package.metadata.binstall]").nth(1).unwrap();
    assert!(answer.contains("/v{ version }/{ name }-{ version }-{ target }{ archive-suffix }\""), "{answer}");
    assert!(
        answer.contains("bin-dir = \"{ name }-{ version }-{ target }/{ bin }{ binary-ext }\""),
        "{answer}"
    );

    let context = release.file(&format!("container-{TARGET}"));
    let read = |name: &str| fs::read_to_string(context.join(name)).unwrap();
    let (recipe, team) = (read("Containerfile"), read("Team.Containerfile"));
    for line in recipe.lines().chain(team.lines()).filter_map(|line| line.strip_prefix("COPY ")) {
        let files = line.split(' ').filter(|word| !word.starts_with('-'));
        let files: Vec<_> = files.collect();
        assert!(files[..files.len() - 1].iter().all(|file| context.join(file).exists()), "{line}");
    }
    assert!(team.contains(&format!("image.version=\"{VERSION}\"")), "{team}");
    assert!(
        recipe.contains("io.modelcontextprotocol.server.name=\"io.github.example/adjutant\""),
        "{recipe}"
    );
}

/// Replaces Homebrew: accepts the existing stanzas and no others, and prints their values.
const HOMEBREW: &str = r##"
class Formula
  STANZAS = %i[desc homepage version license url sha256 on_macos on_linux on_intel on_arm service run keep_alive environment_variables
    error_log_path test]
  TOLD = []
  STANZAS.each do |name|
    define_singleton_method(name) do |*words, **more, &block|
      TOLD << "#{name} #{(words + more.to_a).flatten.join(' ')}".strip
      class_eval(&block) if block && name != :test
    end
  end
  def self.opt_bin = Pathname("/opt/bin")
  def self.var = Pathname("/opt/var")
  def self.std_service_path_env = "/opt/bin:/usr/bin"
end
require "pathname"
load ARGV[0]
puts Formula::TOLD, Adjutant.instance_methods(false).inspect
"##;

#[test]
fn ruby_reads_the_formula() {
    if Command::new("ruby").arg("--version").output().is_err() {
        return;
    }
    let release = Release::new("npm,deb");
    let homebrew = release.home.write("homebrew.rb", HOMEBREW);
    let output = run(Command::new("ruby").arg(homebrew).arg(release.file("adjutant.rb")));
    let (system, machine) = ("on_linux", if ON_ARM { "on_arm" } else { "on_intel" });
    let archive = format!("adjutant-{VERSION}-{TARGET}.tar.gz");
    let url = format!("url https://github.com/example/adjutant/releases/download/v{VERSION}/{archive}");
    let sum = format!("sha256 {}", release.sha256(&archive));
    let expected = [
        "desc Local hub for coding agents: prompts, delegation, questions over MCP",
        "homepage https://github.com/example/adjutant",
        &format!("version {VERSION}"),
        "license any_of MIT Apache-2.0",
        system,
        machine,
        &url,
        &sum,
        "service",
        // As `adjutant service install` has it.
        "run /opt/bin/adjutant serve --quiet --log-level info --any-port",
        "keep_alive successful_exit false",
        "environment_variables PATH /opt/bin:/usr/bin",
        "error_log_path /opt/var/log/adjutant.log",
        "test",
        "[:install]",
    ];
    assert_eq!(output.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn the_image_is_built_and_its_user_has_a_home() {
    // Anybody else than root would need a user namespace to look into an image.
    if !rustix::process::geteuid().is_root() || Command::new("buildah").arg("--version").output().is_err() {
        return;
    }
    let home = Home::new();
    let mut command = script(&home, "npm,deb");
    // The image contains nothing else, so the stand-in, which is a shell script, would not run in it.
    let program = home.path().join("adjutant");
    run(Command::new("strip").arg("-o").arg(&program).arg(env!("CARGO_BIN_EXE_adjutant")));
    run(command.arg("--binary").arg(program));
    let place = home.path().join("buildah");
    let buildah = |words: &[&str]| {
        let mut command = Command::new("buildah");
        command.args(["--storage-driver", "vfs", "--root"]).arg(place.join("root"));
        command.arg("--runroot").arg(place.join("run")).args(words);
        command
    };
    let context = home.path().join("dist").join(format!("container-{TARGET}"));
    let context = context.to_str().unwrap();
    run(&mut buildah(&["bud", "--isolation", "chroot", "--quiet", "--tag", "adjutant", context]));
    let container = run(&mut buildah(&["from", "localhost/adjutant"]));
    let root = run(&mut buildah(&["mount", container.trim()]));
    let data = fs::metadata(Path::new(root.trim()).join("data")).unwrap();
    let owner = (std::os::unix::fs::MetadataExt::uid(&data), std::os::unix::fs::MetadataExt::gid(&data));
    assert_eq!(owner, (1000, 1000), "the image's user cannot write there");
    let mut peer = Peer::start(&mut buildah(&[
        "run",
        "--isolation",
        "chroot",
        container.trim(),
        "--",
        "/adjutant",
        "mcp",
        "prompts",
    ]));
    let tools = peer.call(1, "tools/list", json!({}));
    assert_eq!(tools["result"]["tools"][1]["name"], "expand_prompt");
    peer.finish();
    run(&mut buildah(&["rm", "--all"]));
    run(&mut buildah(&["rmi", "--all"]));
}

/// The rules of the registry's schema of 2025-12-11 that concern members of the file.
fn registry_schema() -> Value {
    let argument = json!({
        "type": "object",
        "required": ["type", "value"],
        "properties": {"type": {"enum": ["positional"]}, "value": {"type": "string"}},
    });
    let package = json!({
        "type": "object",
        "required": ["registryType", "identifier", "transport"],
        "properties": {
            "registryType": {"enum": ["npm", "pypi", "oci", "mcpb"]},
            "identifier": {"type": "string", "minLength": 1},
            "version": {"type": "string", "minLength": 1, "maxLength": 255, "not": {"const": "latest"}},
            "fileSha256": {"type": "string", "pattern": "^[a-f0-9]{64}$"},
            "packageArguments": {"type": "array", "items": argument},
            "transport": {"type": "object", "required": ["type"], "properties": {"type": {"const": "stdio"}}},
        },
        "additionalProperties": false,
        // The registry's rules outside the schema.
        "allOf": [
            {"if": {"properties": {"registryType": {"const": "mcpb"}}}, "then": {"required": ["fileSha256"]}},
            {"if": {"properties": {"registryType": {"const": "oci"}}}, "then": {"not": {"required": ["version"]}}},
        ],
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "required": ["$schema", "name", "description", "version"],
        "properties": {
            "$schema": {"const": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"},
            "name": {"type": "string", "minLength": 3, "maxLength": 200, "pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$"},
            "title": {"type": "string", "minLength": 1, "maxLength": 100},
            "description": {"type": "string", "minLength": 1, "maxLength": 100},
            "version": {"type": "string", "maxLength": 255, "pattern": "^[0-9]+[.][0-9]+[.][0-9]+(-[0-9A-Za-z.-]+)?$"},
            "repository": {
                "type": "object",
                "required": ["url", "source"],
                "properties": {"url": {"pattern": "^https://github[.]com/[^/]+/[^/]+$"}, "source": {"const": "github"}},
            },
            "packages": {"type": "array", "minItems": 1, "items": package},
        },
        "additionalProperties": false,
    })
}

#[test]
fn the_debian_package_installs_and_runs() {
    if is_excluded("dpkg") {
        return;
    }
    let release = Release::new("npm");
    let package = release.file(&format!("adjutant_{VERSION}_{DEBIAN}.deb"));
    let field = |name: &str| run(Command::new("dpkg-deb").arg("--field").arg(&package).arg(name));
    assert_eq!((field("Package").trim(), field("Version").trim()), ("adjutant", VERSION));
    let listed = run(Command::new("dpkg-deb").arg("--contents").arg(&package));
    assert!(listed.lines().all(|line| line.contains("root/root")), "{listed}");
    let root = release.home.path().join("root");
    run(Command::new("dpkg-deb").arg("--extract").arg(&package).arg(&root));
    for file in [
        "share/man/man1/adjutant.1",
        "share/man/man1/adjutant-install.1",
        "share/zsh/vendor-completions/_adjutant",
    ] {
        assert!(fs::metadata(root.join("usr").join(file)).unwrap().len() > 500, "{file}");
    }
    assert!(root.join("usr/share/doc/adjutant/README.md").exists());
    assert_serves(&mut Command::new(root.join("usr/bin/adjutant")));
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let root = release.home.path().join("empty");
    for folder in ["info", "updates"] {
        fs::create_dir_all(root.join("var/lib/dpkg").join(folder)).unwrap();
    }
    fs::write(root.join("var/lib/dpkg/status"), "").unwrap();
    let dpkg = || {
        let mut command = Command::new("dpkg");
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{path}:/usr/sbin:/sbin"));
        command.arg(format!("--root={}", root.display())).arg("--log=/dev/null");
        command
    };
    run(dpkg().arg("--install").arg(&package));
    assert_serves_alone(&root, "usr/bin/adjutant");
    run(dpkg().args(["--purge", "adjutant"]));
    assert!(!root.join("usr").exists(), "the removed package leaves files");
}

#[test]
fn the_wheel_installs_and_its_script_is_the_binary() {
    let release = Release::new("npm,deb");
    let wheel = release.file(&format!(
        "adjutant_mcp-{VERSION}-py3-none-manylinux_2_17_{}.whl",
        TARGET.split('-').next().unwrap()
    ));
    let place = release.home.path().join("venv");
    run(Command::new("python3").args(["-m", "venv"]).arg(&place));
    let mut pip = Command::new(place.join("bin/pip"));
    run(pip
        .args(["install", "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check"])
        .arg(&wheel));
    let installed = fs::read(place.join("bin/adjutant")).unwrap();
    assert_eq!(installed, fs::read(release.home.path().join("build/adjutant")).unwrap());
    assert_serves(&mut Command::new(place.join("bin/adjutant")));
    // `uvx` and `pipx run` start the command with the package's name, through a link.
    assert_serves(&mut Command::new(place.join("bin/adjutant-mcp")));
    let linked = release.home.path().join("adjutant-mcp");
    std::os::unix::fs::symlink(place.join("bin/adjutant-mcp"), &linked).unwrap();
    assert_serves(&mut Command::new(linked));
    // pip has checked the digests of RECORD only if it rewrote them.
    let shown = run(Command::new(place.join("bin/pip")).args(["show", "-f", "adjutant-mcp"]));
    assert!(shown.contains("bin/adjutant"), "{shown}");
}

#[test]
fn the_npm_packages_install_and_start_the_binary() {
    if is_excluded("npm") {
        return;
    }
    let release = Release::new("deb");
    let place = release.home.path().join("node");
    fs::create_dir(&place).unwrap();
    fs::write(place.join("package.json"), "{}").unwrap();
    let mut npm = Command::new("npm");
    npm.args(["install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
    npm.arg(release.file(&format!("adjutant-mcp-{VERSION}.tgz")));
    npm.arg(release.file(&format!("adjutant-mcp-{NODE}-{VERSION}.tgz")));
    run(npm.current_dir(&place).env("HOME", release.home.path()));
    let packed = place.join("node_modules/adjutant-mcp");
    let package: Value = serde_json::from_slice(&fs::read(packed.join("package.json")).unwrap()).unwrap();
    let built = json!({format!("adjutant-mcp-{NODE}"): VERSION});
    assert_eq!(package["optionalDependencies"], built, "a platform that was not built");
    let readme = fs::read_to_string(packed.join("README.md")).unwrap();
    assert!(readme.contains("](https://github.com/example/adjutant/blob/"), "{readme}");
    assert!(!readme.contains("](docs/"), "a link that the package cannot follow: {readme}");
    let launcher = place.join("node_modules/.bin/adjutant");
    // The pinned Node replaces itself; any other passes the output on.
    assert_serves(Command::new(node()).arg(&launcher));
    assert_serves(&mut Command::new(&launcher));
    let mut stopped = Peer::start(Command::new(&launcher).args(["mcp", "prompts"]));
    stopped.call(1, "tools/list", json!({}));
    let pid = rustix::process::Pid::from_child(&stopped.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    stopped.assert_ended();
    fs::remove_dir_all(place.join(format!("node_modules/adjutant-mcp-{NODE}"))).unwrap();
    let alone = Command::new(&launcher).output().unwrap();
    assert!(
        String::from_utf8_lossy(&alone.stderr).contains(&format!("there is no package adjutant-mcp-{NODE}"))
    );
}
