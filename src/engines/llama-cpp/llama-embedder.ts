import type { EmbeddingTraining } from '#catalog';
import { engineCrashed, requestError, ServiceError, unsupported } from '#base';
import type { EmbeddingJob, Events } from '#jobs';
import { beginEmbedding, inputTooLong, refuseOversizedInput, vectorFault } from '../embedding-rules.ts';
import { outOfMemory, type Engine } from '#engine-kit';
import { CallerText } from '#chat-template';
import { inParts, PartQueue } from '#scheduling';
import { type Llama, RequestRejectedError, ServerMemoryError } from '#llama';

type Vector = Float32Array<ArrayBuffer>;

interface Embedded {
  vector: Vector;
  tokens: number;
}

interface EmbedderOptions extends EmbeddingTraining {
  fingerprint: string;
  /** Length of a vector. */
  dimensions: number;
  contextLength: number;
  /** Texts of special tokens, which no text to embed may become. */
  reserved: readonly string[];
}

/** An embedding model in llama.cpp's server. It computes one text at a time; requests take turns. */
export class LlamaEmbedder implements Engine<'embedding'> {
  readonly kind = 'embedding';
  readonly fingerprint: string;
  readonly slots = Number.POSITIVE_INFINITY;
  readonly facts: { contextLength: number };
  readonly #llama: Pick<Llama, 'embed' | 'close'>;
  readonly #options: EmbedderOptions;
  readonly #turns = new PartQueue();
  readonly #callers: CallerText;
  #dead = false;

  constructor(llama: Pick<Llama, 'embed' | 'close'>, options: EmbedderOptions) {
    this.#llama = llama;
    this.#options = options;
    this.#callers = new CallerText(options.reserved);
    this.fingerprint = options.fingerprint;
    this.facts = { contextLength: options.contextLength };
  }

  async *run(job: EmbeddingJob, signal: AbortSignal, onPrefill?: () => void): Events<'embedding'> {
    signal.throwIfAborted();
    onPrefill?.();
    const { input, toEvent } = beginEmbedding(job, this.#options, this.fingerprint);
    if ('tokens' in input)
      throw unsupported('input', 'must be text for this model: it cannot take token ids');
    for (const [index, text] of input.texts.entries())
      refuseOversizedInput(text, index, this.facts.contextLength);
    const vectors: Vector[] = [];
    let promptTokens = 0;
    const request = inParts(input.texts.length);
    for (const [index, text] of input.texts.entries()) {
      const { vector, tokens } = await this.#turns.run(request, () => this.#embed(text, index, signal));
      request.left--;
      vectors.push(vector);
      promptTokens += tokens;
    }
    yield toEvent(vectors, promptTokens);
  }

  async unload(): Promise<void> {
    this.#dead = true;
    await this.#llama.close();
  }

  async #embed(text: string, index: number, signal: AbortSignal): Promise<Embedded> {
    signal.throwIfAborted();
    if (this.#dead) throw engineCrashed(null);
    try {
      return await this.#compute(text);
    } catch (error) {
      throw this.#translate(error, index);
    }
  }

  async #compute(text: string): Promise<Embedded> {
    const { data, usage } = await this.#llama.embed(this.#callers.append('', text));
    const vector = Float32Array.from(data?.[0]?.embedding ?? []);
    const fault = vectorFault(vector, this.#options.dimensions);
    if (fault) throw fault;
    return { vector, tokens: usage?.prompt_tokens ?? 0 };
  }

  #translate(error: unknown, index: number): ServiceError {
    if (error instanceof RequestRejectedError) {
      const { promptTokens } = error;
      if (promptTokens !== undefined)
        return inputTooLong(index, String(promptTokens), this.#options.contextLength);
      const message = `The model's vocabulary has no tokens for some characters of input[${index}]. Leave them out, or choose another model.`;
      return requestError(400, message, 'invalid_value', `input[${index}]`);
    }
    if (error instanceof ServerMemoryError) {
      this.#dead = true;
      return outOfMemory(this.fingerprint, error);
    }
    if (error instanceof ServiceError) return error;
    this.#dead = true;
    return engineCrashed(error);
  }
}
