import { spawn, type ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { join } from 'node:path';

import { inject } from 'vitest';

import { atEnd } from '../../support/at-end.ts';
import { freePort } from '../../support/static-site.ts';
import { linkModels } from './models.ts';
import { run } from './workspace.ts';

const START_MS = 60_000;

export interface RunningServer {
  url: string;
  stop(): Promise<void>;
}

/** The example's own `vite preview`, or its dev server. */
export function startVite(
  example: string,
  mode: 'preview' | 'dev',
  port: number,
  base = '/',
): Promise<RunningServer> {
  const program = join(example, '../node_modules/vite/bin/vite.js');
  const args = [program, mode, '--port', String(port), '--strictPort', '--host', 'localhost'];
  return startServer(example, args, `http://localhost:${port}${base}`);
}

/** Runs a script of Node until the server answers. It ends with the test. */
export async function startServer(
  cwd: string,
  args: string[],
  url: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<RunningServer> {
  const server = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  atEnd(() => stop(server));
  let said = '';
  for (const stream of [server.stdout, server.stderr]) stream.on('data', (data: Buffer) => (said += data));
  const deadline = Date.now() + START_MS;
  for (;;) {
    const ok = await fetch(url).then(
      (response) => response.ok,
      () => false,
    );
    if (ok) return { url, stop: () => stop(server) };
    if (server.exitCode !== null || Date.now() > deadline) {
      await stop(server);
      throw new Error(`${args.slice(0, 2).join(' ')} in ${cwd} does not answer at ${url}:\n${said}`);
    }
    await delay(100);
  }
}

/** An example, built as its reader would, on its own preview server. */
export async function preview(name: string, base = '/'): Promise<RunningServer> {
  const folder = join(inject('examples'), name);
  await run(folder, 'npm', 'run', 'build');
  await linkModels(join(folder, 'public'));
  return startVite(folder, 'preview', await freePort(), base);
}

async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const gone = new Promise((resolve) => server.once('exit', resolve));
  server.kill('SIGTERM');
  await Promise.race([gone, delay(3_000).then(() => server.kill('SIGKILL'))]);
  await gone;
}
