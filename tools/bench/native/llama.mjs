// Native llama.cpp in its own process: node llama.mjs <folder with node_modules> <GGUF> <threads>. A message with a
// number of tokens is answered with tokens a second, from the first to the last.
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
const prompt = model.tokenize(
  '<|im_start|>user\nWrite a story about a fox and a crow.<|im_end|>\n<|im_start|>assistant\n',
  true,
);

process.on('message', async (count) => {
  await sequence.clearHistory();
  let tokens = 0;
  let first = 0;
  let last = 0;
  for await (const _ of sequence.evaluate(prompt, { temperature: 0 })) {
    last = performance.now();
    first ||= last;
    tokens++;
    if (tokens === count) break;
  }
  process.send((tokens - 1) / ((last - first) / 1000));
});
process.send('ready');
