import type { EmbeddingTraining } from '#catalog';
import { unsupported } from '#base';
import { CHARACTERS_A_TOKEN } from '#jobs';
import type { Engine } from '#engine-kit';
import type { Llama } from '#llama';
import { beginEmbedding, refuseOversizedInput, vectorFault } from '../embedding-rules.ts';
import { textParts, type TextPartsOptions } from './text-parts.ts';

interface EmbedderOptions extends TextPartsOptions, EmbeddingTraining {
  /** Length of a vector. */
  dimensions: number;
}

/** An embedding model in llama.cpp's server. */
export function llamaEmbedder(
  llama: Pick<Llama, 'embed' | 'close'>,
  options: EmbedderOptions,
): Engine<'embedding'> {
  const { fingerprint, contextLength, dimensions } = options;
  const parts = textParts(llama, options);
  const embed = async (text: string) => {
    const { data, usage } = await llama.embed(parts.plain(text));
    const vector = Float32Array.from(data?.[0]?.embedding ?? []);
    const fault = vectorFault(vector, dimensions);
    if (fault) throw fault;
    return { vector, tokens: usage?.prompt_tokens ?? 0 };
  };

  return {
    kind: 'embedding',
    fingerprint,
    slots: Number.POSITIVE_INFINITY,
    traits: { contextLength },
    async *run(job, signal, onPrefill) {
      signal.throwIfAborted();
      const { input, placeOf, cutOf, toEvent } = beginEmbedding(job, options, fingerprint);
      if ('tokens' in input)
        throw unsupported('input', 'must be text for this model: it cannot take token ids');
      for (const [index, text] of input.texts.entries())
        refuseOversizedInput(text, placeOf(index), contextLength);
      onPrefill?.();
      const embedded = await parts.each(input.texts, job, signal, placeOf, (text, index) => {
        const most = cutOf(index);
        if (most === undefined) return embed(text);
        return parts.cut(text, most * CHARACTERS_A_TOKEN, embed);
      });
      const promptTokens = embedded.reduce((sum, { tokens }) => sum + tokens, 0);
      yield toEvent(
        embedded.map(({ vector }) => vector),
        promptTokens,
      );
    },
    unload: () => parts.unload(),
  };
}
