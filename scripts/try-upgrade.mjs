// Tries another version of a dependency: `npm run try-upgrade -- @wllama/wllama@next [--no-browser]`. Installs it in a copy of the repository,
// runs the tests of code that depends on the package's internals, and names those that fail. The copy is removed afterwards.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** Tests by package. The `internals/` folders describe what they check. */
const SENTINELS = {
  '@wllama/wllama': {
    unit: [
      'test/unit/llama',
      'test/unit/engines/wllama',
      'test/unit/gguf/architectures.test.ts',
      'test/unit/node/engine-files/wllama-worker.test.ts',
      'test/unit/tools/kernels',
    ],
    browser: ['test/browser/llama-calls.test.ts'],
    with: ['@wllama/wllama-compat'],
  },
  '@mlc-ai/web-llm': {
    unit: ['test/unit/engines/web-llm'],
    browser: ['test/browser/web-llm.test.ts'],
  },
  '@huggingface/transformers': {
    unit: ['test/unit/engines/onnx', 'test/unit/engines/transformers', 'test/unit/engines/whisper'],
    browser: ['test/browser/embedding-int8.test.ts', 'test/browser/transcription.test.ts'],
  },
  mediabunny: { unit: ['test/unit/engines/sound'], browser: ['test/browser/transcription.test.ts'] },
  '@huggingface/jinja': { unit: ['test/unit/chat-template'], browser: [] },
};

const [wanted, ...options] = process.argv.slice(2);
const [, name, version = 'latest'] = /^(@?[^@]+)(?:@(.+))?$/.exec(wanted ?? '') ?? [];
const sentinels = SENTINELS[name];
if (!sentinels) {
  console.error(
    `Usage: npm run try-upgrade -- <package>@<version> [--no-browser]\nPackages: ${Object.keys(SENTINELS).join(', ')}`,
  );
  process.exit(2);
}

const copy = mkdtempSync(join(tmpdir(), 'localtext-upgrade-'));
const run = (command, args) =>
  spawnSync(command, args, { cwd: copy, stdio: 'inherit', shell: process.platform === 'win32' }).status === 0;

const failed = [];
const check = (what, command, args) => {
  console.log(`\n== ${what}`);
  if (!run(command, args)) failed.push(what);
};

try {
  const tracked = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    encoding: 'utf8',
  }).stdout;
  for (const file of tracked.split('\0')) if (file !== '' && existsSync(file)) cpSync(file, join(copy, file));
  if (existsSync('public/models'))
    symlinkSync(resolve('public/models'), join(copy, 'public/models'), 'junction');
  const packages = [name, ...(sentinels.with ?? [])].map((each) => `${each}@${version}`);
  const install = ['install', '--save-dev', '--save-exact', '--no-audit', '--no-fund', ...packages];
  if (!run('npm', install)) throw new Error(`npm could not install ${packages.join(' ')}.`);
  const installed = JSON.parse(
    readFileSync(join(copy, 'node_modules', name, 'package.json'), 'utf8'),
  ).version;
  check('types', 'npx', ['tsc', '--noEmit', '-p', 'src/engines']);
  for (const path of sentinels.unit) check(path, 'npx', ['vitest', 'run', '--project', 'unit', path]);
  if (!options.includes('--no-browser'))
    for (const path of sentinels.browser) check(path, 'npm', ['run', 'test:browser', '--', path]);
  console.log(
    failed.length === 0
      ? `\n${name} ${installed}: all sentinels pass.`
      : `\n${name} ${installed} breaks:\n${failed.map((each) => `  ${each}`).join('\n')}`,
  );
  process.exitCode = failed.length > 0 ? 1 : 0;
} finally {
  rmSync(copy, { recursive: true, force: true });
}
