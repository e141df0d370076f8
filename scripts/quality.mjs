// Measures correct answers, size and speed of chat models.
//   name or --gguf name     a GGUF file, a pulled model or variant
//   --tools                 choices of tools, by the model and with a `toolChooser`
//   --loops '{"minP":0.2}'  loops in long replies; may be repeated. --texts 3: of each third question
import { parseArgs } from 'node:util';

import { loadModule } from './lib/load-module.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    texts: { type: 'string', default: '1' },
    gguf: { type: 'string', multiple: true, default: [] },
    tools: { type: 'boolean', default: false },
    loops: { type: 'string', multiple: true },
  },
});
const SMALLEST = 'public/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf';
const load = (path) => loadModule(`/tools/bench/quality/${path}.ts`);
const step = Number(values.texts);
const [gguf] = values.gguf;
if (values.loops) {
  const settings = values.loops.map((text) => JSON.parse(text));
  await (await load('loops')).measureLoops(gguf ?? SMALLEST, settings, step);
} else if (values.tools) {
  const models = ['amber-phoenix-4', ...positionals, ...values.gguf];
  await (await load('tool-choice')).measureToolChoice(models, step);
} else await (await load('run')).measureQuality([...positionals, ...values.gguf]);
process.exit(0);
