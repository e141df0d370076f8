/**
 * One request and the facts that its answer must have, whatever sends it: the pure service in Node over a fake
 * engine, or a page through the service worker on real weights.
 */
export interface ConformanceCase {
  name: string;
  request: CaseRequest;
  facts: Fact[];
  /** Facts that hold only with the text of the fake engine. */
  fakeFacts?: Fact[];
}

export interface CaseRequest {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  /** `good` when not given; `none`: no Authorization header; `authorization`: the header as it is. */
  key?: 'good' | 'none' | 'revoked' | 'expired' | 'only-indigo-owl-4' | { authorization: string };
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as it is: text, or bytes. */
  body?: string | number[] | FilledBody;
}

/** Body of one byte, repeated. */
export interface FilledBody {
  byte: number;
  length: number;
}

export interface Answer {
  status: number;
  /** Names in lower case. */
  headers: Record<string, string>;
  text: string;
  /** Request that was sent, so that a fact can compare. */
  sent: CaseRequest;
}

/** Throws when the answer does not have it. */
export type Fact = (answer: Answer) => void;
