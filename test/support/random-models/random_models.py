"""
Small models with random weights: `random_models.py FOLDER ARCHITECTURE...`. llama.cpp itself names the tensors and their
shapes; only the keys of a header are given here. Prints a line of JSON for each that could not be made, with its problem.
"""

import array
import ctypes
import json
import os
import random
import struct
import sys

import xllamacpp

folder = os.path.dirname(xllamacpp.__file__)
llama = ctypes.CDLL(os.path.join(folder, next(name for name in os.listdir(folder) if name.startswith("xllamacpp."))))


class Opaque(ctypes.Structure):
    """Parameters that are passed by value as they come: larger than any of llama.cpp's."""

    _fields_ = [("bytes", ctypes.c_char * 1024)]


LOG = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
FILL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
for name, result, arguments in [
    ("llama_log_set", None, [LOG, pointer]),
    ("llama_model_default_params", Opaque, []),
    ("llama_model_init_from_user", pointer, [pointer, FILL, pointer, Opaque]),
    ("gguf_init_empty", pointer, []),
    ("gguf_set_val_u32", None, [pointer, text, ctypes.c_uint32]),
    ("gguf_set_val_f32", None, [pointer, text, ctypes.c_float]),
    ("gguf_set_val_bool", None, [pointer, text, ctypes.c_bool]),
    ("gguf_set_val_str", None, [pointer, text, text]),
    ("gguf_set_arr_data", None, [pointer, text, ctypes.c_int, pointer, number]),
    ("gguf_set_arr_str", None, [pointer, text, ctypes.POINTER(text), number]),
    ("gguf_add_tensor", None, [pointer, pointer]),
    ("gguf_write_to_file", ctypes.c_bool, [pointer, text, ctypes.c_bool]),
    ("ggml_get_data", pointer, [pointer]),
    ("ggml_get_name", text, [pointer]),
    ("ggml_nbytes", number, [pointer]),
    ("ggml_nelements", ctypes.c_int64, [pointer]),
]:
    function = getattr(llama, name)
    function.restype, function.argtypes = result, arguments

GGUF_TYPES = {"I": 4, "i": 5, "f": 6, "B": 7, "Q": 10}
MIXTURES = set(
    """llama4 cohere2moe qwen2moe qwen3moe qwen3next qwen3vlmoe qwen35moe qwen4exp phimoe dbrx olmoe arctic deepseek
    deepseek2 deepseek2-ocr deepseek32 deepseek4 glm4moe glm-dsa exaone-moe bailingmoe bailingmoe2 bailingmoe3 dots1 dots3note
    afmoe ernie4_5-moe hunyuan-moe hy_v3 gpt-oss lfm2moe smallthinker grovemoe minimax-m2 minimax-m3 minimax-01
    mimo2 kimi-linear kimi-k3 step35 mistral4 mellum laguna nemotron_h_moe granitemoe maple jamba nomic-bert-moe""".split()
)
LATENT = set(
    "deepseek2 deepseek32 glm-dsa dots3note kimi-linear bailingmoe3 kimi-k3 mistral4".split()
)
#: Every second layer of these has no attention.
HYBRID = set(
    "plamo2 jamba nemotron_h nemotron_h_moe granitehybrid lfm2 lfm2moe kimi-linear bailingmoe3 kimi-k3".split()
)
#: Windows of these are given layer by layer.
WINDOWS = set("cohere2moe mimo2 step35 muse-glimmer granite_swa dots3note maple".split())


def bytes_of_gpt2():
    """The 256 tokens of single bytes, as GPT-2's tokenizer spells them."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return [chr(byte) for byte in plain] + [chr(256 + i) for i in range(len(others))]


def header(arch):
    layers, heads, width, inner = 2, 2, 128, 192
    if arch == "llama4":
        layers = 4
    elif arch == "gemma4":
        layers = 5
    elif arch == "gemma3n":
        layers, heads, width, inner = 22, 1, 64, 96
    elif arch == "deepseek4":
        layers, heads, width, inner = 4, 8, 512, 512
    elif arch in ("nemotron_h", "nemotron_h_moe"):
        layers = 3
    elif arch in LATENT:
        heads = 1
    size = width // heads
    is_mixture = arch in MIXTURES
    per_layer = [0 if layer == 1 else heads for layer in range(layers)]
    tokens = bytes_of_gpt2() + ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]
    kinds = [1] * 256 + [3] * 3
    keys = {
        "context_length": 512,
        "embedding_length": width,
        "features_length": width,
        "block_count": layers,
        "leading_dense_block_count": 1 if is_mixture else 0,
        "feed_forward_length": [0, 0, inner] if arch.startswith("nemotron_h") else inner,
        "vocab_size": len(tokens),
        "use_parallel_residual": False,
        "logit_scale": 1.0,
        "time_mix_extra_dim": 32,
        "time_decay_extra_dim": 64,
        "full_attention_interval": 2,
        "residual_scale": 1.0,
        "embedding_scale": 1.0,
        "attention.head_count": per_layer if arch in HYBRID else heads,
        "attention.head_count_kv": 1 if arch == "deepseek4" else per_layer if arch in HYBRID else heads,
        "attention.max_alibi_bias": 8.0,
        "attention.clamp_kqv": 1.0,
        "attention.layer_norm_epsilon": 1e-5,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "attention.group_norm_epsilon": 1e-5,
        "attention.group_norm_groups": 8,
        "attention.q_lora_rank": 64,
        "attention.kv_lora_rank": 512 if arch in LATENT else 64,
        "attention.relative_buckets_count": 8,
        "attention.sliding_window": 32,
        "attention.sliding_window_pattern": [layer % 2 for layer in range(layers)] if arch in WINDOWS else 2,
        "attention.indexer.head_count": heads if arch == "minimax-m3" else 64,
        "attention.indexer.key_length": size if arch == "qwen4exp" else 64,
        "attention.indexer.top_k": 8,
        "attention.indexer.block_size": 4,
        "attention.indexer.local_blocks": 1,
        "rope.dimension_sections": array.array("i", [size // 4] * 4),
        "ssm.inner_size": width if arch in ("qwen3next", "qwen35", "qwen35moe", "qwen4exp") else 2 * width,
        "ssm.conv_kernel": 4,
        "ssm.state_size": 64,
        "ssm.time_step_rank": heads,
        "ssm.group_count": 0 if arch == "plamo2" else 2,
        "kda.head_dim": 64,
        "kda.safe_gate": True,
        "kda.gate_lower_bound": -5.0,
        "wkv.head_size": size,
        "shortconv.l_cache": 3,
        "attn_res.block_size": 12,
        "activation.situ_beta": 4.0,
        "activation.situ_linear_beta": 25.0,
    }
    if is_mixture:
        keys |= {
            "expert_feed_forward_length": inner,
            "expert_shared_feed_forward_length": inner,
            "expert_latent_length": inner,
            "interleave_moe_layer_step": 2,
            "expert_count": 2,
            "expert_used_count": 1,
            "expert_shared_count": 1,
            "expert_gating_func": 4 if arch == "deepseek4" else 2,
            "expert_group_scale": 1.0,
            "experts_per_group": 1,
        }
    if arch in LATENT:
        keys |= {
            "attention.key_length": 576,
            "attention.value_length": 512,
            "rope.dimension_count": 64,
            "attention.key_length_mla": 192,
            "attention.value_length_mla": 128,
        }
    if "bert" in arch or "embed" in arch:
        keys |= {"attention.causal": False, "pooling_type": 1, "moe_every_n_layers": 2}
    keys |= OWN.get(arch, {})
    return {f"{arch}.{key}": value for key, value in keys.items()} | {
        "xielu.alpha_n": 1.0,
        "xielu.alpha_p": 1.0,
        "xielu.beta": 1.0,
        "xielu.eps": 1e-7,
        "general.architecture": arch,
        "general.name": "random weights",
        "general.license": "cc0-1.0",
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": array.array("i", kinds),
        "tokenizer.ggml.merges": ["a b"],
        "tokenizer.ggml.eos_token_id": 257,
        "tokenizer.ggml.bos_token_id": 258,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.ggml.token_type_count": 2,
        "tokenizer.chat_template": "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content }}"
        "{{ '<|im_end|>\n' }}{% endfor %}{{ '<|im_start|>assistant\n' }}",
    }


RWKV7 = {
    "attention.decay_lora_rank": 32,
    "attention.iclr_lora_rank": 32,
    "attention.value_residual_mix_lora_rank": 32,
    "attention.gate_lora_rank": 32,
}
#: Keys that one architecture alone has, or has otherwise.
OWN = {
    "bailingmoe3": {"rope.dimension_sections": array.array("i", [8, 8, 8, 8])},
    "arwkv7": {**RWKV7, "token_shift_count": 1},
    "rwkv7": RWKV7,
    "dots3note": {
        "attention.kv_lora_rank_swa": 512,
        "attention.key_length_swa": 576,
        "attention.value_length_swa": 512,
        "attention.key_length_mla_swa": 192,
        "attention.value_length_mla_swa": 128,
        "rope.freq_base_swa": 10000.0,
        "attention.indexer.types": [1, 0],
    },
    "gemma4": {
        "embedding_length_per_layer_input": 64,
        "attention.shared_kv_layers": 0,
        "attention.key_length_swa": 64,
        "attention.value_length_swa": 64,
        "rope.freq_base_swa": 10000.0,
        "attention.sliding_window_pattern": array.array("B", [1, 1, 1, 1, 0]),
    },
    "spark2_5": {"attention.sliding_window_pattern": array.array("B", [1, 0])},
    "maple": {"swiglu_clamp_exp": 7.0},
    "hrm_text": {"hrm.layers_per_stack": 1, "hrm.h_cycles": 1, "hrm.l_cycles": 1},
    "graniteswitch": {
        "adapters.count": 1,
        "adapters.lora_rank": 4,
        "adapters.token_ids_activate": array.array("i", [100]),
        "adapters.token_ids_substitute": array.array("i", [101]),
    },
    "qwen4exp": {
        "rope.dimension_count": 32,
        "rope.dimension_sections": array.array("i", [6, 5, 5, 0]),
        "hyper_connection.count": 4,
        "hyper_connection.low_rank": 8,
        "attention.compress_ratios": [4, 4],
        "ple.layers": [0],
        "ple.ngram_size": 3,
        "ple.heads_per_ngram": 2,
        "ple.conv_kernel": 4,
        "ple.eos_token_id": 0,
        "ple.layer_multipliers": array.array("Q", [1, 3, 5]),
        "ple.head_offsets": array.array("Q", [0, 259, 518, 777]),
        "ple.head_vocab_sizes": array.array("Q", [259] * 4),
        "embedding_length_per_layer_input": 32,
    },
    "deepseek4": {
        "attention.key_length": 64,
        "attention.value_length": 64,
        "rope.dimension_count": 32,
        "attention.output_group_count": 8,
        "attention.output_lora_rank": 32,
        "attention.compress_ratios": [0, 0, 4, 128],
        "attention.compress_rope_freq_base": 160000.0,
        "hyper_connection.count": 4,
        "hyper_connection.sinkhorn_iterations": 2,
        "hyper_connection.epsilon": 1e-6,
        "hash_layer_count": 0,
        "swiglu_clamp_exp": 10.0,
        "expert_weights_scale": 1.0,
        "expert_weights_norm": True,
    },
}


def write_keys(gguf, keys):
    for key, value in keys.items():
        name = key.encode()
        if isinstance(value, bool):
            llama.gguf_set_val_bool(gguf, name, value)
        elif isinstance(value, int):
            llama.gguf_set_val_u32(gguf, name, value)
        elif isinstance(value, float):
            llama.gguf_set_val_f32(gguf, name, value)
        elif isinstance(value, str):
            llama.gguf_set_val_str(gguf, name, value.encode())
        elif isinstance(value[0], str):
            texts = (text * len(value))(*[each.encode() for each in value])
            llama.gguf_set_arr_str(gguf, name, texts, len(value))
        else:
            data = value if isinstance(value, array.array) else array.array("I", value)
            llama.gguf_set_arr_data(gguf, name, GGUF_TYPES[data.typecode], data.buffer_info()[0], len(data))


random.seed(1)
NOISE = [random.gauss(0, 0.05) for _ in range(1 << 16)]
#: By the bytes of a value.
FILLINGS = {
    bytes_each: {
        is_norm: struct.pack(f"{len(values)}{code}", *values) for is_norm, values in [(False, NOISE), (True, [1.0] * 4096)]
    }
    for bytes_each, code in [(4, "f"), (2, "e")]
}


def make(arch, path):
    """Why there is no such model; None: its file was written."""
    told = []
    keys = header(arch)
    gguf = llama.gguf_init_empty()
    write_keys(gguf, keys)
    whole = llama.gguf_init_empty()
    write_keys(whole, keys)
    names = set()

    @LOG
    def log(_level, message, _data):
        told.append(message.decode(errors="replace"))

    @FILL
    def fill(tensor, _):
        """Noise, and 1 for norms."""
        name, size = llama.ggml_get_name(tensor), llama.ggml_nbytes(tensor)
        data = FILLINGS[size // llama.ggml_nelements(tensor)][b"norm" in name]
        ctypes.memmove(llama.ggml_get_data(tensor), data * (size // len(data) + 1), size)
        # Weights that two layers share come twice; those of a classifier make a reranker.
        if name not in names and not name.startswith(b"cls"):
            llama.gguf_add_tensor(whole, tensor)
        names.add(name)

    llama.llama_log_set(log, None)
    if not llama.llama_model_init_from_user(gguf, fill, None, llama.llama_model_default_params()):
        return "".join(told).strip().split("\n")[-2:]
    llama.gguf_write_to_file(whole, path.encode(), False)
    return None


os.environ["GGML_NO_BACKTRACE"] = "1"
target, *names = sys.argv[1:]
for arch in names:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        problem = make(arch, os.path.join(target, f"{arch}.gguf"))
        os.write(writer, json.dumps(problem).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        told = answer.read()
    _, status = os.waitpid(child, 0)
    problem = json.loads(told) if told else f"llama.cpp ended with status {status}"
    if problem is not None:
        print(json.dumps({"name": arch, "problem": problem}), flush=True)
