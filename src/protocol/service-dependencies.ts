import type { CatalogModel, VariantSampling } from '#catalog';
import type { Origin, StageDetails, Stage } from './engine-port.ts';
import type { ChatMessage, EventOf, JobOf, Kind, ModelKind } from '#jobs';
import type { ModelFacts } from './model-facts.ts';
import type { RequestLogEntry } from './request-log.ts';
import type { ModelStatus, VariantReason } from './status.ts';

/** The service's dependencies. Everything else is computed from the request. */
export interface ServiceDependencies {
  engine: EngineRequester;
  keys: KeyStore;
  models: ModelDirectory;
  /** Keeps the answers of /v1/responses. */
  responses: ResponseStore;
  /** Receives each request's entry whenever it changes. */
  log(entry: RequestLogEntry): void;
}

/** Sends jobs to the engine, wherever that is. */
export interface EngineRequester {
  /**
   * Runs a job of any kind. Aborting the signal, or returning the iterator, frees the engine.
   * @throws ServiceError
   */
  run<K extends Kind>(job: JobOf<K>, request: EngineRequest): AsyncIterable<StageEvent | EventOf<K>>;
}

/**
 * Reason why no output has arrived yet. It may follow output if another engine takes over in the middle of a
 * reply.
 */
export type StageEvent = { type: 'stage'; stage: Stage } & StageDetails;
export type EngineEvent = StageEvent | EventOf<'chat'>;

export interface EngineRequest {
  /** The request's id, also its `x-request-id`; one choice of several has `-<index>` after it. */
  id: string;
  signal: AbortSignal;
  /** Model of the job, as the directory found it. Absent: the device answers. */
  model?: ModelEntry;
  origin?: Origin;
}

export interface ModelDirectory {
  /** Directory for one request, which reads its data at once. */
  forRequest(): ModelDirectory;
  /** Every model, in the order in which they are listed. */
  list(): Promise<ModelEntry[]>;
  /** Finds the model by its id or an alias. */
  find(id: string): Promise<ModelEntry | null>;
  /** Facts of each model, by its id, without a call to an engine. Never throws. */
  facts?(): Promise<ReadonlyMap<string, ModelFacts>>;
  /**
   * Variant that answers for the model here, and why; null: not known now. Never throws, and takes a second
   * at most.
   */
  describe?(id: string): Promise<ServedVariant | null>;
}

/** The object `localtext` in the answer of GET /v1/models/{id}. */
export interface ServedVariant extends Pick<ModelStatus, 'state' | 'fingerprint' | 'thinks'> {
  variant: string;
  engine: string;
  /** Size of all weights. */
  bytes: number;
  /** Sampling parameters that the variant adds to each request. */
  sampling: VariantSampling;
  /** Reasons for this variant, and against each one before it. */
  reasons: VariantReason[];
}

export interface ModelEntry {
  id: string;
  kind: ModelKind;
  created: number;
  ownedBy: string;
  /** Sampling parameters for requests that name none. */
  defaults: { temperature?: number; topP?: number };
  /** Whether the model may take images. A server decides itself what it takes. */
  vision?: () => boolean;
  /** Catalog entry of this model. */
  catalogModel?: CatalogModel;
}

export interface ResponseStore {
  /** Stores a response, and deletes the oldest beyond the limit. */
  put(response: StoredResponse): Promise<void>;
  /** Stored response; null if it is not found, or has expired. */
  get(id: string): Promise<StoredResponse | null>;
  delete(id: string): Promise<void>;
}

/** Answer of /v1/responses, with all that the next one requires to continue it. */
export interface StoredResponse {
  id: string;
  /** Key that the response was made with; other keys cannot see it. */
  keyId: string;
  /** Milliseconds since 1970. */
  created: number;
  /** Response as it was sent: JSON text, which keeps the numbers in schemas. */
  response: string;
  /** The request's input items, as the client may list them. */
  input: Record<string, unknown>[];
  /** Tools in the items of all requests so far, by item. */
  itemTools: object[][];
  /** Conversation including the reply, without instructions: they apply to one response only. */
  messages: ChatMessage[];
}

export interface KeyStore {
  /**
   * Checks a bearer token, and takes one request from its rate limit if that applies, in one transaction.
   * A bad key is a result with the reason, not an exception.
   */
  admit(token: string, isMetered: boolean): Promise<Admission>;
  /**
   * Counts a chat as in flight until the resulting function is called, or the caller has ended. Null: the key
   * has reached its limit of chats in flight.
   */
  enter(admitted: Admitted): Promise<(() => void) | null>;
  /**
   * Takes a chat's estimated tokens from the key's limit before it runs, so that chats that run together keep
   * to it. An estimate above the whole limit waits until all of it is free, and takes twice the limit at
   * most.
   */
  reserve(keyId: string, tokens: number): Promise<Reservation>;
  /** Replaces the reserved tokens by the tokens that the chat used. */
  settle(keyId: string, taken: number, used: number): Promise<void>;
}

export interface Reservation {
  /**
   * Time until the tokens are available; null: they are reserved. Otherwise none are, and the request that
   * `admit` counted is uncounted.
   */
  retryAfterMs: number | null;
  /** Tokens that were taken, for `settle`. */
  taken: number;
  limits: LimitState | null;
}

export type Admission =
  Admitted | { admitted: false; reason: 'malformed' | 'unknown' | 'revoked' | 'expired' };

export interface Admitted {
  admitted: true;
  keyId: string;
  label: string;
  /** Ids that the key may use; null: all. */
  models: string[] | null;
  /** Forbids servers to answer the key's requests. */
  deviceOnly: boolean;
  /** Chats that may run at once. */
  inFlightLimit: number;
  /** State of the limits on chat. */
  limits: LimitState | null;
  /** The key is valid, but its requests are used up. Reported after the faults of the request itself. */
  exceeded: { retryAfterMs: number } | null;
}

/** Limits that the `x-ratelimit-*` headers report. */
export type LimitState = Record<'requests' | 'tokens', { limit: number; remaining: number; resetMs: number }>;
