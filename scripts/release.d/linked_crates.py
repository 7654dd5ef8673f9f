"""The crates that are linked into the program of one platform, with their licences, from `cargo metadata`."""
import gzip
import hashlib
import json
import os
import pathlib
import re
import subprocess
import tomllib
import uuid

LICENCE_FILE = re.compile(r"(?i)(licen[cs]e|copying|notice|unlicense|copyright)")
# Parts of the program that Cargo does not list, with where their licences are.
OTHER_PARTS = {
    "linux": """\
GNU C Library (LGPL-2.1-or-later): linked statically, from the system that built this program.
    Its source is at https://www.gnu.org/software/libc/. The source of Adjutant is open, so the program can be linked
    again with another version of the library.
The Rust standard library (MIT OR Apache-2.0): https://github.com/rust-lang/rust
SQLite (public domain): https://www.sqlite.org/copyright.html
""",
    "darwin": """\
The Rust standard library (MIT OR Apache-2.0): https://github.com/rust-lang/rust
SQLite (public domain): https://www.sqlite.org/copyright.html
""",
}


class LinkedCrates:
    """Reads the graph of normal dependencies. Macros and build scripts run in the compiler and are not linked."""

    def __init__(self, root, target, system):
        command = [os.environ.get("CARGO", "cargo"), "metadata", "--format-version", "1", "--locked", "--offline",
                   "--filter-platform", target]
        done = subprocess.run(command, cwd=root, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode:
            raise ValueError(f"cannot list the linked crates; run `cargo fetch --locked` first: {done.stderr.strip()}")
        metadata = json.loads(done.stdout)
        packages = {package["id"]: package for package in metadata["packages"]}
        nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
        self.root, self.target, self.system = root, target, system
        self.program = next(package for package in metadata["packages"] if package["name"] == "adjutant")
        self.depends, pending = {}, [self.program["id"]]
        while pending:
            package = pending.pop()
            if package in self.depends:
                continue
            linked = [dep["pkg"] for dep in nodes[package]["deps"]
                      if any(kind["kind"] is None for kind in dep["dep_kinds"])
                      and not is_macro(packages[dep["pkg"]])]
            self.depends[package] = sorted(linked)
            pending += linked
        self.packages = sorted((packages[name] for name in self.depends), key=lambda package: (package["name"], package["version"]))

    def foreign(self):
        """The crates of others."""
        return [package for package in self.packages if package["source"]]

    def notices(self):
        """One text: each crate with its licence, and each distinct text of a licence with the crates that have it."""
        texts, listed = {}, []
        for package in self.foreign():
            name = f"{package['name']} {package['version']}"
            listed.append(f"{name} ({package['license']}) {package['repository'] or ''}".rstrip())
            for text in licence_texts(package) or [self.stand_in(package)]:
                texts.setdefault(text, []).append(name)
        parts = ["Third-party parts of Adjutant for " + self.target, "", *listed, "", OTHER_PARTS[self.system]]
        for text, names in sorted(texts.items(), key=lambda item: item[1]):
            parts += ["=" * 78, ", ".join(names), "-" * 78, text]
        # The font of the console.
        parts += ["=" * 78, "Inter", "-" * 78, (self.root / "crates/web/static/inter-license.txt").read_text().strip()]
        return "\n".join(parts) + "\n"

    def stand_in(self, package):
        """The text for a crate that was published without one: that of MIT with the authors that it names, or of Apache."""
        if "MIT" not in package["license"]:
            if "Apache-2.0" in package["license"]:
                return (self.root / "LICENSE-APACHE").read_text().strip()
            raise ValueError(f"{package['name']} has no text of its licence {package['license']}; add one to scripts/release.d")
        holders = ", ".join(package["authors"]) or f"the authors of {package['name']}"
        text = (self.root / "LICENSE-MIT").read_text()
        return re.sub(r"(?m)^Copyright .*$", f"Copyright (c) {holders}", text).strip()

    def bill_of_materials(self):
        """The software bill of materials in CycloneDX 1.6, the same for the same Cargo.lock."""
        lock = (self.root / "Cargo.lock").read_bytes()
        checksums = {(entry["name"], entry["version"]): entry.get("checksum")
                     for entry in tomllib.loads(lock.decode())["package"]}

        def component(package):
            about = {
                "type": "application" if package is self.program else "library", "bom-ref": reference(package),
                "name": package["name"], "version": package["version"], "purl": reference(package),
                "licenses": [{"expression": package["license"].replace("/", " OR ")}],
            }
            if checksum := checksums.get((package["name"], package["version"])):
                about["hashes"] = [{"alg": "SHA-256", "content": checksum}]
            return about

        by_id = {package["id"]: package for package in self.packages}
        serial = uuid.UUID(bytes=hashlib.sha256(lock + self.target.encode()).digest()[:16], version=4)
        bill = {
            "bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": f"urn:uuid:{serial}", "version": 1,
            "metadata": {"component": component(self.program), "properties": [{"name": "target", "value": self.target}]},
            "components": [component(package) for package in self.packages if package is not self.program],
            "dependencies": [{"ref": reference(package),
                              "dependsOn": sorted(reference(by_id[other]) for other in self.depends[package["id"]])}
                             for package in self.packages],
        }
        return json.dumps(bill, indent=1) + "\n"


def is_macro(package):
    return any("proc-macro" in target["kind"] for target in package["targets"])


def reference(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def licence_texts(package):
    """The texts in a crate's folder, and in a folder of licences there."""
    folder = pathlib.Path(package["manifest_path"]).parent
    named = sorted(path for path in folder.iterdir() if LICENCE_FILE.match(path.name))
    if package["license_file"]:
        named.append(folder / package["license_file"])
    files = [file for path in named for file in (sorted(path.iterdir()) if path.is_dir() else [path]) if file.is_file()]
    texts = [file.read_text(errors="replace").strip().replace("\r\n", "\n") for file in dict.fromkeys(files)]
    return [text for text in texts if text]


if __name__ == "__main__":
    # Writes what `adjutant licenses` prints.
    root = pathlib.Path(__file__).resolve().parent.parent.parent
    text = LinkedCrates(root, "x86_64-unknown-linux-gnu", "linux").notices()
    (root / "packaging/third-party-licenses.txt.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))
