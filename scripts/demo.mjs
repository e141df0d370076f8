// dist/demo: the playground as static files for a host that sends no headers. --base is the path that it is served below.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { build } from 'vite';

const { values } = parseArgs({
  options: { base: { type: 'string', default: '/' }, 'no-weights': { type: 'boolean', default: false } },
});
const folder = resolve('dist/demo');

await build({ base: values.base, logLevel: 'warn', build: { outDir: folder } });
// GitHub Pages would leave out files that begin with an underscore.
writeFileSync(resolve(folder, '.nojekyll'), '');
if (!values['no-weights']) {
  // The default models, and the voice.
  for (const models of [[], ['silver-lark-4']]) {
    const pull = ['dist/node/cli.js', 'pull', ...models, '--to', resolve(folder, 'models')];
    process.exitCode ||= spawnSync(process.execPath, pull, { stdio: 'inherit' }).status ?? 1;
  }
}
