"""`tokenizer.py <GGUF file> <folder>`: writes the tokenizer of a GGUF file as the one of transformers."""

import sys

from gguf import GGUFReader
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

source, folder = sys.argv[1:]
fields = GGUFReader(source).fields
tokens = fields["tokenizer.ggml.tokens"].contents()
merges = [tuple(pair.split(" ")) for pair in fields["tokenizer.ggml.merges"].contents()]
tokenizer = Tokenizer(models.BPE({token: index for index, token in enumerate(tokens)}, merges))
tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
    [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
)
tokenizer.decoder = decoders.ByteLevel()
PreTrainedTokenizerFast(
    tokenizer_object=tokenizer, bos_token="<|im_start|>", eos_token="<|im_end|>"
).save_pretrained(folder)
