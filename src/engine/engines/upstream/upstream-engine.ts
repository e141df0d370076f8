import type OpenAI from 'openai';
import type { UpstreamVariant } from '../../../catalog/catalog.ts';
import type { EngineError } from '../../../protocol/engine-error.ts';
import { asUpstreamFailure, type FailureOptions } from './upstream-failures.ts';

/** A model on a server: what chat and embeddings have in common. */
export abstract class UpstreamEngine {
  readonly fingerprint: string;
  protected readonly client: OpenAI;
  /** The model's name on the server. */
  protected readonly model: string;
  readonly #failures: FailureOptions;

  constructor(client: OpenAI, variant: UpstreamVariant, failures: FailureOptions) {
    this.client = client;
    this.model = variant.model;
    this.#failures = failures;
    this.fingerprint = `${variant.name}-upstream`;
  }

  protected failure(error: unknown): EngineError {
    return asUpstreamFailure(error, this.#failures);
  }

  unload(): Promise<void> {
    return Promise.resolve();
  }
}
