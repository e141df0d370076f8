import type { Page } from 'playwright';

import type { SoakRequest } from './requests.ts';

export interface Ending {
  /** `lost`: none of the ways in which a request may end. */
  type: 'answered' | 'error' | 'aborted' | 'lost';
  status: number | null;
  code: string | null;
  detail: string;
  ms: number;
}

/** A request that has not ended by then hangs; the machine may be busy. */
const HANG_MS = 240_000;

/** Sends it from the page with OpenAI's client, without retries; aborts it after so many milliseconds, unless null. */
export function runRequest(
  page: Page,
  key: string,
  request: SoakRequest,
  abortAfterMs: number | null,
): Promise<Ending> {
  return page.evaluate(
    async ([apiKey, { path, body }, abortMs, hangMs]): Promise<Ending> => {
      const began = performance.now();
      const ending = (type: Ending['type'], detail = '', error: Partial<Ending> = {}): Ending => {
        const { status = null, code = null } = error;
        return { type, status, code, detail, ms: performance.now() - began };
      };
      const abort = new AbortController();
      const hang = setTimeout(() => abort.abort('hang'), hangMs);
      const timer = abortMs === null ? undefined : setTimeout(() => abort.abort('own'), abortMs);
      const { signal } = abort;
      const isWhole = (answer: Record<string, unknown>): boolean => {
        const { choices, data, status } = answer as {
          choices?: { finish_reason: string | null }[];
          data?: unknown[];
          status?: string;
        };
        return (
          choices?.every(({ finish_reason: reason }) => reason !== null) ??
          ((data?.length ?? 0) > 0 || status === 'completed' || status === 'incomplete')
        );
      };
      try {
        // One attempt, so that what is lost is seen.
        const client = window.client(apiKey, { maxRetries: 0, timeout: 2 * hangMs });
        if (body?.['stream'] !== true) {
          const answer = await (body ? client.post(path, { body, signal }) : client.get(path, { signal }));
          return isWhole(answer as Record<string, unknown>)
            ? ending('answered')
            : ending('lost', JSON.stringify(answer).slice(0, 300));
        }
        const finished = new Set<unknown>();
        let last = '';
        const events = (await client.post(path, { body, stream: true, signal })) as AsyncIterable<{
          type?: string;
          choices?: { index: number; finish_reason: string | null }[];
        }>;
        for await (const event of events) {
          last = event.type ?? last;
          for (const { index, finish_reason: reason } of event.choices ?? []) if (reason) finished.add(index);
        }
        if (signal.aborted) return ending(signal.reason === 'own' ? 'aborted' : 'lost', 'hangs');
        const choices = typeof body['n'] === 'number' ? body['n'] : 1;
        const whole = finished.size === choices || /^response\.(completed|incomplete)$/.test(last);
        return whole ? ending('answered') : ending('lost', `a stream that ended early, after ${last}`);
      } catch (error) {
        if (signal.aborted) return ending(signal.reason === 'own' ? 'aborted' : 'lost', 'hangs');
        const { status, code, type, message } = error as {
          status?: number;
          code?: string;
          type?: string;
          message: string;
        };
        const inShape = error instanceof window.OpenAI.APIError && typeof type === 'string';
        return ending(inShape ? 'error' : 'lost', message, { status: status ?? null, code: code ?? null });
      } finally {
        clearTimeout(hang);
        clearTimeout(timer);
      }
    },
    [key, request, abortAfterMs, HANG_MS] as const,
  );
}
