// How often the smallest chat model answers correctly, with and without its template's own text; `-- --weights q4_1` for
// the other file. `-- --speech`: word errors and times of the speech model, beside faster-whisper's; it needs Python 3.11 and
// espeak-ng. Run by hand: each takes some ten minutes.
import { parseArgs } from 'node:util';
import { runnerImport } from 'vite';

const { values } = parseArgs({
  options: { weights: { type: 'string', default: 'q8_0' }, speech: { type: 'boolean', default: false } },
});
const load = async (path) =>
  (await runnerImport(`/tools/bench/quality/${path}.ts`, { configFile: false, logLevel: 'warn' })).module;
if (values.speech) await (await load('speech/run')).measureSpeech();
else await (await load('run')).measureQuality(values.weights);
process.exit(0);
