import type OpenAI from 'openai';
import type { UpstreamVariant } from '../../../catalog/catalog.ts';
import type { EngineError } from '../../../protocol/engine-error.ts';
import { asUpstreamFailure } from './upstream-failures.ts';

/** A model on a server: what chat and embeddings have in common. */
export abstract class UpstreamEngine {
  readonly fingerprint: string;
  protected readonly client: OpenAI;
  /** The model's name on the server. */
  protected readonly model: string;
  readonly #key: string | undefined;

  constructor(client: OpenAI, variant: UpstreamVariant, key: string | undefined) {
    this.client = client;
    this.model = variant.model;
    this.#key = key;
    this.fingerprint = `${variant.name}-upstream`;
  }

  protected failure(error: unknown): EngineError {
    return asUpstreamFailure(error, this.#key);
  }

  unload(): Promise<void> {
    return Promise.resolve();
  }
}
