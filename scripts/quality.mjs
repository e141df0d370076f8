// How often the smallest chat model answers correctly, with and without its template's own text.
//   --weights q8_0          the file of earlier versions
//   --speech                word errors beside faster-whisper's; needs Python 3.11 and espeak-ng
//   --decisions             /v1/decisions on labelled texts; --texts 3, --methods chat, --gguf model.gguf
//   --loops '{"minP":0.2}'  how many long replies loop with these settings; more than once: compared
import { parseArgs } from 'node:util';
import { runnerImport } from 'vite';

const { values } = parseArgs({
  options: {
    weights: { type: 'string', default: 'q4_1' },
    speech: { type: 'boolean', default: false },
    decisions: { type: 'boolean', default: false },
    texts: { type: 'string', default: '1' },
    methods: { type: 'string', default: '' },
    gguf: { type: 'string' },
    loops: { type: 'string', multiple: true },
  },
});
const SMALLEST = 'public/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf';
const load = async (path) =>
  (await runnerImport(`/tools/bench/quality/${path}.ts`, { configFile: false, logLevel: 'warn' })).module;
if (values.speech) await (await load('speech/run')).measureSpeech();
else if (values.decisions)
  await (await load('decisions/run')).measureDecisions({ ...values, step: Number(values.texts) });
else if (values.loops) {
  const settings = values.loops.map((text) => JSON.parse(text));
  await (await load('loops')).measureLoops(values.gguf ?? SMALLEST, settings, Number(values.texts));
} else await (await load('run')).measureQuality(values.weights);
process.exit(0);
