import {
  LOGGED_BODY_CHARACTERS,
  type Admitted,
  type ServiceDependencies,
  type LoggedBody,
  type RequestLogEntry,
} from '#protocol';
import type { ChatUsage } from '#jobs';
import type { ReplyPart } from '../reply-parts.ts';
import { asServiceError } from '#base';

/** Tells when the client of one request has left. */
export interface ClientWatch {
  gone: AbortSignal;
  /** Stops watching, once the answer has ended. */
  stop(): void;
}

/** Request that is being answered. */
export interface Call {
  /** Unique: jobs and locks are named after it. */
  id: string;
  /** Id sent to the client: its own `x-request-id` if that is valid. */
  requestId: string;
  request: Request;
  watch: ClientWatch;
  admitted: Admitted;
  /** Milliseconds since 1970. */
  receivedAt: number;
  /** Aborts all work for the request. */
  abort: AbortController;
  /** Stops counting the request as in flight. May be called more than once. */
  leave(): void;
  trace: RequestTrace;
  dependencies: ServiceDependencies;
  /** Warnings about ignored parts of the request, for the header `localtext-warning`: printable ASCII. */
  warnings: string[];
  /** Fingerprint of the answering variant, once known. */
  servedBy: string | null;
  /** Whether the answer is streamed; known once the body has been read. */
  streamed: boolean;
}

const REQUEST_ID = /^[\w.:-]{1,128}$/;

export function requestIdOf(request: Request, id: string): string {
  const header = request.headers.get('x-request-id');
  return header !== null && REQUEST_ID.test(header) ? header : id;
}

/**
 * Aborts with the first of the signals, until stopped. Chromium keeps a result of `AbortSignal.any`, and all
 * that its listeners hold, while one of the signals may still abort.
 */
export function followSignals(
  signals: readonly AbortSignal[],
  abort = new AbortController(),
): { abort: AbortController; stop(): void } {
  const onAbort = ({ target }: { target: unknown }): void => abort.abort((target as AbortSignal).reason);
  for (const signal of signals) {
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort({ target: signal });
  }
  return {
    abort,
    stop() {
      for (const signal of signals) signal.removeEventListener('abort', onAbort);
    },
  };
}

/**
 * Watches the request's own signal. A page that calls the service itself can abort before the headers; a
 * service worker never sees that.
 */
export function ownSignal({ signal }: Request): ClientWatch {
  const { abort, stop } = followSignals([signal]);
  return { gone: abort.signal, stop };
}

const LOGGED_PATH_CHARACTERS = 200;
const LOGGED_URL_CHARACTERS = 2048;

type Publish = (entry: RequestLogEntry) => void;

/** Log entry of one request, published when the request arrives, at its first token and at its end. */
export class RequestTrace {
  readonly #publish: Publish;
  readonly #entry: RequestLogEntry;
  #text = '';
  /** Whether the answer continues after its headers. */
  #open = false;

  constructor(publish: Publish, request: Pick<RequestLogEntry, 'id' | 'method' | 'path' | 'client'>) {
    this.#publish = publish;
    const { path, client } = request;
    this.#entry = {
      ...request,
      path: path.slice(0, LOGGED_PATH_CHARACTERS),
      client: client && { ...client, url: client.url.slice(0, LOGGED_URL_CHARACTERS) },
      state: 'running',
      keyLabel: null,
      model: null,
      streamed: false,
      status: null,
      error: null,
      startedAt: Date.now(),
      queueMs: null,
      firstTokenMs: null,
      totalMs: null,
      promptTokens: null,
      cachedTokens: null,
      completionTokens: null,
      servedBy: null,
      requestBody: null,
      responseBody: null,
    };
    this.#tell();
  }

  key(label: string): void {
    this.#entry.keyLabel = label;
  }

  body(text: string, { model, stream }: Record<string, unknown>): void {
    this.#entry.requestBody = cut(text);
    if (typeof model === 'string') this.#entry.model = model;
    this.#entry.streamed = stream === true;
    this.#tell();
  }

  /** Records that the answer continues after its headers. */
  open(): void {
    this.#open = true;
  }

  accepted(servedBy: string): void {
    this.#entry.servedBy = servedBy;
    this.#entry.queueMs ??= this.#spent();
  }

  /** Records a part of the first choice, without its reasoning. */
  part(part: ReplyPart): void {
    const text = part.type === 'call' ? `${part.name} ` : part.type === 'reasoning' ? '' : part.text;
    if (this.#text.length <= LOGGED_BODY_CHARACTERS) this.#text += text;
    if (this.#entry.firstTokenMs !== null) return;
    this.#entry.firstTokenMs = this.#spent();
    this.#tell();
  }

  usage({ promptTokens, cachedTokens, completionTokens }: ChatUsage): void {
    Object.assign(this.#entry, { promptTokens, cachedTokens, completionTokens });
  }

  headers(status: number): void {
    this.#entry.status = status;
    if (this.#open) this.#tell();
    else this.#end('done');
  }

  /** Records the body of an answer that is complete when its headers are sent. */
  whole(body: string): void {
    this.#open = false;
    this.#entry.responseBody = cut(body);
  }

  /** Ends the entry. `whole`: the body, if it was not streamed. */
  done(whole: string = this.#text): void {
    this.whole(whole);
    this.#end('done');
  }

  /** Records a failure before the headers. */
  refused(error: unknown, status: number, aborted: boolean): void {
    if (!aborted) this.#entry.status = status;
    this.failed(error, aborted);
  }

  failed(error: unknown, aborted: boolean): void {
    this.#open = false;
    const { wire } = asServiceError(error);
    if (!aborted) this.#entry.error = wire.code ?? wire.type;
    this.#entry.responseBody ??= cut(this.#text);
    this.#end(aborted ? 'aborted' : 'done');
  }

  #end(state: 'done' | 'aborted'): void {
    this.#entry.state = state;
    this.#entry.totalMs = this.#spent();
    this.#tell();
  }

  #spent(): number {
    return Date.now() - this.#entry.startedAt;
  }

  #tell(): void {
    this.#publish({ ...this.#entry });
  }
}

const cut = (text: string): LoggedBody => ({
  text: text.slice(0, LOGGED_BODY_CHARACTERS),
  truncated: text.length > LOGGED_BODY_CHARACTERS,
});
