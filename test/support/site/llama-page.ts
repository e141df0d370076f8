import { NativeLog, serverCalls } from '../../../src/worker/runtimes/llama-cpp/internals/server-calls.ts';
import {
  limitPromptStates,
  proveTaking,
} from '../../../src/worker/runtimes/llama-cpp/internals/worker-proxy.ts';
import { loadRawChat } from '../../bench/page/raw-chat.ts';
import { observeCalls } from '../llama-calls/observe-calls.ts';

declare global {
  interface Window {
    /** Loads llama.cpp's server without the library, but in the library's own worker, and uses it as the library does. */
    observeLlama(): ReturnType<typeof observeCalls>;
    /** Completes prompts without anything in common, so that each one's state is saved, under a limit in bytes. */
    saveStates(
      prompts: number,
      limit: number,
    ): Promise<{ grownBytes: number; isLimited: boolean; replies: number }>;
  }
}

window.observeLlama = async () => {
  const wllama = await loadRawChat('ours', 1, (name) => `/localtext/wasm/${name}`);
  const canTake = await proveTaking(wllama, 4);
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

window.saveStates = async (prompts, limit) => {
  const log = new NativeLog();
  const wllama = await loadRawChat('ours', 1, (name) => `/localtext/wasm/${name}`, log);
  const calls = serverCalls(wllama, log, false);
  const complete = async (prompt: string): Promise<number> => {
    const id = await calls.begin({
      stream: true,
      prompt,
      n_predict: 1,
      temperature: 0,
      ignore_eos: true,
      cache_prompt: true,
    });
    let texts = 0;
    for (let more = true; more;) {
      const result = await calls.step(id);
      texts += result.chunks.filter(({ choices }) => choices?.[0]?.text).length;
      ({ more } = result);
    }
    return texts;
  };
  try {
    await complete('a');
    const before = await limitPromptStates(wllama, limit);
    let replies = 0;
    for (let index = 0; index < prompts; index++)
      replies += await complete(`${index} ${String.fromCharCode(97 + (index % 26))}`.repeat(12));
    return {
      grownBytes: (await limitPromptStates(wllama, limit)) - before,
      isLimited: log.limitedStates,
      replies,
    };
  } finally {
    await wllama.exit();
  }
};
