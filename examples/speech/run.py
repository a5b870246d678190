"""Speech: from text to audio to a lattice, and then what the recogniser could have said.

eSpeak NG speaks a few sentences, PocketSphinx recognises them with the English model in its
wheel, and fstmetrics takes the lattices: 1-best, MBR with word confidences, oracle. Nothing is
downloaded but the two packages: pip install pocketsphinx espeakng-loader
"""

from __future__ import annotations

import argparse
import ctypes
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

import lattices

try:
    import espeakng_loader
    import pocketsphinx
except ImportError as problem:
    sys.exit(f"{problem.name} is missing: pip install pocketsphinx espeakng-loader")

SENTENCES = {
    "bridge": "the old bridge was closed for most of the winter",
    "letter": "she wrote a long letter to her brother last night",
    "market": "we bought fresh bread and apples at the market",
    "weather": "the weather will be warm and dry until the weekend",
    "train": "his train leaves the station at half past nine",
    "garden": "there is a small garden behind the house",
}
RATE = 16_000


class Speaker:
    """eSpeak NG, by its C interface (espeak-ng/speak_lib.h)."""

    SYNCHRONOUS, UTF8 = 2, 1

    def __init__(self, voice: str = "en-us+f2", speed: int = 150) -> None:
        self._library = ctypes.CDLL(espeakng_loader.get_library_path())
        data = espeakng_loader.get_data_path().encode()
        self._rate = self._library.espeak_Initialize(self.SYNCHRONOUS, 0, data, 0)
        if self._rate <= 0 or self._library.espeak_SetVoiceByName(voice.encode()):
            sys.exit(f"eSpeak NG cannot be started, or has no voice {voice}")
        self._library.espeak_SetParameter(1, speed, 0)
        kind = ctypes.CFUNCTYPE(
            ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p
        )
        self._samples: list[np.ndarray] = []
        self._callback = kind(self._take)  # kept: the library calls it later
        self._library.espeak_SetSynthCallback(self._callback)

    def _take(self, samples: ctypes._Pointer, count: int, _: int) -> int:
        if samples and count:
            self._samples.append(np.ctypeslib.as_array(samples, (count,)).copy())
        return 0

    def __call__(self, text: str) -> np.ndarray:
        """Return the speech as 16-bit samples at the rate of the recogniser."""
        self._samples = [np.zeros(self._rate // 4, np.int16)]
        data = text.encode()
        self._library.espeak_Synth(data, len(data) + 1, 0, 1, 0, self.UTF8, None, None)
        self._library.espeak_Synchronize()
        spoken = np.concatenate([*self._samples, np.zeros(self._rate // 4, np.int16)])
        # to the recogniser's rate, after a filter that takes away what it cannot hold
        spectrum = np.fft.rfft(spoken)
        length = round(len(spoken) * RATE / self._rate)
        kept = spectrum[: length // 2 + 1] * (length / len(spoken))
        return np.clip(np.fft.irfft(kept, length), -32768, 32767).astype(np.int16)


def recognise(decoder: pocketsphinx.Decoder, audio: np.ndarray) -> lattices.Lattice:
    decoder.start_utt()
    decoder.process_raw(audio.tobytes(), full_utt=True)
    decoder.end_utt()
    return lattices.from_pocketsphinx(decoder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("speech"), help="folder for the files")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    speak, decoder = Speaker(), pocketsphinx.Decoder(samprate=RATE, loglevel="FATAL")
    spaces = [recognise(decoder, speak(text)).replaced(id=name) for name, text in SENTENCES.items()]
    lattices.write(folder / "lattices.jsonl", spaces)
    refs = folder / "refs.txt"
    refs.write_text("".join(f"{name} {text}\n" for name, text in SENTENCES.items()))
    print(f"{len(spaces)} lattices of {sum(space.num_arcs for space in spaces):,} arcs in {folder}")
    # the rest is the command line, as anybody would type it
    inputs = ["lattices.jsonl", "--refs", "refs.txt", "--metric", "wer"]
    fstmetrics(folder, "oracle", *inputs)
    confident = ["--confidences", "--format", "jsonl", "-o", "mbr.jsonl"]
    fstmetrics(folder, "mbr", *inputs, *confident)
    for line in (folder / "mbr.jsonl").read_text().splitlines():
        answer = json.loads(line)
        words = (f"{each['word']} {each['confidence']:.2f}" for each in answer["confidences"])
        print(f"{answer['id']:8}", *words, sep="  ")
    if knows("report"):
        fstmetrics(folder, "report", *inputs, "-o", "report.html")


def fstmetrics(folder: Path, *argv: str) -> None:
    print("\n$ fstmetrics", *argv, flush=True)
    subprocess.run([sys.executable, "-m", "fstmetrics", *argv], check=True, cwd=folder)


def knows(command: str) -> bool:
    asked = [sys.executable, "-m", "fstmetrics", command, "--help"]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0


if __name__ == "__main__":
    main()
