import { type FeatureExtractionPipeline, env, pipeline } from '@huggingface/transformers';
import { Wllama } from '@wllama/wllama';
import OpenAI from 'openai';
import { start } from '../../../src/index.ts';

/** The engines as a user without localtext would run them, and the same through /v1: each made once, on first use. */

export const CHAT_MODEL = 'amber-phoenix-4';
export const EMBEDDING_MODEL = 'jade-mole-4';

export const localtext = once(() => start());

export const openai = once(async () => {
  const { baseURL, keys } = await localtext();
  const { key } = await keys.issue({
    label: 'bench',
    limits: { requestsPerMinute: 1e6, tokensPerMinute: 1e9 },
  });
  return new OpenAI({ baseURL, apiKey: key, dangerouslyAllowBrowser: true, maxRetries: 0 });
});

export const rawChat = once(async () => {
  const url = '/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q8_0.gguf';
  const wllama = new Wllama({ default: '/localtext/wasm/wllama.wasm' }, { suppressNativeLog: true });
  const blob = await (await fetch(url)).blob();
  await wllama.loadModel([blob], { n_ctx: 8192, n_parallel: 4, kv_unified: true, n_gpu_layers: 0 });
  return wllama;
});

export const rawEmbedding = once(async (): Promise<FeatureExtractionPipeline> => {
  env.allowRemoteModels = false;
  env.allowLocalModels = true;
  env.localModelPath = '/models/';
  env.useBrowserCache = false;
  env.useCustomCache = true;
  // The graph's tensors lie in the safetensors file.
  env.customCache = {
    match: async (url: string) =>
      url.endsWith('/model.onnx_data') ? fetch('/models/all-minilm-l6-v2/model.safetensors') : undefined,
    put: async () => undefined,
  };
  const wasm = env.backends.onnx.wasm;
  if (wasm) {
    wasm.wasmPaths = '/localtext/wasm/';
    wasm.numThreads = navigator.hardwareConcurrency;
  }
  return pipeline('feature-extraction', 'all-minilm-l6-v2', {
    dtype: 'fp32',
    device: 'wasm',
    use_external_data_format: true,
  });
});

export interface Generation {
  firstTokenMs: number;
  /** From the first token to the last. */
  decodeMs: number;
  deltas: number;
  text: string;
}

type Messages = { role: 'user' | 'system' | 'assistant'; content: string }[];

export async function generateRaw(messages: Messages, maxTokens: number): Promise<Generation> {
  const wllama = await rawChat();
  return timed((onDelta) =>
    wllama.createChatCompletion({
      messages,
      max_tokens: maxTokens,
      temperature: 0,
      stream: true,
      onData: (chunk) => onDelta(chunk.choices[0]?.delta.content ?? ''),
    }),
  );
}

export async function generateThroughV1(messages: Messages, maxTokens: number): Promise<Generation> {
  const client = await openai();
  return timed(async (onDelta) => {
    const stream = await client.chat.completions.create({
      model: CHAT_MODEL,
      messages,
      max_tokens: maxTokens,
      temperature: 0,
      stream: true,
    });
    for await (const chunk of stream) onDelta(chunk.choices[0]?.delta.content ?? '');
  });
}

async function timed(generate: (onDelta: (text: string) => void) => Promise<void>): Promise<Generation> {
  const began = performance.now();
  let first = 0;
  let last = 0;
  let deltas = 0;
  let text = '';
  await generate((delta) => {
    if (delta === '') return;
    last = performance.now();
    first ||= last;
    deltas += 1;
    text += delta;
  });
  return { firstTokenMs: first - began, decodeMs: last - first, deltas, text };
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}
