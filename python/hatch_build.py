"""Puts the extension into the wheel: the one that STRONGROOM_EXTENSION names, else a new one."""

import json
import os
import pathlib
import subprocess
import sysconfig

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "strongroom-sqlite-extension"
SUFFIXES = {".so", ".dylib", ".dll"}


class ExtensionHook(BuildHookInterface):
    def initialize(self, version, build_data):
        named = os.environ.get("STRONGROOM_EXTENSION")
        library = pathlib.Path(named) if named else self.compile()
        build_data["force_include"][str(library)] = f"strongroom/{library.name}"
        # The wheel depends on the platform, but on no version of Python.
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"

    def compile(self):
        command = ["cargo", "build", "--release", "--locked", "--package", PACKAGE,
                   "--message-format", "json-render-diagnostics"]
        output = subprocess.run(command, cwd=pathlib.Path(self.root).parent, check=True,
                                stdout=subprocess.PIPE).stdout
        for line in output.splitlines():
            message = json.loads(line)
            if message["reason"] == "compiler-artifact" and message["target"]["name"] == "strongroom":
                for name in message["filenames"]:
                    if pathlib.Path(name).suffix in SUFFIXES:
                        return pathlib.Path(name)
        raise RuntimeError(f"cargo built {PACKAGE} and named no library")
