import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** Runs `vitest run` with these arguments and ends as it does. */
export function runVitest(args, env) {
  const { status } = spawnSync(join('node_modules', '.bin', 'vitest'), ['run', ...args], {
    stdio: 'inherit',
    shell: process.platform === 'win32',
    env: { ...process.env, ...env },
  });
  process.exit(status ?? 1);
}
