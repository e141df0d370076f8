import { spawn, type ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { join } from 'node:path';

const START_MS = 60_000;

export interface RunningServer {
  url: string;
  stop(): Promise<void>;
}

/** The example's own `vite preview`, or its dev server. */
export async function startVite(
  example: string,
  mode: 'preview' | 'dev',
  port: number,
  base = '/',
): Promise<RunningServer> {
  const args = [join(example, '../node_modules/vite/bin/vite.js'), mode, '--port', String(port)];
  const server = spawn(process.execPath, [...args, '--strictPort', '--host', 'localhost'], {
    cwd: example,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [server.stdout, server.stderr]) stream.on('data', (data: Buffer) => (said += data));
  const url = `http://localhost:${port}${base}`;
  const deadline = Date.now() + START_MS;
  for (;;) {
    const ok = await fetch(url).then(
      (response) => response.ok,
      () => false,
    );
    if (ok) return { url, stop: () => stop(server) };
    if (server.exitCode !== null || Date.now() > deadline) {
      await stop(server);
      throw new Error(`vite ${mode} does not answer at ${url}:\n${said}`);
    }
    await delay(100);
  }
}

async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const gone = new Promise((resolve) => server.once('exit', resolve));
  server.kill('SIGKILL');
  await gone;
}
