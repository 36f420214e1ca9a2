"""llama.cpp servers in processes of their own, one for each way to decode, started when a test first asks for it."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.engines.llamacpp.models import make

OPTIONS = {
    "plain": (),
    "plain-too": (),
    "greedy": ("--draft", "draft.gguf", "--type", "draft-simple"),
    "probabilistic": ("--draft", "draft.gguf", "--type", "draft-simple", "--probabilistic"),
    "n-gram": ("--type", "ngram-simple"),
    "synth": ("--draft", "draft.gguf", "--type", "draft-simple", "--synth-len", "2.5"),
    "draft-without-type": ("--draft", "draft.gguf"),
}
"""What a server is started with beside its model."""


@dataclass
class Fleet:
    """Servers of one folder of models."""

    folder: Path
    processes: dict[str, subprocess.Popen[str]] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Write the models."""
        make(self.folder)

    def __getitem__(self, name: str) -> str:
        """Return the address of a server, which is started if need be."""
        if name not in self.addresses:
            command = [
                sys.executable,
                "-m",
                "tests.engines.llamacpp.serve",
                "--with-parent",
                "--model",
                "target.gguf",
                *OPTIONS[name],
            ]
            root = Path(__file__).parents[3]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])}
            self.processes[name] = subprocess.Popen(
                command,
                cwd=self.folder,
                env=environment,
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            said = self.processes[name].stdout
            assert said is not None
            self.addresses[name] = next(line.strip() for line in said if line.startswith("http://"))
        return self.addresses[name]

    def kill(self, name: str) -> None:
        """End a server as a crash would."""
        self.processes[name].send_signal(signal.SIGKILL)

    def stop(self) -> None:
        """End all of them."""
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            process.communicate(timeout=10)
