// Measures correct answers, size and speed of chat models.
//   name or --gguf name     a GGUF file, a pulled model or variant
//   --decisions             labelled texts; --texts 3, --methods chat, --gguf
//   --loops '{"minP":0.2}'  loops in long replies; may be repeated
import { parseArgs } from 'node:util';

import { loadModule } from './lib/load-module.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    decisions: { type: 'boolean', default: false },
    texts: { type: 'string', default: '1' },
    methods: { type: 'string', default: '' },
    gguf: { type: 'string', multiple: true, default: [] },
    loops: { type: 'string', multiple: true },
  },
});
const SMALLEST = 'public/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf';
const load = (path) => loadModule(`/tools/bench/quality/${path}.ts`);
const step = Number(values.texts);
const [gguf] = values.gguf;
if (values.decisions)
  await (await load('decisions/run')).measureDecisions({ methods: values.methods, gguf, step });
else if (values.loops) {
  const settings = values.loops.map((text) => JSON.parse(text));
  await (await load('loops')).measureLoops(gguf ?? SMALLEST, settings, step);
} else await (await load('run')).measureQuality([...positionals, ...values.gguf]);
process.exit(0);
