"""Objects of real decoders, small ones made here; a skip where a package is not installed.

Tests that use them are marked ``door``; ``make doors`` installs the packages and runs them all.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Texts = Sequence[tuple[tuple[str, ...], float]]


def imported(name: str) -> Any:
    """Return a package; what it warns of, as it is imported, is its own affair."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name)


def _posteriors(frames: int, tokens: int, seed: int = 0) -> Any:
    return np.log(np.random.default_rng(seed).dirichlet(np.ones(tokens), frames))


def pyctcdecode_beams() -> Any:
    """Return the beams of an utterance."""
    pyctcdecode = imported("pyctcdecode")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        decoder = pyctcdecode.build_ctcdecoder([" ", "a", "b", "c"])
        return decoder.decode_beams(_posteriors(12, 5), beam_width=10)


def flashlight_results() -> tuple[Any, Any]:
    """Return the results of a decoder with a lexicon, and the dictionary of its words."""
    flashlight = imported("flashlight.lib.text.decoder")
    dictionary = imported("flashlight.lib.text.dictionary")
    tokens, words = dictionary.Dictionary(), dictionary.Dictionary()
    for token in ("|", "a", "b", "<blank>"):
        tokens.add_entry(token)
    model = flashlight.ZeroLM()
    trie = flashlight.Trie(tokens.index_size(), 0)
    for word in ("ab", "ba", "a"):
        words.add_entry(word)
        number = words.get_index(word)
        score = model.score(model.start(False), number)[1]
        trie.insert([tokens.get_index(letter) for letter in word] + [0], number, score)
    trie.smear(flashlight.SmearingMode.MAX)
    options = flashlight.LexiconDecoderOptions(
        beam_size=50, beam_size_token=4, beam_threshold=50, lm_weight=1.0, word_score=0.0,
        unk_score=-np.inf, sil_score=0.0, log_add=False,
        criterion_type=flashlight.CriterionType.CTC,
    )  # fmt: skip
    decoder = flashlight.LexiconDecoder(options, trie, model, 0, 3, -1, [], False)
    logits = _posteriors(12, 4).astype(np.float32)
    return decoder.decode(logits.ctypes.data, 12, 4), words


def ctranslate2_translator(folder: Path) -> tuple[Any, list[str]]:
    """Return a translator of one layer, with weights by chance, and a sentence for it."""
    ctranslate2 = imported("ctranslate2")
    rng, size = np.random.default_rng(0), 8
    words = ["<blank>", "<s>", "</s>", "▁a", "▁the", "▁c", "at", "<unk>"]
    spec = ctranslate2.specs.TransformerSpec.from_config((1, 1), 2)

    def fill(part: Any, name: str = "") -> None:
        """Give values to all that a part of the model has none for."""
        rows = {"projection": len(words), "linear_0": 16}.get(name, size)
        if hasattr(part, "gamma"):
            part.gamma, part.beta = np.ones(size, np.float32), np.zeros(size, np.float32)
        elif hasattr(part, "bias"):
            shape = (rows, 16 if name == "linear_1" else size)
            part.weight = rng.normal(size=shape).astype(np.float32)
            part.bias = np.zeros(rows, np.float32)
        elif hasattr(part, "weight"):
            part.weight = rng.normal(size=(len(words), size)).astype(np.float32)
        else:
            for key, value in vars(part).items():
                for each in value if isinstance(value, list) else [value]:
                    if isinstance(each, ctranslate2.specs.LayerSpec):
                        fill(each, key)

    def attention(part: Any, rows: tuple[int, ...]) -> None:
        fill(part.layer_norm)
        for linear, count in zip(part.linear, rows, strict=True):
            linear.weight = rng.normal(size=(count, size)).astype(np.float32)
            linear.bias = np.zeros(count, np.float32)

    fill(spec)
    for side in (spec.encoder, spec.decoder):
        attention(side.layer[0].self_attention, (3 * size, size))
    attention(spec.decoder.layer[0].attention, (size, 2 * size, size))
    spec.register_source_vocabulary(words)
    spec.register_target_vocabulary(words)
    spec.validate()
    spec.save(str(folder))
    return ctranslate2.Translator(str(folder)), words[3:5]


def transformers_output(architecture: str, words: int, **options: Any) -> tuple[Any, Any]:
    """Return a model with weights by chance, and what its ``generate`` returns for two inputs."""
    torch, transformers = imported("torch"), imported("transformers")
    torch.manual_seed(3)
    common = {"vocab_size": words, "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2}
    if architecture == "gpt2":
        config = transformers.GPT2Config(n_embd=16, n_layer=1, n_head=2, n_positions=32, **common)
        model = transformers.GPT2LMHeadModel(config).eval()
    else:
        config = transformers.T5Config(
            d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, decoder_start_token_id=1,
            **common,
        )  # fmt: skip
        model = transformers.T5ForConditionalGeneration(config).eval()
    given = torch.tensor([[0, 3, 5], [0, 4, 6]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        output = model.generate(
            given, attention_mask=torch.ones_like(given), max_new_tokens=6,
            return_dict_in_generate=True, output_scores=True, **options,
        )  # fmt: skip
    return model, output


def whisper_results() -> tuple[dict[str, Any], Any]:
    """Return what a model with weights by chance transcribes noise to, and how it decodes it."""
    torch, whisper = imported("torch"), imported("whisper")
    torch.manual_seed(0)
    size = {"state": 16, "head": 2, "layer": 1}
    dimensions = whisper.model.ModelDimensions(
        n_mels=80, n_audio_ctx=1500, n_vocab=51865, n_text_ctx=448,
        **{f"n_{side}_{name}": value for side in ("audio", "text") for name, value in size.items()},
    )  # fmt: skip
    model = whisper.model.Whisper(dimensions).eval()
    for each in model.parameters():  # some are empty memory before weights are loaded
        torch.nn.init.normal_(each, std=0.1)
    audio = np.random.default_rng(0).normal(scale=0.1, size=16000).astype(np.float32)
    options = {"language": "en", "fp16": False, "sample_len": 12, "without_timestamps": True}
    anything = dict.fromkeys(
        ("logprob_threshold", "no_speech_threshold", "compression_ratio_threshold")
    )
    result = model.transcribe(audio, temperature=0.0, **options, **anything)
    mel = whisper.log_mel_spectrogram(whisper.pad_or_trim(audio))
    return result, whisper.decode(model, mel, whisper.DecodingOptions(**options))


def sherpa_result(folder: Path) -> Any:
    """Return the result of a model of one layer, with weights by chance, on noise."""
    onnx, sherpa = imported("onnx"), imported("sherpa_onnx")
    helper, floats, rng = onnx.helper, onnx.TensorProto.FLOAT, np.random.default_rng(0)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "W"], ["y"]),
         helper.make_node("LogSoftmax", ["y"], ["z"], axis=-1)],
        "layer",
        [helper.make_tensor_value_info("x", floats, ["N", "T", 23])],
        [helper.make_tensor_value_info("z", floats, ["N", "T", 4])],
        [onnx.numpy_helper.from_array(rng.normal(size=(23, 4)).astype(np.float32), "W")],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    size = model.metadata_props.add()
    size.key, size.value = "vocab_size", "4"
    onnx.save(model, str(folder / "model.onnx"))
    (folder / "tokens.txt").write_text("<blk> 0\n▁a 1\nb 2\nc 3\n")
    recogniser = sherpa.OfflineRecognizer.from_tdnn_ctc(
        model=str(folder / "model.onnx"), tokens=str(folder / "tokens.txt")
    )
    stream = recogniser.create_stream()
    stream.accept_waveform(8000, rng.normal(scale=0.1, size=4000).astype(np.float32))
    recogniser.decode_stream(stream)
    return stream.result


def faster_whisper_segments() -> tuple[Any, Any]:
    """Return two segments of its classes, which are made here by hand, and information."""
    kinds = imported("faster_whisper.transcribe")
    about = {"seek": 0, "compression_ratio": 1.0, "no_speech_prob": 0.0, "temperature": 0.0}
    segments = [
        kinds.Segment(
            id=number, start=float(number), end=number + 1.0, text=f" {word}", tokens=[7, 8],
            avg_logprob=-0.5, words=[kinds.Word(float(number), number + 1.0, f" {word}", 0.5)],
            **about,
        )
        for number, word in enumerate(("a", "cat"))
    ]  # fmt: skip
    fields = kinds.TranscriptionInfo.__dataclass_fields__
    return (each for each in segments), kinds.TranscriptionInfo(**dict.fromkeys(fields, "en"))


def openai_completion(texts: Texts) -> Any:
    """Return an answer of the endpoint for completions, as the client has parsed it."""
    choices = [
        {"finish_reason": "stop", "index": place, "text": " ".join(words),
         "logprobs": {"token_logprobs": [score / 2, score / 2], "tokens": ["x", "y"]}}
        for place, (words, score) in enumerate(texts)
    ]  # fmt: skip
    answer = {"id": "1", "created": 0, "model": "m", "object": "text_completion"}
    return imported("openai.types").Completion.model_validate({**answer, "choices": choices})


def openai_chat(texts: Texts) -> Any:
    """Return an answer of the endpoint for chats, as the client has parsed it."""
    choices = [
        {"finish_reason": "stop", "index": place,
         "message": {"role": "assistant", "content": " ".join(words)},
         "logprobs": {"content": [
             {"token": word, "logprob": score / max(len(words), 1),
              "top_logprobs": [{"token": each, "logprob": -5.0} for each in (word, " dog")]}
             for word in [*words[:1], *(f" {word}" for word in words[1:])] or [""]
         ]}}
        for place, (words, score) in enumerate(texts)
    ]  # fmt: skip
    answer = {"id": "1", "created": 0, "model": "m", "object": "chat.completion"}
    kind = imported("openai.types.chat").ChatCompletion
    return kind.model_validate({**answer, "choices": choices})


def kaldi_decoder_lattice() -> Any:
    """Return the lattice of a decoder over a graph of two words, ``ab`` and ``ba``, and blanks."""
    kaldifst, kaldi_decoder = imported("kaldifst"), imported("kaldi_decoder")
    graph = kaldifst.StdVectorFst()
    for _ in range(5):
        graph.add_state()
    graph.start = 0
    graph.set_final(0, 0.0)
    # inputs are tokens plus 1: blank, a, b; outputs words: 1 is ab, 2 is ba, and 3 a alone
    for src, token, word, cost, dst in [
        (0, 1, 0, 0.0, 0), (0, 2, 1, 0.5, 1), (1, 1, 0, 0.0, 1), (1, 3, 0, 0.0, 0),
        (0, 3, 2, 0.75, 2), (2, 1, 0, 0.0, 2), (2, 2, 0, 0.0, 0), (0, 2, 3, 0.25, 0),
    ]:  # fmt: skip
        graph.add_arc(src, kaldifst.StdArc(token, word, cost, dst))
    config = kaldi_decoder.LatticeSimpleDecoderConfig(lattice_beam=6.0)
    decoder = kaldi_decoder.LatticeSimpleDecoder(graph, config)
    decoder.decode(kaldi_decoder.DecodableCtc(_posteriors(6, 3).astype(np.float32)))
    ended, lattice = decoder.get_raw_lattice()
    assert ended
    return lattice


def rustfst_fst() -> Any:
    """Return a transducer of two paths, with a table of symbols."""
    rustfst = imported("rustfst")
    fst = rustfst.VectorFst()
    first, last = fst.add_state(), fst.add_state()
    fst.set_start(first)
    fst.set_final(last, 0.5)
    fst.add_tr(first, rustfst.Tr(1, 1, 0.25, last))
    fst.add_tr(first, rustfst.Tr(2, 2, 1.25, last))
    fst.set_output_symbols(rustfst.SymbolTable.from_symbols(["a", "b"]))
    return fst
