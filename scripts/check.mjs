// Runs all static checks: types, formatting, lint, unused exports, generated documents. A failed check does not stop the others.
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

const MAX_AT_ONCE = 4;

// The slowest first: it takes one core while the others share the next.
const steps = [
  // Each folder of `references` in tsconfig.json, with the globals of its environment.
  ['tsc', '--build'],
  ['prettier', '--check', '--cache', '--log-level', 'warn', '.'],
  ['knip', '--no-progress'],
  ['vitest', 'run', '--project', 'repository', '--reporter', 'dot'],
  ['oxlint', '--deny-warnings'],
  ['node', 'scripts/compatibility.mjs', '--check'],
];

const nameOf = ([command, ...args]) => [...(command === 'node' ? [] : ['npx']), command, ...args].join(' ');

/** @returns whether the step passed; prints the step's output and result when it has ended */
function run(step) {
  const [command, ...args] = step;
  const program = command === 'node' ? process.execPath : join('node_modules', '.bin', command);
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: command !== 'node' && process.platform === 'win32',
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      process.stdout.write(`${output}${code === 0 ? 'passed' : 'failed'}: ${nameOf(step)}\n`);
      resolve(code === 0);
    });
  });
}

const waiting = [...steps];
const failed = [];
const lane = async () => {
  for (let step = waiting.shift(); step; step = waiting.shift()) if (!(await run(step))) failed.push(step);
};
await Promise.all(Array.from({ length: Math.min(availableParallelism(), MAX_AT_ONCE) }, lane));

for (const step of failed) console.error(`check failed: ${nameOf(step)}`);
process.exit(failed.length > 0 ? 1 : 0);
