import { runs, type Engine } from '#engine-kit';
import { similarities, type Events, type RerankJob } from '#jobs';

/** Scores documents by a reranker, or by the similarity of an embedding model's vectors. @throws ServiceError */
export async function* rank(
  engine: Engine<'embedding' | 'rerank'>,
  job: RerankJob,
  ...options: [AbortSignal, () => void]
): Events<'rerank'> {
  if (runs(engine, 'rerank')) return yield* engine.run(job, ...options);
  if (!runs(engine, 'embedding')) throw new TypeError(`${engine.fingerprint} does not rank`);
  const { model, client = '', query, documents, maxTokens = Infinity } = job;
  const input = { texts: [query, ...documents] };
  for await (const { vectors, ...event } of engine.run(
    { kind: 'embedding', model, client, input, ranks: { maxTokens } },
    ...options,
  ))
    yield { ...event, scores: similarities(vectors) };
}
