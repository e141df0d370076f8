import { isReady, loadFor } from '../client/downloads.ts';
import { EMBEDDING_MODEL } from '../client/models.ts';
import { openai } from '../client/openai.ts';

export interface Embedded {
  texts: string[];
  /** L2-normalised, in the order of `texts`. */
  vectors: number[][];
  tokens: number;
  /** Null: the time had a load in it. */
  ms: number | null;
}

/** Texts per request; a long list can be stopped between requests. */
const BATCH = 128;

/** @param onProgress gets the number of embedded texts */
export async function embed(
  texts: string[],
  controller: AbortController,
  onProgress?: (done: number) => void,
): Promise<Embedded> {
  const { signal } = controller;
  const wasReady = isReady(EMBEDDING_MODEL);
  void loadFor(EMBEDDING_MODEL, () => controller.abort());
  const client = await openai();
  const startedAt = performance.now();
  const vectors: number[][] = [];
  let tokens = 0;
  for (let start = 0; start < texts.length; start += BATCH) {
    const input = texts.slice(start, start + BATCH);
    const answer = await client.embeddings.create({ model: EMBEDDING_MODEL, input }, { signal });
    for (const { embedding } of answer.data) vectors.push(embedding);
    tokens += answer.usage.total_tokens;
    onProgress?.(vectors.length);
  }
  return { texts, vectors, tokens, ms: wasReady ? performance.now() - startedAt : null };
}
