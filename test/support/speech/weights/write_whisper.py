"""Writes the ONNX files of a Whisper model, from the model in CTranslate2's format.

python3 write_whisper.py <folder with model.bin> <target folder>

The files have the names, inputs and outputs of those that Optimum exports, which transformers.js loads. Architecture:
Radford et al., "Robust Speech Recognition via Large-Scale Weak Supervision", 2022. The same input gives the same bytes.
"""

import json
import pathlib
import shutil
import struct
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MICROSOFT = "com.microsoft"
TYPES = {0: np.float32, 1: np.int8, 2: np.int16, 3: np.int32, 4: np.float16}


def read_ctranslate2(path):
    """The variables of a model.bin of version 6, by name."""
    with open(path, "rb") as file:

        def number(form):
            return struct.unpack("<" + form, file.read(struct.calcsize(form)))[0]

        def text():
            return file.read(number("H"))[:-1].decode()

        version, name, revision = number("I"), text(), number("I")
        if (version, name, revision) != (6, "WhisperSpec", 3):
            raise SystemExit(f"{path} has version {version} of {name} {revision}; WhisperSpec 3 in version 6 is read")
        variables = {}
        for _ in range(number("I")):
            variable = text()
            shape = [number("I") for _ in range(number("B"))]
            kind = TYPES[number("B")]
            variables[variable] = np.frombuffer(file.read(number("I")), kind).reshape(shape)
        for _ in range(number("I")):
            alias, variable = text(), text()
            variables[alias] = variables[variable]
        return variables


class Graph:
    """The nodes and tensors of one graph; with `int8`, the weights of its products are in 8 bits."""

    def __init__(self, variables, int8, heads, tensors=None, prefix=""):
        self.variables, self.int8, self.heads, self.prefix = variables, int8, heads, prefix
        self.nodes, self.tensors = [], {} if tensors is None else tensors
        self.count = 0

    def tensor(self, name, values):
        if name not in self.tensors:
            self.tensors[name] = numpy_helper.from_array(np.ascontiguousarray(values), name)
        return name

    def ints(self, *values):
        return self.tensor("int64_" + "_".join(map(str, values)), np.array(values, np.int64))

    def scalar(self, value):
        return self.tensor(f"float_{value}", np.array(value, np.float32))

    def weight(self, name):
        return self.variables[name].astype(np.float32)

    def node(self, operator, inputs, outputs=None, domain="", **attributes):
        if outputs is None:
            self.count += 1
            outputs = f"{self.prefix}{operator}_{self.count}"
        names = [outputs] if isinstance(outputs, str) else outputs
        self.nodes.append(helper.make_node(operator, inputs, names, domain=domain, **attributes))
        return outputs

    def norm(self, state, name, output=None):
        gamma = self.tensor(f"{name}/gamma", self.weight(f"{name}/gamma"))
        beta = self.tensor(f"{name}/beta", self.weight(f"{name}/beta"))
        return self.node("LayerNormalization", [state, gamma, beta], output, axis=-1, epsilon=1e-5)

    def product(self, state, name, matrix, bias=None, output=None):
        """`matrix` is [out, in]."""
        if self.int8:
            quantized, scales = quantize(matrix)
            inputs = [state, self.tensor(f"{name}/int8", quantized.T), self.tensor(f"{name}/scales", scales), ""]
            if bias is not None:
                inputs.append(self.tensor(f"{name}/bias", bias))
            return self.node("DynamicQuantizeMatMul", inputs, output, MICROSOFT)
        product = self.node("MatMul", [state, self.tensor(f"{name}/weight", matrix.T)], None if bias is not None else output)
        if bias is None:
            return product
        return self.node("Add", [product, self.tensor(f"{name}/bias", bias)], output)

    def linear(self, state, name, part=0, parts=1):
        """One of the matrices that CTranslate2 has put together."""
        matrix = np.split(self.weight(f"{name}/weight"), parts)[part]
        bias = np.split(self.weight(f"{name}/bias"), parts)[part]
        return self.product(state, f"{name}/{part}", matrix, bias)

    def split_heads(self, state, size, output=None):
        split = self.node("Reshape", [state, self.ints(0, 0, self.heads, size // self.heads)])
        return self.node("Transpose", [split], output, perm=[0, 2, 1, 3])

    def attention(self, query, key, value, size, mask=None, shares=None):
        """`query`, `key` and `value` are [batch, head, position, size of a head]."""
        scaled = self.node("Mul", [query, self.scalar((size // self.heads) ** -0.5)])
        scores = self.node("MatMul", [scaled, self.node("Transpose", [key], perm=[0, 1, 3, 2])])
        if mask is not None:
            scores = self.node("Add", [scores, mask])
        context = self.node("MatMul", [self.node("Softmax", [scores], shares, axis=-1), value])
        gathered = self.node("Transpose", [context], perm=[0, 2, 1, 3])
        return self.node("Reshape", [gathered, self.ints(0, 0, size)])

    def feed_forward(self, state, name):
        wide = self.linear(self.norm(state, f"{name}/layer_norm"), f"{name}/linear_0")
        narrow = self.linear(self.node("Gelu", [wide], domain=MICROSOFT), f"{name}/linear_1")
        return self.node("Add", [state, narrow])

    def model(self, name, inputs, outputs):
        graph = helper.make_graph(self.nodes, name, inputs, outputs, list(self.tensors.values()))
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="localtext")
        onnx.checker.check_model(model)
        return model


def quantize(matrix):
    """Symmetric, with one scale for each output."""
    scales = np.maximum(np.abs(matrix).max(axis=1), 1e-8) / 127
    return np.round(matrix / scales[:, None]).astype(np.int8), scales.astype(np.float32)


def value(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def encoder(variables, int8, shape):
    graph = Graph(variables, int8, shape["heads"])
    size = shape["size"]

    def convolution(state, name, stride):
        weights = [graph.tensor(f"{name}/{part}", graph.weight(f"{name}/{part}")) for part in ("weight", "bias")]
        wide = graph.node("Conv", [state, *weights], kernel_shape=[3], pads=[1, 1], strides=[stride])
        return graph.node("Gelu", [wide], domain=MICROSOFT)

    state = convolution("input_features", "encoder/conv1", 1)
    state = convolution(state, "encoder/conv2", 2)
    positions = graph.tensor("positions", graph.weight("encoder/position_encodings/encodings"))
    state = graph.node("Add", [graph.node("Transpose", [state], perm=[0, 2, 1]), positions])
    for layer in range(shape["encoder_layers"]):
        self_attention = f"encoder/layer_{layer}/self_attention"
        normed = graph.norm(state, f"{self_attention}/layer_norm")
        query, key, values = (
            graph.split_heads(graph.linear(normed, f"{self_attention}/linear_0", part, 3), size) for part in range(3)
        )
        attended = graph.attention(query, key, values, size)
        state = graph.node("Add", [state, graph.linear(attended, f"{self_attention}/linear_1")])
        state = graph.feed_forward(state, f"encoder/layer_{layer}/ffn")
    graph.norm(state, "encoder/layer_norm", "last_hidden_state")
    return graph.model(
        "whisper_encoder",
        [value("input_features", FLOAT, ["batch_size", shape["mels"], 3000])],
        [value("last_hidden_state", FLOAT, ["batch_size", 1500, size])],
    )


def decoder(variables, int8, shape):
    graph = Graph(variables, int8, shape["heads"])
    size, layers, head = shape["size"], shape["decoder_layers"], shape["size"] // shape["heads"]
    table = graph.weight("decoder/embeddings/weight")

    # One tensor for the words at both ends: [size, vocabulary], as the product takes it.
    if int8:
        quantized, scales = quantize(table)
        rows = graph.node("Gather", [graph.tensor("projection/int8", quantized.T), "input_ids"], axis=1)
        row_scales = graph.node("Gather", [graph.tensor("projection/scales", scales), "input_ids"])
        columns = graph.node("Mul", [graph.node("Cast", [rows], to=FLOAT), row_scales])
    else:
        columns = graph.node("Gather", [graph.tensor("projection/weight", table.T), "input_ids"], axis=1)
    words = graph.node("Transpose", [columns], perm=[1, 2, 0])

    def length(of, axis):
        return graph.node("Slice", [graph.node("Shape", [of]), graph.ints(axis), graph.ints(axis + 1)])

    past, count = length("past_key_values.0.decoder.key", 2), length("input_ids", 1)
    total = graph.node("Add", [past, count])
    encodings = graph.tensor("positions", graph.weight("decoder/position_encodings/encodings"))
    state = graph.node("Add", [words, graph.node("Slice", [encodings, past, total, graph.ints(0)])])

    def numbers(start, end):
        bounds = [graph.node("Squeeze", [bound]) for bound in (start, end)]
        return graph.node("Range", [*bounds, graph.tensor("step", np.array(1, np.int64))])

    queries = graph.node("Unsqueeze", [numbers(past, total), graph.ints(1)])
    later = graph.node("Greater", [numbers(graph.ints(0), total), queries])
    mask = graph.node("Where", [later, graph.scalar(-1e9), graph.scalar(0)])

    encoded = [f"{layer}.encoder.{part}" for layer in range(layers) for part in ("key", "value")]
    computed = Graph(variables, int8, shape["heads"], graph.tensors, "computed.")
    for name in encoded:
        layer, _, part = name.split(".")
        attention = f"decoder/layer_{layer}/attention/linear_1"
        state_of_layer = computed.linear("encoder_hidden_states", attention, 0 if part == "key" else 1, 2)
        computed.split_heads(state_of_layer, size, f"computed.{name}")
    kept = [helper.make_node("Identity", [f"past_key_values.{name}"], [f"kept.{name}"]) for name in encoded]
    cross_shape = ["batch_size", shape["heads"], "encoder_sequence_length_out", head]
    graph.node(
        "If",
        ["use_cache_branch"],
        [f"cross.{name}" for name in encoded],
        then_branch=helper.make_graph(kept, "kept", [], [value(f"kept.{n}", FLOAT, cross_shape) for n in encoded]),
        else_branch=helper.make_graph(
            computed.nodes, "computed", [], [value(f"computed.{n}", FLOAT, cross_shape) for n in encoded]
        ),
    )
    # As in Optimum's exports: what the caller has already is not given back.
    end = graph.node("Where", ["use_cache_branch", graph.ints(0), graph.ints(1500)])
    for name in encoded:
        graph.node("Slice", [f"cross.{name}", graph.ints(0), end, graph.ints(2)], f"present.{name}")

    for layer in range(layers):
        name = f"decoder/layer_{layer}"
        normed = graph.norm(state, f"{name}/self_attention/layer_norm")
        query, key, values = (
            graph.split_heads(graph.linear(normed, f"{name}/self_attention/linear_0", part, 3), size) for part in range(3)
        )
        key, values = (
            graph.node("Concat", [f"past_key_values.{layer}.decoder.{part}", new], f"present.{layer}.decoder.{part}", axis=2)
            for part, new in (("key", key), ("value", values))
        )
        attended = graph.attention(query, key, values, size, mask)
        state = graph.node("Add", [state, graph.linear(attended, f"{name}/self_attention/linear_1")])

        normed = graph.norm(state, f"{name}/attention/layer_norm")
        query = graph.split_heads(graph.linear(normed, f"{name}/attention/linear_0"), size)
        cross = [f"cross.{layer}.encoder.{part}" for part in ("key", "value")]
        attended = graph.attention(query, *cross, size, shares=f"cross_attentions.{layer}")
        state = graph.node("Add", [state, graph.linear(attended, f"{name}/attention/linear_2")])
        state = graph.feed_forward(state, f"{name}/ffn")
    graph.product(graph.norm(state, "decoder/layer_norm"), "projection", table, output="logits")

    past_shape = ["batch_size", shape["heads"], "past_decoder_sequence_length", head]
    present_shape = ["batch_size", shape["heads"], "decoder_sequence_length", head]
    inputs = [
        value("input_ids", INT64, ["batch_size", "sequence_length"]),
        value("encoder_hidden_states", FLOAT, ["batch_size", "encoder_sequence_length", size]),
    ]
    outputs = [value("logits", FLOAT, ["batch_size", "sequence_length", len(table)])]
    for layer in range(layers):
        for side, before, after in (("decoder", past_shape, present_shape), ("encoder", cross_shape, cross_shape)):
            for part in ("key", "value"):
                inputs.append(value(f"past_key_values.{layer}.{side}.{part}", FLOAT, before))
                outputs.append(value(f"present.{layer}.{side}.{part}", FLOAT, after))
    outputs += [
        value(f"cross_attentions.{layer}", FLOAT, ["batch_size", shape["heads"], "sequence_length", 1500])
        for layer in range(layers)
    ]
    inputs.append(value("use_cache_branch", TensorProto.BOOL, [1]))
    return graph.model("whisper_decoder", inputs, outputs)


def configs(shape, vocabulary, given):
    """The JSON files of a model. English-only models have one token less."""
    english = vocabulary == 51864
    end = 50256 if english else 50257
    start = end + 1
    # After the start: the languages, translate, transcribe, the start of a prompt's text, its end, no speech, no timestamps.
    no_timestamps = vocabulary - 1501 - 1 if english else vocabulary - 1502
    tokens = {"bos_token_id": end, "eos_token_id": end, "pad_token_id": end, "decoder_start_token_id": start}
    config = {
        "model_type": "whisper",
        "architectures": ["WhisperForConditionalGeneration"],
        "is_encoder_decoder": True,
        "vocab_size": vocabulary,
        "d_model": shape["size"],
        "encoder_layers": shape["encoder_layers"],
        "encoder_attention_heads": shape["heads"],
        "decoder_layers": shape["decoder_layers"],
        "decoder_attention_heads": shape["heads"],
        "num_hidden_layers": shape["encoder_layers"],
        "num_mel_bins": shape["mels"],
        "max_source_positions": 1500,
        "max_target_positions": 448,
        **tokens,
    }
    generation = {
        **tokens,
        "is_multilingual": not english,
        "max_length": 448,
        "no_timestamps_token_id": no_timestamps,
        "prev_sot_token_id": no_timestamps - 2,
        "max_initial_timestamp_index": 50,
        "alignment_heads": given["alignment_heads"],
        "suppress_tokens": given["suppress_ids"],
        "begin_suppress_tokens": given["suppress_ids_begin"],
        "return_timestamps": False,
    }
    preprocessor = {
        "feature_extractor_type": "WhisperFeatureExtractor",
        "processor_class": "WhisperProcessor",
        "feature_size": shape["mels"],
        "sampling_rate": 16000,
        "chunk_length": 30,
        "n_samples": 480000,
        "nb_max_frames": 3000,
        "n_fft": 400,
        "hop_length": 160,
        "padding_side": "right",
        "padding_value": 0.0,
        "return_attention_mask": False,
    }
    special = dict.fromkeys(("bos_token", "eos_token", "unk_token", "pad_token"), "<|endoftext|>")
    tokenizer = {"tokenizer_class": "WhisperTokenizer", "add_prefix_space": False, **special}
    return {
        "config": config,
        "generation_config": generation,
        "preprocessor_config": preprocessor,
        "tokenizer_config": tokenizer,
    }


def main():
    source, target = map(pathlib.Path, sys.argv[1:])
    variables = read_ctranslate2(source / "model.bin")

    def layers(side):
        return len([name for name in variables if name.startswith(side) and name.endswith("/ffn/linear_0/weight")])

    vocabulary, size = variables["decoder/embeddings/weight"].shape
    shape = {
        "size": size,
        "heads": int(variables["encoder/num_heads"]),
        "mels": variables["encoder/conv1/weight"].shape[1],
        "encoder_layers": layers("encoder"),
        "decoder_layers": layers("decoder"),
    }
    (target / "onnx").mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source / "tokenizer.json", target / "tokenizer.json")
    for name, content in configs(shape, vocabulary, json.loads((source / "config.json").read_text())).items():
        (target / f"{name}.json").write_text(json.dumps(content, indent=2) + "\n")
    for int8, suffix in ((False, ""), (True, "_quantized")):
        for name, build in (("encoder_model", encoder), ("decoder_model_merged", decoder)):
            model = build(variables, int8, shape)
            (target / "onnx" / f"{name}{suffix}.onnx").write_bytes(model.SerializeToString(deterministic=True))


main()
