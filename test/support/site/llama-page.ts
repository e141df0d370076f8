import { NativeLog } from '../../../src/worker/runtimes/llama-cpp/native-log.ts';
import { serverCalls } from '../../../src/worker/runtimes/llama-cpp/server-calls.ts';
import { findSlots } from '../../../src/worker/runtimes/llama-cpp/worker-proxy.ts';
import { loadRawChat } from '../../bench/page/raw-chat.ts';
import { observeCalls } from '../llama-calls/observe-calls.ts';

declare global {
  interface Window {
    /** Loads llama.cpp's server without the library, but in the library's own worker, and uses it as the library does. */
    observeLlama(): ReturnType<typeof observeCalls>;
  }
}

window.observeLlama = async () => {
  const wllama = await loadRawChat('ours', 1, (name) => `/localtext/wasm/${name}`);
  const canTake = await findSlots(wllama, 4);
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
  };
  try {
    return await observeCalls(serverCalls(wllama, new NativeLog(), canTake), requests);
  } finally {
    await wllama.exit();
  }
};
