import { spawnSync } from 'node:child_process';
import { arch, cpus, loadavg, totalmem, type } from 'node:os';

/** What the figures are of. */
export interface Machine {
  processor: string;
  cores: number;
  memoryBytes: number;
  system: string;
  browser: string;
  node: string;
}

export function describeMachine(browser: string): Machine {
  return {
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryBytes: totalmem(),
    system: `${type()}, ${arch()}`,
    browser,
    node: process.versions.node,
  };
}

/** Time and commit of a measurement, and the load of the machine. */
export interface Circumstances {
  /** ISO 8601. */
  at: string;
  commit: string;
  /** Processes that wanted a core in the minute before. */
  load: number;
}

export function circumstances(): Circumstances {
  const { stdout } = spawnSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' });
  return {
    at: new Date().toISOString(),
    commit: stdout.trim() || 'unknown',
    load: Math.round((loadavg()[0] ?? 0) * 10) / 10,
  };
}
