// How often the smallest chat model answers correctly, with and without its template's own text; `-- --weights q4_1` for
// the other file. Run by hand: it takes some ten minutes.
import { parseArgs } from 'node:util';
import { runnerImport } from 'vite';

const { values } = parseArgs({ options: { weights: { type: 'string', default: 'q8_0' } } });
const { module } = await runnerImport('/test/quality/run.ts', { configFile: false, logLevel: 'warn' });
await module.measureQuality(values.weights);
process.exit(0);
