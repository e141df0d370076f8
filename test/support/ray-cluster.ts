import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import { cacheFolder } from '../../src/node/cli/pull-command.ts';
import { findPython } from '../../src/node/cli/pull/packages.ts';
import { tempFolder } from './temp-folder.ts';

const EXAMPLE = resolve('examples/ray-serve');
/** Limit that includes the first installation of Ray. */
const START_MS = 240_000;
const STOP_MS = 20_000;

/** The cluster of examples/ray-serve, on loopback. */
export class RayCluster {
  readonly url: string;
  readonly #port: number;
  readonly #key: string;
  #child: ChildProcess | null = null;
  #log = '';

  constructor(port: number, key: string) {
    this.#port = port;
    this.#key = key;
    this.url = `http://127.0.0.1:${port}`;
  }

  /** Resolves when both replicas of the chat model run. Needs Python 3.10 with pip. */
  async start(): Promise<void> {
    const python = await findPython(AbortSignal.timeout(30_000));
    if (!python) throw new Error('This test runs a Ray cluster: install Python 3.10 or later, with pip.');
    const folder = await tempFolder('ray');
    const config = await readFile(join(EXAMPLE, 'serve.yaml'), 'utf8');
    const own = config
      .replace('port: 8000', `port: ${this.#port}`)
      .replace('max_replicas: 8', 'max_replicas: 2');
    await writeFile(join(folder, 'serve.yaml'), own);
    const [command = '', ...args] = python;
    const child = spawn(command, [...args, join(EXAMPLE, 'start.py'), join(folder, 'serve.yaml')], {
      env: {
        ...process.env,
        API_KEY: this.#key,
        LOCALTEXT_CACHE: cacheFolder(),
        // On a busy machine, its processes would wait for the browser's.
        RAY_worker_niceness: '0',
        MODELS_FOLDER: resolve('public/models'),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    const note = (text: unknown): void => void (this.#log = (this.#log + String(text)).slice(-4000));
    child.stdout.on('data', note);
    child.stderr.on('data', note);
    child.once('exit', () => rm(folder, { recursive: true, force: true }));
    const until = performance.now() + START_MS;
    while ((await this.#running()) < 2) {
      if (child.exitCode !== null || performance.now() > until)
        throw new Error(`The Ray cluster did not start: ${this.#log}`);
      await new Promise((done) => setTimeout(done, 500));
    }
  }

  /** Replicas of the chat model that answer. */
  async #running(): Promise<number> {
    try {
      const headers = { authorization: `Bearer ${this.#key}` };
      const response = await fetch(`${this.url}/status`, { headers, signal: AbortSignal.timeout(3000) });
      const status = (await response.json()) as { Chat?: { RUNNING?: number } };
      return status.Chat?.RUNNING ?? 0;
    } catch {
      return 0;
    }
  }

  ask(body: object, signal: AbortSignal): Promise<Response> {
    return fetch(`${this.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.#key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal,
    });
  }

  /** Ends the process of one of the chat model's replicas, as a lost machine does. */
  killReplica(): void {
    const replica = this.#processes().find(({ command }) => command.includes('ServeReplica:localtext:Chat'));
    if (!replica) throw new Error('No replica runs.');
    process.kill(replica.pid, 'SIGKILL');
  }

  /** Ends every process of this cluster. */
  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (!child || child.exitCode !== null) return;
    const all = this.#processes(child.pid);
    const exited = once(child, 'exit');
    child.kill('SIGINT');
    const late = setTimeout(() => {
      for (const { pid } of all) kill(pid);
      child.kill('SIGKILL');
    }, STOP_MS);
    await exited;
    clearTimeout(late);
    for (const { pid } of all) kill(pid);
  }

  /** Those that it has started, directly or not. */
  #processes(root = this.#child?.pid): { pid: number; command: string }[] {
    const table = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' });
    const rows = table.split('\n').flatMap((line) => {
      const [, pid, parent, command = ''] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
      return pid === undefined ? [] : [{ pid: Number(pid), parent: Number(parent), command }];
    });
    const own = new Set([root]);
    for (let before = 0; before < own.size;) {
      before = own.size;
      for (const { pid, parent } of rows) if (own.has(parent)) own.add(pid);
    }
    return rows.filter(({ pid }) => pid !== root && own.has(pid));
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
