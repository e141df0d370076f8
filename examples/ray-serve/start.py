"""`start.py [config]`: installs what requirements.txt pins, once, and runs the cluster on this machine."""

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PIP = "-m pip install --no-deps --only-binary :all: --require-hashes --requirement".split()


def install() -> Path:
    """Into the user's cache, by the requirements' hash and this Python's version."""
    requirements = HERE / "requirements.txt"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    name = f"ray-serve-{hashlib.sha256(requirements.read_bytes()).hexdigest()[:12]}-{version}"
    cache = Path(os.environ.get("LOCALTEXT_CACHE") or Path.home() / ".cache/localtext").resolve()
    packages = cache / name
    if not packages.exists():
        cache.mkdir(parents=True, exist_ok=True)
        print("Installing Ray and its packages (about 750 MB, once) …", flush=True)
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            target = str(Path(folder) / "packages")
            subprocess.run([sys.executable, *PIP, str(requirements), "--quiet", "--target", target], check=True)
            os.rename(target, packages)
    return packages


if sys.version_info < (3, 10):
    sys.exit("Ray needs Python 3.10 or newer.")
packages = install()
config = Path(sys.argv[1] if len(sys.argv) > 1 else HERE / "serve.yaml").resolve()
os.environ["PYTHONPATH"] = os.pathsep.join([str(packages), str(HERE)])
# Start a separate cluster, even if another one runs on this machine.
os.environ.setdefault("RAY_ADDRESS", "local")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.chdir(HERE)
os.execv(sys.executable, [sys.executable, "-m", "ray.serve.scripts", "run", str(config)])
