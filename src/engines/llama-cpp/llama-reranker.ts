import { serverError } from '#base';
import type { Engine } from '#engine-kit';
import { CHARACTERS_A_TOKEN, type Events, type RerankJob } from '#jobs';
import type { Llama } from '#llama';
import { boundDocument, refuseOversizedInput } from '../embedding-rules.ts';
import { TextParts, type TextPartsOptions } from './text-parts.ts';

/** Places of llama.cpp's prompts for rerankers. The query is put in first: one in its text would be filled with the document. */
const PLACES = ['{query}', '{document}'];

/** A model in llama.cpp's server that scores pairs of texts. A pair is one part of a request. */
export class LlamaReranker implements Engine<'rerank'> {
  readonly kind = 'rerank';
  readonly fingerprint: string;
  readonly slots = Number.POSITIVE_INFINITY;
  readonly traits: { contextLength: number };
  readonly #llama: Pick<Llama, 'rank'>;
  readonly #parts: TextParts;

  constructor(llama: Pick<Llama, 'rank' | 'close'>, options: TextPartsOptions) {
    this.#llama = llama;
    this.#parts = new TextParts(llama, { ...options, reserved: [...options.reserved, ...PLACES] });
    this.fingerprint = options.fingerprint;
    this.traits = { contextLength: options.contextLength };
  }

  async *run(job: RerankJob, signal: AbortSignal, onPrefill?: () => void): Events<'rerank'> {
    signal.throwIfAborted();
    onPrefill?.();
    const { contextLength } = this.traits;
    refuseOversizedInput(job.query, 'query', contextLength);
    const query = this.#parts.plain(job.query);
    const most = (job.maxTokens ?? Infinity) * CHARACTERS_A_TOKEN;
    const placeOf = (index: number): string => `documents[${index}]`;
    const pairs = await this.#parts.each(job.documents, signal, placeOf, (document) =>
      this.#parts.cut(boundDocument(document, contextLength), most, (kept) =>
        this.#llama.rank(query, this.#parts.plain(kept)),
      ),
    );
    const scores = pairs.map(({ score }) => score);
    if (!scores.every(Number.isFinite)) throw damaged();
    const promptTokens = pairs.reduce((sum, { tokens }) => sum + tokens, 0);
    yield { type: 'done', scores, promptTokens, fingerprint: this.fingerprint };
  }

  unload(): Promise<void> {
    return this.#parts.unload();
  }
}

const damaged = () =>
  serverError(
    'engine_failed',
    'The model did not return a finite score. Its file may be damaged: use another model.',
  );
