import { dropBody, writeJson } from '#base';
import type { VariantOf } from '#catalog';
import type { EventOf, JobOf, Kind } from '#jobs';
import type { StageEvent } from '#protocol';
import { CircuitBreaker } from './circuit-breaker.ts';
import {
  lacks,
  redirected,
  SilentServer,
  timedOut,
  unreachable,
  type UpstreamError,
} from './upstream-failures.ts';

/** A server that does not list its models in this time counts as down, and the next variant is tried. */
const PROBE_MS = 3000;
/** Time limit if no other variant can answer: some servers start on the first request. */
const START_MS = 60_000;

/** Maximum time until the headers of an answer that is computed before its first byte. */
const SILENCE_MS = 240_000;

/** Runs a job of a kind on a server. */
export type RunOnServer<K extends Kind> = (
  server: UpstreamServer,
  job: JobOf<K>,
  signal: AbortSignal,
) => AsyncGenerator<StageEvent | EventOf<K>, void, undefined>;

/** Statuses of a path that a server does not have. */
const LACKING = new Set([404, 405, 501]);
/** Statuses of redirects. Browsers report 0 for one that they do not follow, Node the server's. */
const REDIRECTS = new Set([0, 301, 302, 303, 307, 308]);

/** Pauses that a server may make before its headers, even while it answers other requests. */
const MAX_PAUSES_TO_HEADERS = 5;

/** One variant's server: its key, its health and its running requests. */
export class UpstreamServer {
  readonly variant: VariantOf<'upstream'>;
  /** Value of `system_fingerprint`. */
  readonly fingerprint: string;
  readonly circuit = new CircuitBreaker();
  /** Requests that it answers now. */
  running = 0;
  readonly #key: string | undefined;
  readonly #onChange: () => void;
  readonly #warned = new Set<string>();
  /** Time of its last answer (`performance.now()`); 0: none yet. */
  #heardAt = 0;
  #firstProbe: Promise<unknown> | undefined;

  /** `onChange`: its health has changed. */
  constructor(variant: VariantOf<'upstream'>, key: string | undefined, onChange: () => void) {
    this.variant = variant;
    this.fingerprint = `${variant.name}-upstream`;
    this.#key = key;
    this.#onChange = onChange;
  }

  get hasAnswered(): boolean {
    return this.#heardAt > 0;
  }

  /** Records that the server has sent data. */
  noteData(): void {
    const isFirst = !this.hasAnswered;
    this.#heardAt = performance.now();
    if (isFirst) this.#onChange();
  }

  /**
   * Derives a signal that also aborts when a server that has never answered does not list its models in time:
   * a request to a host that drops packets would otherwise wait for its own time limit. For requests that
   * have a next variant.
   */
  abortIfUnreachable(signal: AbortSignal): AbortSignal {
    if (this.hasAnswered) return signal;
    const down = new AbortController();
    this.#firstProbe ??= this.#listModels(null, PROBE_MS).finally(() => (this.#firstProbe = undefined));
    this.#firstProbe.catch((error: unknown) => {
      // A list that cannot be read may lack the CORS headers. A dead host fails the request itself.
      if (!this.hasAnswered && error instanceof SilentServer) down.abort(error);
    });
    return AbortSignal.any([signal, down.signal]);
  }

  /**
   * @param body sent as JSON, or a form as it is
   * @param options.silenceMs maximum time until its headers, or until data of another answer: more requests may run
   *   than it has connections
   * @param options.isOptional a healthy server may lack the path
   * @throws UpstreamError; ServiceError if it lacks the path; the signal's reason when aborted
   */
  async post(
    path: string,
    body: object,
    signal: AbortSignal,
    { silenceMs = SILENCE_MS, isOptional = false } = {},
  ): Promise<Response> {
    const response = await this.#ask(path, body, signal, silenceMs);
    if (response.ok) return response;
    if (!isOptional || !LACKING.has(response.status)) throw await this.#failure(response);
    dropBody(response);
    throw lacks(path, response.status);
  }

  /**
   * Makes requests skip the server for a while, after a failure of a request that another variant may answer.
   */
  skipForAWhile(error: UpstreamError): void {
    if (!this.circuit.isClosed) return;
    const { code, message, retryAfterMs } = error.wire;
    this.circuit.open(error, retryAfterMs);
    this.#onChange();
    // A server that stays away need not fill the console.
    if (this.#warned.has(`${code}`)) return;
    this.#warned.add(`${code}`);
    console.warn(`localtext: ${this.variant.name} is skipped: the next variant answers. ${message}`);
  }

  /** Probes a failed server once its pause is over. Requests do not wait for the probe. */
  probeWhenDue(): void {
    if (!this.circuit.startProbe()) return;
    this.probe(null, true)
      .then(
        () => this.circuit.close(),
        (error: unknown) => this.circuit.open(error),
      )
      .finally(this.#onChange);
  }

  /**
   * Requests its list of models.
   * @throws UpstreamError if a request would fail, too; the signal's reason when aborted
   */
  async probe(signal: AbortSignal | null, hasNext: boolean): Promise<void> {
    const response = await this.#listModels(signal, hasNext ? PROBE_MS : START_MS);
    const { passThrough = [] } = this.variant;
    // A reachable server without a list of models is sufficient.
    if (!response.ok && ![404, 429, ...passThrough].includes(response.status))
      throw await this.#failure(response);
  }

  async #listModels(signal: AbortSignal | null, silenceMs: number): Promise<Response> {
    const response = await this.#ask('/models', null, signal, silenceMs);
    // Unread, it would hold one of the few connections that a browser opens to a host.
    if (response.ok) await response.body?.cancel();
    return response;
  }

  async #ask(
    path: string,
    body: object | null,
    signal: AbortSignal | null,
    silenceMs: number,
  ): Promise<Response> {
    const { baseUrl } = this.variant;
    const silent = new AbortController();
    const began = performance.now();
    const watch = (): void => {
      const until = Math.min(
        Math.max(began, this.#heardAt) + silenceMs,
        began + MAX_PAUSES_TO_HEADERS * silenceMs,
      );
      const leftMs = until - performance.now();
      if (leftMs <= 0) silent.abort(timedOut());
      else timer = setTimeout(watch, leftMs);
    };
    let timer = setTimeout(watch, silenceMs);
    try {
      const response = await fetch(baseUrl.replace(/\/$/, '') + path, {
        headers: {
          // The browser sets a form's content type, with its boundary.
          ...(body && !(body instanceof FormData) && { 'content-type': 'application/json' }),
          ...(this.#key !== undefined && { authorization: `Bearer ${this.#key}` }),
        },
        ...(body && { method: 'POST', body: body instanceof FormData ? body : writeJson(body) }),
        // Followed, a redirect would take the text to a host that the site did not name.
        redirect: 'manual',
        signal: signal ? AbortSignal.any([signal, silent.signal]) : silent.signal,
      });
      this.noteData();
      if (!REDIRECTS.has(response.status)) return response;
    } catch {
      signal?.throwIfAborted();
      silent.signal.throwIfAborted();
      throw unreachable();
    } finally {
      clearTimeout(timer);
    }
    throw redirected();
  }

  async #failure(response: Response): Promise<UpstreamError> {
    const { statusFailure } = await import('./status-failure.ts');
    return statusFailure(response, this.#key, this.variant.passThrough);
  }
}
