import { notNumbers } from '#base';
import type { Engine } from '#engine-kit';
import { CHARACTERS_A_TOKEN } from '#jobs';
import { PLACES } from '#gguf';
import type { Llama } from '#llama';
import { boundDocument, refuseOversizedInput } from '../embedding-rules.ts';
import { textParts, type TextPartsOptions } from './text-parts.ts';

/** A model in llama.cpp's server that scores pairs of texts. A pair is one part of a request. */
export function llamaReranker(
  llama: Pick<Llama, 'rank' | 'close'>,
  options: TextPartsOptions,
): Engine<'rerank'> {
  const { fingerprint, contextLength } = options;
  // The query is put in first: a place in its text would be filled with the document.
  const parts = textParts(llama, { ...options, reserved: [...options.reserved, ...PLACES] });

  return {
    kind: 'rerank',
    fingerprint,
    slots: Number.POSITIVE_INFINITY,
    traits: { contextLength },
    async *run(job, signal, onPrefill) {
      signal.throwIfAborted();
      refuseOversizedInput(job.query, 'query', contextLength);
      onPrefill?.();
      const query = parts.plain(job.query);
      const most = (job.maxTokens ?? Infinity) * CHARACTERS_A_TOKEN;
      const placeOf = (index: number): string => `documents[${index}]`;
      const pairs = await parts.each(job.documents, job, signal, placeOf, (document) =>
        parts.cut(boundDocument(document, contextLength), most, (kept) =>
          llama.rank(query, parts.plain(kept)),
        ),
      );
      const scores = pairs.map(({ score }) => score);
      if (!scores.every(Number.isFinite)) throw notNumbers();
      const promptTokens = pairs.reduce((sum, { tokens }) => sum + tokens, 0);
      yield { type: 'done', scores, promptTokens, fingerprint };
    },
    unload: () => parts.unload(),
  };
}
