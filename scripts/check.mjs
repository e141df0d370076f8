// Formatting, lint, unused exports, words, generated documents and the types of every environment. All are run, so that one call shows every fault.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const environments = [
  'sw',
  'scripts',
  'test',
  'test/unit/engine',
  'test/unit/weights',
  ...readdirSync('src', { recursive: true }).map((name) => join('src', name)),
].filter((folder) => existsSync(join(folder, 'tsconfig.json')));

const steps = [
  ['prettier', '--check', '--log-level', 'warn', '.'],
  ['oxlint', '--deny-warnings'],
  ['knip', '--no-progress'],
  ['node', 'scripts/words.mjs'],
  ...['compatibility', 'errors', 'docs'].map((name) => ['node', `scripts/${name}.mjs`, '--check']),
  ...environments.map((folder) => ['tsc', '--noEmit', '-p', folder]),
];

const failed = steps.filter(([command, ...args]) => {
  const program = command === 'node' ? process.execPath : join('node_modules', '.bin', command);
  const { status } = spawnSync(program, args, {
    stdio: 'inherit',
    shell: command !== 'node' && process.platform === 'win32',
  });
  return status !== 0;
});

for (const step of failed)
  console.error(`check failed: ${step[0] === 'node' ? '' : 'npx '}${step.join(' ')}`);
process.exit(failed.length > 0 ? 1 : 0);
