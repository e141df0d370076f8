import { asServiceError } from '#base';
import type { ChatUsage } from '#jobs';
import { LOGGED_BODY_CHARACTERS, type LoggedBody, type RequestLogEntry } from '#protocol';

/** Maximum characters of a path, and of a model's name. */
const LOGGED_NAME_CHARACTERS = 200;
const LOGGED_URL_CHARACTERS = 2048;

type Publish = (entry: RequestLogEntry) => void;
type Asked = Pick<RequestLogEntry, 'id' | 'requestId' | 'method' | 'path' | 'client'>;

/** Log entry of one request, published when its body is read, when an engine begins, at its first token and at its end. */
export class RequestTrace {
  readonly #publish: Publish;
  readonly #began = performance.now();
  readonly #entry: RequestLogEntry;
  #text = '';
  /** Whether the answer continues after its headers, and its end stops the watch of the client. */
  continued = false;
  #isOpen = false;

  constructor(publish: Publish, request: Asked) {
    this.#publish = publish;
    const { path, client } = request;
    this.#entry = {
      ...request,
      path: path.slice(0, LOGGED_NAME_CHARACTERS),
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
  }

  key(label: string): void {
    this.#entry.keyLabel = label;
  }

  body(text: string, { model, stream }: Record<string, unknown>): void {
    this.#entry.requestBody = cut(text);
    if (typeof model === 'string') this.#entry.model = model.slice(0, LOGGED_NAME_CHARACTERS);
    this.#entry.streamed = stream === true;
    this.#tell();
  }

  /** The answer continues after its headers. `streamed`: it is sent while it is generated. */
  continues(streamed: boolean): void {
    this.continued = true;
    this.#isOpen = true;
    this.#entry.streamed = streamed;
  }

  /** Fingerprint of the variant that answers; null until it is known. */
  get servedBy(): string | null {
    return this.#entry.servedBy;
  }

  set servedBy(fingerprint: string) {
    this.#entry.servedBy = fingerprint;
  }

  /** Milliseconds until an engine began, and until the first token; null until then. */
  get waits(): Pick<RequestLogEntry, 'queueMs' | 'firstTokenMs'> {
    return this.#entry;
  }

  /** An engine has begun with the request. */
  accepted(): void {
    if (this.#entry.queueMs !== null) return;
    this.#entry.queueMs = this.passedMs;
    // The headers of a stream come with it or were sent before.
    if (!this.#entry.streamed || this.#entry.status !== null) this.#tell();
  }

  /** A token has been generated. `text`: its part of the answer's first choice. */
  generated(text: string): void {
    if (this.#text.length <= LOGGED_BODY_CHARACTERS) this.#text += text;
    if (this.#entry.firstTokenMs !== null) return;
    this.#entry.firstTokenMs = this.passedMs;
    this.#tell();
  }

  usage(counts: Partial<ChatUsage>): void {
    const { promptTokens = null, cachedTokens = null, completionTokens = null } = counts;
    Object.assign(this.#entry, { promptTokens, cachedTokens, completionTokens });
  }

  headers(status: number): void {
    this.#entry.status = status;
    if (this.#isOpen || this.#entry.state !== 'running') this.#tell();
    else this.#end('done');
  }

  /** Ends the entry, or lets the headers end it. `whole`: the body, if it was not streamed. */
  done(whole: string = this.#text): void {
    this.#isOpen = false;
    this.#entry.responseBody = cut(whole);
    if (this.#entry.status !== null) this.#end('done');
  }

  /** Records a failure before the headers. */
  refused(error: unknown, status: number, aborted: boolean): void {
    if (!aborted) this.#entry.status = status;
    this.failed(error, aborted);
  }

  failed(error: unknown, aborted: boolean): void {
    this.#isOpen = false;
    const { wire } = asServiceError(error);
    if (!aborted) this.#entry.error = wire.code ?? wire.type;
    this.#entry.responseBody ??= cut(this.#text);
    if (aborted) this.#end('aborted');
    else if (this.#entry.status !== null) this.#end('done');
  }

  #end(state: 'done' | 'aborted'): void {
    this.#entry.state = state;
    this.#entry.totalMs = this.passedMs;
    this.#tell();
  }

  /** Milliseconds since the request arrived, whatever becomes of the clock. */
  get passedMs(): number {
    return Math.round(performance.now() - this.#began);
  }

  #tell(): void {
    this.#publish({ ...this.#entry });
  }
}

const cut = (text: string): LoggedBody => ({
  text: text.slice(0, LOGGED_BODY_CHARACTERS),
  truncated: text.length > LOGGED_BODY_CHARACTERS,
});
