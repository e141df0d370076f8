// How often the smallest chat model answers correctly, with and without its template's own text; `-- --weights q8_0`: the file
// of earlier versions. `-- --speech`: word errors beside faster-whisper's; it needs Python 3.11 and espeak-ng.
// `-- --decisions`: /v1/decisions on labelled texts; `--texts 3`: a third of them; `--methods chat`: those whose names begin
// so; `--gguf model.gguf`: another model.
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
  },
});
const load = async (path) =>
  (await runnerImport(`/tools/bench/quality/${path}.ts`, { configFile: false, logLevel: 'warn' })).module;
if (values.speech) await (await load('speech/run')).measureSpeech();
else if (values.decisions)
  await (await load('decisions/run')).measureDecisions({ ...values, step: Number(values.texts) });
else await (await load('run')).measureQuality(values.weights);
process.exit(0);
