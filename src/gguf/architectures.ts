/**
 * Architectures by their name in a GGUF. The three lists contain exactly the architectures that the llama.cpp of the
 * pinned wllama package knows; a test compares them.
 */

const names = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

/** Architectures that generate text from left to right. */
export const CHAT_ARCHITECTURES = names(`
  afmoe apertus arcee arctic arwkv7 baichuan bailingmoe bailingmoe2 bailingmoe3 beam bitnet bloom
  chameleon chatglm clover_moe codeshell cogvlm cohere2 cohere2moe command-r dbrx deci deepseek
  deepseek2 deepseek2-ocr deepseek32 deepseek4 deepseek41 dots1 dots3note ernie4_5 ernie4_5-moe exaone
  exaone-moe exaone4 falcon falcon-h1 flint gemma gemma2 gemma3 gemma3n gemma4 glm-dsa glm4 glm4moe
  glm5-next gpt-oss gpt2 gptneox granite granite_swa granitehybrid granitemoe graniteswitch grok
  grovemoe hrm_text hunyuan-dense hunyuan-moe hunyuan_vl hy_v3 hy_v4 internlm2 jais jais2 jamba
  k2-horizon kimi-k3 kimi-k31 kimi-linear kolibri1 laguna lfm2 lfm2moe lfm3 limite llama llama4
  maincoder maion-coder mamba mamba2 maple mellum metis16 mimo2 minicpm minicpm3 minimax-01 minimax-m2
  minimax-m3 mistral-large4 mistral3 mistral4 mpt muse-glimmer muse-spark nanbeige nemotron nemotron_h
  nemotron_h_moe olmo olmo2 olmoe openelm orion paddleocr pangu-embedded phi2 phi3 phimoe plamo plamo2
  plamo3 plm qwen qwen2 qwen2moe qwen2vl qwen3 qwen35 qwen35moe qwen3moe qwen3next qwen3vl qwen3vlmoe
  qwen4exp refact ricursive rwkv6 rwkv6qwen2 rwkv7 seed_oss sensenova_u1 smallthinker smollm3 spark2_5
  stablelm starcoder starcoder2 step35 talkie xing4_0 xverse
`);

/** Architectures that encode a text as a whole and have no KV cache: embedding models. */
export const ENCODERS = names(`
  bert eurobert gemma-embedding gemma-embedding2 jina-bert-v2 jina-bert-v3 llama-embed modern-bert neo-bert nomic-bert nomic-bert-moe
`);

const SPEAKS = 'a speech model';
const DRAFTS = 'a draft model, which speeds up another one';
const DECIDES = 'a decision model, which scores options and writes no text';
const DIFFUSES = 'a diffusion model, which does not write from left to right';

/** Architectures that are rejected, with what their files are instead of a chat or embedding model. */
export const REFUSED_ARCHITECTURES: ReadonlyMap<string, string> = new Map([
  ['clip', 'the image or audio part of a model, which is added together with it'],
  ['t5', 'a translation model'],
  ['t5encoder', 'the encoder of a translation model'],
  ['pockettts', SPEAKS],
  ['qwen3tts', SPEAKS],
  ['wavtokenizer-dec', SPEAKS],
  ['dflash', DRAFTS],
  ['eagle3', DRAFTS],
  ['gemma4-assistant', DRAFTS],
  ['clef', DECIDES],
  ['vllm-decision2', DECIDES],
  ['dream', DIFFUSES],
  ['llada', DIFFUSES],
  ['llada-moe', DIFFUSES],
  ['rnd1', DIFFUSES],
  ['gptj', 'one that llama.cpp names and cannot run'],
]);
