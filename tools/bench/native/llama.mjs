// Native llama.cpp in its own process: node llama.mjs <folder with node_modules> <GGUF> <threads>. A message with a
// number of tokens is answered with tokens a second, from the first to the last; one with a text, with the milliseconds
// until its first token.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [, , folder, modelPath, threads] = process.argv;
const entry = createRequire(pathToFileURL(join(folder, 'package.json'))).resolve('node-llama-cpp');
const { getLlama, LlamaLogLevel } = await import(pathToFileURL(entry).href);

const llama = await getLlama({ gpu: false, build: 'never', logLevel: LlamaLogLevel.error });
const model = await llama.loadModel({ modelPath });
const context = await model.createContext({ contextSize: 8192, threads: Number(threads) });
const sequence = context.getSequence();
const promptOf = (text) =>
  model.tokenize(
    `<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n<|im_start|>user\n${text}<|im_end|>\n<|im_start|>assistant\n`,
    true,
  );

/** Times at which the tokens came. */
async function timesOf(text, count) {
  await sequence.clearHistory();
  const times = [];
  for await (const _ of sequence.evaluate(promptOf(text), { temperature: 0 })) {
    times.push(performance.now());
    if (times.length === count) break;
  }
  return times;
}

process.on('message', async (request) => {
  if (typeof request === 'string') {
    const began = performance.now();
    process.send((await timesOf(request, 1))[0] - began);
    return;
  }
  const times = await timesOf('Write a story about a fox and a crow.', request);
  process.send((times.length - 1) / ((times.at(-1) - times[0]) / 1000));
});
process.send('ready');
