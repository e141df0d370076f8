import { performance } from 'node:perf_hooks';

import { printable } from './output.ts';

export interface ProgressOutput {
  isTTY?: boolean;
  columns?: number;
  write(text: string): unknown;
}

const TTY_EVERY_MS = 100;
const PLAIN_EVERY_MS = 10_000;

/**
 * Writes lines, and the progress of one file at a time: a line that updates itself on a terminal, few lines
 * elsewhere.
 */
export class Progress {
  readonly #output: ProgressOutput;
  #file: { label: string; totalBytes: number; startBytes: number; startMs: number } | null = null;
  #writtenMs: number;
  #lineOpen = false;

  constructor(output: ProgressOutput) {
    this.#output = output;
    this.#writtenMs = output.isTTY ? Number.NEGATIVE_INFINITY : performance.now();
  }

  line(text: string): void {
    this.#closeLine();
    this.#output.write(`${printable(text)}\n`);
  }

  /** @param startBytes bytes that exist already; they do not count towards the rate */
  begin(label: string, totalBytes: number, startBytes = 0): void {
    this.#file = { label, totalBytes, startBytes, startMs: performance.now() };
    this.#writtenMs = this.#output.isTTY ? Number.NEGATIVE_INFINITY : performance.now();
    if (!this.#output.isTTY) this.line(`${label}: ${startBytes > 0 ? `${megabytes(startBytes)} of ` : ''}${megabytes(totalBytes)} MB`); // prettier-ignore
  }

  update(bytes: number): void {
    const file = this.#file;
    if (file === null) return;
    const { label, totalBytes, startBytes, startMs } = file;
    this.status(describeProgress(label, bytes, totalBytes, bytes - startBytes, performance.now() - startMs));
  }

  /** Replaces the line on a terminal; elsewhere writes one now and then. */
  status(text: string): void {
    const now = performance.now();
    if (now - this.#writtenMs < (this.#output.isTTY ? TTY_EVERY_MS : PLAIN_EVERY_MS)) return;
    this.#writtenMs = now;
    if (!this.#output.isTTY) return this.line(text);
    this.#lineOpen = true;
    this.#output.write(`\r\u001B[2K${printable(text).slice(0, (this.#output.columns ?? 80) - 1)}`);
  }

  end(): void {
    this.#file = null;
    this.#closeLine();
  }

  #closeLine(): void {
    if (this.#lineOpen) this.#output.write('\r\u001B[2K');
    this.#lineOpen = false;
  }
}

/** @param received bytes received in `elapsedMs`, for the rate and the time left */
export function describeProgress(
  label: string,
  bytes: number,
  totalBytes: number,
  received: number,
  elapsedMs: number,
): string {
  // A registry's list of files, which pip and npm fetch first, may be larger than the package.
  const text = `${label}: ${megabytes(Math.min(bytes, totalBytes))} of ${megabytes(totalBytes)} MB`;
  if (received <= 0 || elapsedMs <= 0) return text;
  const bytesPerSecond = (received / elapsedMs) * 1000;
  const secondsLeft = Math.max(0, (totalBytes - bytes) / bytesPerSecond);
  return `${text}, ${megabytes(bytesPerSecond)} MB/s, ${duration(secondsLeft)} left`;
}

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);

function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}
