import { NativeLog, serverCalls } from '../../../src/worker/runtimes/llama-cpp/internals/server-calls.ts';
import { proveTaking } from '../../../src/worker/runtimes/llama-cpp/internals/worker-proxy.ts';
import { loadRawChat } from '../../../tools/bench/page/raw-chat.ts';
import { observeCalls } from '../llama-calls/observe-calls.ts';

declare global {
  interface Window {
    /** Loads llama.cpp's server without the library, but in the library's own worker, and uses it as the library does. */
    observeLlama(): ReturnType<typeof observeCalls>;
    /**
     * Completes prompts without anything in common, so that each one's state is saved; then one with a JSON schema.
     * `dropped`: states that llama.cpp dropped for its limit in tokens.
     */
    saveStates(prompts: number): Promise<{ dropped: number; json: string }>;
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

window.saveStates = async (prompts) => {
  let dropped = 0;
  const log = {
    debug: () => undefined,
    log: () => undefined,
    error: () => undefined,
    warn: (...parts: unknown[]) => void (String(parts).includes('token limit') && dropped++),
  };
  const wllama = await loadRawChat('ours', 1, (name) => `/localtext/wasm/${name}`, log);
  const calls = serverCalls(wllama, new NativeLog(), false);
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
    return { dropped, json };
  } finally {
    await wllama.exit();
  }
};
