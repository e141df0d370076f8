import type { WireError } from '#base';
import {
  LINES_TYPE,
  LOAD_PATH,
  PROTOCOL_HEADER,
  STATUS_PATH,
  PROTOCOL_VERSION,
  type LoadLine,
  type EngineStatus,
  type OnProgress,
} from '#protocol';
import { startErrors } from './load-chunk.ts';
import { fromWire, LocaltextError } from './localtext-error.ts';

/** Fetches one of the paths that the service worker answers only for the page library. */
function fetchLocal(path: string, init?: RequestInit): Promise<Response> {
  const headers = { [PROTOCOL_HEADER]: String(PROTOCOL_VERSION) };
  return fetch(path, { ...init, headers, mode: 'same-origin' });
}

/** Error for a failed answer, of the service worker or of a host in its place. */
async function toError(response: Response): Promise<LocaltextError> {
  const { error } = (await response.json().catch(() => ({}))) as { error?: WireError };
  if (error?.message) return fromWire(error);
  return (await startErrors()).notControlled(response);
}

/**
 * Broken connections in a row after which a load fails. A stopped service worker breaks or ends one, and so does a
 * device that sleeps; the load continues or resumes.
 */
const MAX_BROKEN = 3;
/** A connection that has lasted longer, in milliseconds, ends the row. */
const LONG_MS = 10_000;

/**
 * Loads a model through the service worker, which finds the leader and outlives it.
 * @throws LocaltextError; the signal's reason when aborted
 */
export async function loadModel(model: string, signal: AbortSignal, onProgress?: OnProgress): Promise<void> {
  for (let broken = 0; ;) {
    const began = performance.now();
    const ended = new AbortController();
    let thrown: unknown;
    try {
      return await follow(model, AbortSignal.any([signal, ended.signal]), (progress) => {
        try {
          onProgress?.(progress);
        } catch (error) {
          throw (thrown = error);
        }
      });
    } catch (error) {
      ended.abort();
      if (!(error instanceof TypeError) || error === thrown) throw error;
      broken = performance.now() - began > LONG_MS ? 1 : broken + 1;
      if (broken === MAX_BROKEN) throw (await startErrors()).loadBroken(error);
    }
  }
}

/** Reads the status; null: no engine answers yet. @throws LocaltextError, also for why none starts */
export async function readStatus(): Promise<EngineStatus | null> {
  const response = await fetchLocal(STATUS_PATH);
  if (response.status === 204) return null;
  // A host may answer in its place, with a page.
  const status = response.ok && ((await response.json().catch(() => null)) as EngineStatus | null);
  if (status) return status;
  throw await toError(response);
}

/**
 * Follows the load until its end.
 * @throws LocaltextError for an `error` line, or an answer that the service worker did not send; TypeError
 *   when the connection breaks
 */
const follow: typeof loadModel = async (model, signal, onProgress) => {
  const response = await fetchLocal(`${LOAD_PATH}?model=${encodeURIComponent(model)}`, {
    method: 'POST',
    signal,
  });
  if (response.headers.get('content-type') !== LINES_TYPE || !response.body) throw await toError(response);
  // Chromium shows a service worker's answer as cancelled if only a reader drains it, but not if it is read
  // whole.
  void response
    .clone()
    .text()
    .catch(() => undefined);
  const lines = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await lines.read();
    if (done) throw new TypeError('The answer ended before the load.');
    const parts = (rest + value).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) {
      const line = JSON.parse(part) as LoadLine;
      if (line.type === 'error') throw fromWire(line.error);
      if (line.type === 'loaded') return;
      onProgress?.(line.progress);
    }
  }
};
