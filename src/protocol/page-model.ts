import type { DraftSamplingMode } from '#jobs';

/** The browser's own model, which the leading tab's page has and its engine worker asks for. */
export interface PageModel {
  /** `absent`: the browser has no Prompt API. */
  availability(languages: readonly string[]): Promise<PageModelAvailability>;
  /**
   * Runs one request in a separate session. The port carries `PageModelEvent`s; any message to the page
   * aborts it.
   */
  prompt(request: PageModelRequest, port: MessagePort): Promise<void>;
}

export interface PageModelAvailability {
  state: 'absent' | 'unavailable' | 'downloadable' | 'downloading' | 'available';
  /** Whether sessions take a `samplingMode`. */
  samples: boolean;
  /** Whether sessions take images. */
  images: boolean;
}

export type PageModelPart = { type: 'text'; value: string } | { type: 'image'; value: ImageBitmap };

export interface PageModelMessage {
  role: 'system' | 'user' | 'assistant';
  content: string | PageModelPart[];
  /** The reply begins with this text. */
  prefix?: true;
}

/** Request in the terms of the Prompt API. */
export interface PageModelRequest {
  languages: readonly string[];
  /** Whether any message has one. */
  images: boolean;
  initialPrompts: PageModelMessage[];
  prompt: PageModelMessage[];
  /** Default: the browser's own. */
  samplingMode?: DraftSamplingMode;
  /** A JSON Schema. */
  responseConstraint?: Record<string, unknown>;
  maxTokens?: number;
  countOnly?: true;
}

/** Events in order: `counted` once, `delta` any number of times, `done` once; or `failed` at any time. */
export type PageModelEvent =
  /** Counts of the prompt. A prompt that does not fit has no further event. */
  | { type: 'counted'; promptTokens: number; contextLength: number }
  | { type: 'delta'; text: string; tokens: number }
  | { type: 'done'; finishReason: 'stop' | 'length'; completionTokens: number }
  /** `name`: name of the DOMException. `counts`: numbers of a `QuotaExceededError`. */
  | { type: 'failed'; name: string; message: string; counts?: { requested: number; quota: number } };
