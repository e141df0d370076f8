import type { EmbeddingTraining } from '#catalog';
import { unsupported } from '#base';
import { CHARACTERS_A_TOKEN, type EmbeddingJob, type Events } from '#jobs';
import type { Engine } from '#engine-kit';
import type { Llama } from '#llama';
import { beginEmbedding, refuseOversizedInput, vectorFault } from '../embedding-rules.ts';
import { TextParts, type TextPartsOptions } from './text-parts.ts';

interface Embedded {
  vector: Float32Array<ArrayBuffer>;
  tokens: number;
}

interface EmbedderOptions extends TextPartsOptions, EmbeddingTraining {
  /** Length of a vector. */
  dimensions: number;
}

/** An embedding model in llama.cpp's server. */
export class LlamaEmbedder implements Engine<'embedding'> {
  readonly kind = 'embedding';
  readonly fingerprint: string;
  readonly slots = Number.POSITIVE_INFINITY;
  readonly traits: { contextLength: number };
  readonly #llama: Pick<Llama, 'embed'>;
  readonly #options: EmbedderOptions;
  readonly #parts: TextParts;

  constructor(llama: Pick<Llama, 'embed' | 'close'>, options: EmbedderOptions) {
    this.#llama = llama;
    this.#options = options;
    this.#parts = new TextParts(llama, options);
    this.fingerprint = options.fingerprint;
    this.traits = { contextLength: options.contextLength };
  }

  async *run(job: EmbeddingJob, signal: AbortSignal, onPrefill?: () => void): Events<'embedding'> {
    signal.throwIfAborted();
    onPrefill?.();
    const { input, placeOf, cutOf, toEvent } = beginEmbedding(job, this.#options, this.fingerprint);
    if ('tokens' in input)
      throw unsupported('input', 'must be text for this model: it cannot take token ids');
    for (const [index, text] of input.texts.entries())
      refuseOversizedInput(text, placeOf(index), this.traits.contextLength);
    const embedded = await this.#parts.each(input.texts, signal, placeOf, (text, index) => {
      const most = cutOf(index);
      if (most === undefined) return this.#embed(text);
      return this.#parts.cut(text, most * CHARACTERS_A_TOKEN, this.#embed);
    });
    const promptTokens = embedded.reduce((sum, { tokens }) => sum + tokens, 0);
    yield toEvent(
      embedded.map(({ vector }) => vector),
      promptTokens,
    );
  }

  unload(): Promise<void> {
    return this.#parts.unload();
  }

  readonly #embed = async (text: string): Promise<Embedded> => {
    const { data, usage } = await this.#llama.embed(this.#parts.plain(text));
    const vector = Float32Array.from(data?.[0]?.embedding ?? []);
    const fault = vectorFault(vector, this.#options.dimensions);
    if (fault) throw fault;
    return { vector, tokens: usage?.prompt_tokens ?? 0 };
  };
}
