import { Wllama } from '@wllama/wllama';

import type { LlamaTimings } from '../../../src/llama/chunk.ts';
import { NativeLog, serverCalls } from '../../../src/llama/internals/server-calls.ts';
import { type StateLimits, useBuild, useWorkerFile } from '../../../src/llama/internals/worker-proxy.ts';
import { noCache } from '../../../src/llama/open-llama.ts';
import { chooseBuild } from '../../../src/engines/wllama/wasm-build.ts';
import { loadRawChat, SILENT } from '../../../tools/bench/page/raw-chat.ts';
import { summarize } from '../../../tools/bench/row.ts';
import { observeCalls } from '../llama-calls/observe-calls.ts';
import { engineFileName } from '../../../src/engine-kit/engine-file.ts';

/** Scores of some tokens, and how fast the prompt and the median token were computed. */
interface Scored {
  /** JSON of each token's own log probability and those of the likeliest five. */
  scores: string[];
  prefillPerSecond: number;
  decodePerSecond: number;
}

declare global {
  interface Window {
    /** Completes a prompt by itself. @returns its tokens one by one, and how many of them were drafted and right */
    draftTokens(options: {
      gguf: string;
      drafts: boolean;
      fields: Record<string, unknown>;
    }): Promise<{ tokens: string[]; accepted: number }>;
    /** Completes a prompt with log probabilities, in the WASM of this folder. */
    scoreTokens(folder: string, gguf: string, tokens: number): Promise<Scored>;
    /** Loads llama.cpp's server without the library, but in the library's own worker, and uses it as the library does. */
    observeLlama(): ReturnType<typeof observeCalls>;
    /**
     * Completes prompts without anything in common, so that each one's state is saved; then one with a JSON schema.
     * `dropped`: states that llama.cpp dropped for its limit in tokens; `outgrown`: for that in bytes.
     */
    saveStates(
      prompts: number,
      limits?: StateLimits,
    ): Promise<{ dropped: number; outgrown: number; json: string }>;
  }
}

const PROMPT = 'The sea is wide, and the ships that cross it carry grain, iron, letters and people. '.repeat(
  5,
);

const own = (name: string): string => `/localtext/wasm/${engineFileName(name)}`;

/** The library's worker for the package's WASM, which lacks the kernels that the worker names. */
async function withoutKernels(name: string): Promise<string> {
  const script = await (await fetch(own(name))).text();
  const plain = script.replace(/^self\.KERNELS_VERSION = .*$/m, '');
  return URL.createObjectURL(new Blob([plain], { type: 'text/javascript' }));
}

window.scoreTokens = async (folder, gguf, tokens) => {
  const { signal } = new AbortController();
  const isPackage = folder === '/package';
  const build = await chooseBuild({
    wasm: (name) =>
      isPackage && name.endsWith('.wasm') ? new URL(`/package/${name}`, location.href).href : own(name),
    signal,
  });
  const worker = isPackage && (await withoutKernels(build.compat ? 'wllama-compat.js' : 'wllama-worker.js'));
  const wllama = new Wllama({ default: build.wasm }, { cacheManager: noCache(), logger: SILENT });
  useBuild(wllama, build);
  useWorkerFile(wllama, (name) => worker || own(name));
  const options = { n_ctx: 1024, n_threads: 1, n_gpu_layers: 0, n_batch: 16, n_ubatch: 16, warmup: false };
  const cache = { cache_type_k: 'q8_0', cache_type_v: 'q8_0', flash_attn: true } as const;
  await wllama.loadModel([await (await fetch(gguf)).blob()], { ...options, ...cache });
  const calls = serverCalls(wllama, new NativeLog());
  const fields = { prompt: PROMPT, n_predict: tokens, n_probs: 5, temperature: 0, ignore_eos: true };
  try {
    const id = await calls.begin({ stream: true, timings_per_token: true, ...fields });
    const scores: string[] = [];
    // WebKit with two processors stops in one step until it has compiled a function.
    const steps: number[] = [];
    let timings: LlamaTimings | undefined;
    for (let more = true; more;) {
      const start = performance.now();
      const result = await calls.step(id);
      if (result.chunks.length > 0) steps.push(performance.now() - start);
      ({ more } = result);
      for (const chunk of result.chunks) {
        timings = chunk.timings ?? timings;
        for (const { token, logprob, top_logprobs } of chunk.choices?.[0]?.logprobs?.content ?? [])
          scores.push(JSON.stringify([token, logprob, top_logprobs?.map((top) => [top.token, top.logprob])]));
      }
    }
    const { prompt_n: tokensRead = 0, prompt_ms: ms = 0 } = timings ?? {};
    return {
      scores,
      prefillPerSecond: (tokensRead / ms) * 1000,
      decodePerSecond: 1000 / summarize(steps).median,
    };
  } finally {
    await wllama.exit();
  }
};

window.draftTokens = async ({ gguf, drafts, fields }) => {
  const wllama = new Wllama({ default: own('wllama.wasm') }, { cacheManager: noCache(), logger: SILENT });
  useWorkerFile(wllama, own);
  const options = { n_ctx: 1024, n_threads: 1, n_gpu_layers: 0, n_batch: 16, n_ubatch: 16, warmup: false };
  const cache = { cache_type_k: 'q8_0', cache_type_v: 'q8_0', flash_attn: true } as const;
  await wllama.loadModel([await (await fetch(gguf)).blob()], { ...options, ...cache });
  const calls = serverCalls(wllama, new NativeLog());
  try {
    const id = await calls.begin({ stream: true, ...fields });
    const tokens: string[] = [];
    let accepted = 0;
    for (let more = true; more;) {
      const result = await calls.step(id, drafts);
      ({ more } = result);
      for (const { choices, timings } of result.chunks) {
        tokens.push(choices?.[0]?.text ?? '');
        accepted = timings?.draft_n_accepted ?? accepted;
      }
    }
    return { tokens, accepted };
  } finally {
    await wllama.exit();
  }
};

window.observeLlama = async () => {
  const wllama = await loadRawChat('ours', 1, own);
  const ask = (words: number) => (tokens: number) => ({
    stream: true,
    prompt: 'The sea. '.repeat(words),
    n_predict: tokens,
    temperature: 0,
    ignore_eos: true,
    cache_prompt: false,
  });
  const requests = {
    short: ask(2),
    // Three tokens each; 16 are computed in a step.
    long: ask(60),
    refused: { ...ask(2)(1), grammar: 'root ::= (' },
    tooLong: ask(4000)(0),
  };
  try {
    return await observeCalls(serverCalls(wllama, new NativeLog()), requests);
  } finally {
    await wllama.exit();
  }
};

window.saveStates = async (prompts, limits) => {
  let dropped = 0;
  let outgrown = 0;
  const log = {
    debug: () => undefined,
    log: () => undefined,
    error: () => undefined,
    warn(...parts: unknown[]) {
      if (String(parts).includes('token limit')) dropped++;
      if (String(parts).includes('making room')) outgrown++;
    },
  };
  const wllama = await loadRawChat('ours', 1, own, { logger: log, limits });
  const calls = serverCalls(wllama, new NativeLog());
  const complete = async (fields: Record<string, unknown>): Promise<string> => {
    const id = await calls.begin({ stream: true, temperature: 0, cache_prompt: true, ...fields });
    let text = '';
    for (let more = true; more;) {
      const result = await calls.step(id);
      text += result.chunks.map(({ choices }) => choices?.[0]?.text ?? '').join('');
      ({ more } = result);
    }
    return text;
  };
  try {
    for (let index = 0; index < prompts; index++) {
      const prompt = `${index} ${String.fromCharCode(97 + (index % 26))} `.repeat(200);
      await complete({ prompt, n_predict: 1, ignore_eos: true });
    }
    const json = await complete({
      prompt: 'A person:',
      n_predict: 100,
      json_schema: { type: 'object', properties: { name: { enum: ['a', 'b'] } }, required: ['name'] },
    });
    return { dropped, outgrown, json };
  } finally {
    await wllama.exit();
  }
};
