import { nameIn } from './locks.ts';

/**
 * The service (in the service worker, or in a page without one) → every tab of the app, by BroadcastChannel:
 * one message when a /v1 request arrives, and one whenever more is known. Each message has all that is known
 * so far: a reader replaces the entry with the same id, and may miss any message but the last.
 */
export const requestLogChannel = (scope: string): string => `${nameIn(scope)}:requests`;

export interface RequestLogMessage {
  version: number;
  entry: RequestLogEntry;
}

export interface RequestLogEntry {
  /** Unique. */
  id: string;
  /** Value of `x-request-id`: a client may send one several times. */
  requestId: string;
  /** `running` until the last byte of the answer, or until the client left (`aborted`). */
  state: 'running' | 'done' | 'aborted';
  /** The client that sent the request: a tab, frame or worker. Null: unknown. */
  client: RequestClient | null;
  /** Label of the key; null when the request had no valid one. Never the key itself. */
  keyLabel: string | null;
  method: string;
  /** `/v1/chat/completions` */
  path: string;
  model: string | null;
  streamed: boolean;
  /** HTTP status; null until the headers are out. */
  status: number | null;
  /** `type` or `code` of the error, even if the error broke the stream after its headers. */
  error: string | null;
  /** Milliseconds since 1970. */
  startedAt: number;
  /**
   * Milliseconds from the start until the engine accepted the request; null until then, and for requests that
   * need no engine.
   */
  queueMs: number | null;
  /** Milliseconds from the start to the first token. */
  firstTokenMs: number | null;
  /** Milliseconds from the start to the end. */
  totalMs: number | null;
  promptTokens: number | null;
  cachedTokens: number | null;
  completionTokens: number | null;
  /** Fingerprint of the variant that answers; null until it is known. */
  servedBy: string | null;
  /** The request's body as it came, cut after `LOGGED_BODY_CHARACTERS`. */
  requestBody: LoggedBody | null;
  /** Answer: the JSON, or the text of a streamed reply's first choice. */
  responseBody: LoggedBody | null;
}

export interface RequestClient {
  /** Id that the service worker gives the client. It changes with each reload. */
  id: string;
  /** URL of its page, or its script; empty if its referrer policy hides that. */
  url: string;
}

export interface LoggedBody {
  text: string;
  /** Whether more came than is kept here. */
  truncated: boolean;
}

export const LOGGED_BODY_CHARACTERS = 16_384;
