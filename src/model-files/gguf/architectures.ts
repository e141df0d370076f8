/**
 * Architectures that generate text, by their names in a GGUF, as far as the llama.cpp of the pinned @wllama/wllama has
 * them. A test looks for each name in its WASM file.
 */
export const CHAT_ARCHITECTURES: ReadonlySet<string> = new Set(
  `afmoe apertus arcee arctic arwkv7 baichuan bailingmoe bailingmoe2 bitnet bloom chameleon chatglm codeshell cogvlm
  cohere2 cohere2moe command-r dbrx deci deepseek deepseek2 dots1 ernie4_5 ernie4_5-moe exaone exaone-moe exaone4
  falcon falcon-h1 gemma gemma2 gemma3 gemma3n gemma4 glm-dsa glm4 glm4moe gpt-oss gpt2 gptj gptneox granite
  granitehybrid granitemoe grok grovemoe hunyuan-dense hunyuan-moe internlm2 jais jais2 jamba kimi-linear lfm2 lfm2moe
  llama llama4 maincoder mamba mamba2 mimo2 minicpm minicpm3 minimax-m2 mistral3 mistral4 mpt nanbeige nemotron
  nemotron_h nemotron_h_moe olmo olmo2 olmoe openelm orion paddleocr pangu-embedded phi2 phi3 phimoe plamo plamo2
  plamo3 plm qwen qwen2 qwen2moe qwen2vl qwen3 qwen35 qwen35moe qwen3moe qwen3next qwen3vl qwen3vlmoe refact rnd1
  rwkv6 rwkv6qwen2 rwkv7 sarvam-moe seed_oss smallthinker smollm3 stablelm starcoder starcoder2 step35 talkie
  xverse`.split(/\s+/),
);

/** What a file of another architecture is, for those that are often confused with chat models. */
export const OTHER_ARCHITECTURES: ReadonlyMap<string, string> = new Map([
  ['clip', 'the image or audio part of a model'],
  ['t5', 'a translation model'],
  ...`t5encoder gemma-embedding llama-embed bert modern-bert nomic-bert nomic-bert-moe neo-bert jina-bert-v2
  jina-bert-v3 eurobert`
    .split(/\s+/)
    .map((name): [string, string] => [name, 'an embedding model']),
]);
