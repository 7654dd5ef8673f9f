"""Checks the files of packaging/compose and packaging/kubernetes, and prints the commands of Adjutant in them as JSON."""

import json
import pathlib
import sys

import kubernetes_validate
import yaml

KUBERNETES = "1.34"
# The members that KEDA documents for this kind and this trigger; it is no part of the schemas of Kubernetes.
SCALED_OBJECT = {"scaleTargetRef", "minReplicaCount", "maxReplicaCount", "advanced", "triggers"}
NATS_TRIGGER = {"natsServerMonitoringEndpoint", "account", "stream", "consumer", "lagThreshold"}

packaging = pathlib.Path(sys.argv[1])
commands = []


def documents(name):
    """Returns the documents of a YAML file."""
    return list(yaml.safe_load_all((packaging / name).read_text()))


names = {}
for document in documents("kubernetes/adjutant.yaml"):
    kubernetes_validate.validate(document, KUBERNETES, strict=True)
    names.setdefault(document["kind"], []).append(document["metadata"]["name"])
    template = document["spec"].get("template") if "spec" in document else None
    for container in template["spec"]["containers"] if template else []:
        if container["image"].startswith("adjutant"):
            commands.append(container["args"])

[scaler] = documents("kubernetes/scale-workers.yaml")
assert scaler["kind"] == "ScaledObject", scaler
assert set(scaler["spec"]) == SCALED_OBJECT, set(scaler["spec"]) ^ SCALED_OBJECT
assert scaler["spec"]["scaleTargetRef"]["name"] in names["StatefulSet"], "there is nothing to scale"
for trigger in scaler["spec"]["triggers"]:
    assert trigger["type"] == "nats-jetstream", trigger
    assert set(trigger["metadata"]) == NATS_TRIGGER, set(trigger["metadata"]) ^ NATS_TRIGGER

[compose] = documents("compose/compose.yaml")
services, volumes, secrets = compose["services"], compose["volumes"], compose["secrets"]
for name, service in services.items():
    for other in service.get("depends_on", {}):
        assert other in services, f"{name} depends on {other}"
    for volume in service.get("volumes", []):
        source = volume.split(":")[0]
        assert source.startswith("./") or source in volumes, f"{name} mounts {source}"
    for secret in service.get("secrets", []):
        assert secret in secrets, f"{name} reads {secret}"
    if service["image"].startswith("adjutant"):
        commands.append(service["command"])

trigger = scaler["spec"]["triggers"][0]["metadata"]
print(json.dumps({"commands": commands, "stream": trigger["stream"], "consumer": trigger["consumer"]}))
