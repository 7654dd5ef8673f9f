"""A small file system that is filled; only the administrator can have one."""

import os
import subprocess


def mount(folder, megabytes):
    """Puts an empty file system into a folder; returns whether that worked."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=700", "torture", str(folder)]
    return os.geteuid() == 0 and subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0


def fill(folder):
    """Leaves no space; returns the file that takes it."""
    filler = folder / "filler"
    with open(filler, "wb", buffering=0) as file:
        try:
            while file.write(b"x" * 65536):
                pass
        except OSError:
            pass
    return filler


def unmount(folder):
    """Gives back the memory of a file system, also while a process has it open."""
    subprocess.run(["umount", "--lazy", str(folder)], check=False)
