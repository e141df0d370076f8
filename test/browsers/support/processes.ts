import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';

import { findProgram } from './find-program.ts';

interface Running {
  /** Id of the process and of its group. */
  pid: number;
  stop(): Promise<void>;
}

/** Runs a program in its own process group, and ends all of the group. */
export function startProcess(path: string, args: string[], env: NodeJS.ProcessEnv = {}): Running {
  return running(spawn(path, args, { env: { ...process.env, ...env }, stdio: 'ignore', detached: true }));
}

/** A virtual screen; Xvfb picks a free number and writes it to the pipe. */
export async function startScreen(): Promise<Running & { display: string }> {
  const args = ['-displayfd', '3', '-screen', '0', '1600x1200x24', '-nolisten', 'tcp'];
  const child = spawn(findProgram('xvfb'), args, {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    detached: true,
  });
  const pipe = child.stdio[3] as Readable;
  const written = once(pipe, 'data') as Promise<[Buffer]>;
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`Xvfb ended with status ${String(code)} before it opened a screen.`);
  });
  ended.catch(() => {});
  const [number] = await Promise.race([written, ended]);
  return { ...running(child), display: `:${number.toString().trim()}` };
}

function running(child: ChildProcess): Running {
  const ended = once(child, 'exit').catch(() => {});
  const kill = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // The group has ended.
    }
  };
  process.once('exit', kill);
  return {
    pid: child.pid ?? 0,
    async stop() {
      process.off('exit', kill);
      kill();
      await ended;
    },
  };
}
