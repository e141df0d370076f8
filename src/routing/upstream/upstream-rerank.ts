import { CHARACTERS_A_TOKEN, similarities } from '#jobs';
import * as z from '#base/zod';
import { listOf, readUsage, tokensOfText } from './answer-schemas.ts';
import { readAnswer } from './read-answer.ts';
import { upstreamEmbedding } from './upstream-embedding.ts';
import { brokeBound } from './upstream-failures.ts';
import type { RunOnServer } from './upstream-server.ts';

const BYTES_PER_RESULT = 4096;
/** Tokens that a server may add to a pair of texts. */
const HIDDEN_TOKENS = 256;

const rerankSchema = (documents: number) =>
  z.object({
    results: listOf(z.object({ index: z.int(), relevance_score: z.number() }), documents),
    usage: z.optional(z.unknown()),
  });

/** Ranks by a server's `/rerank`, or by the vectors of its embedding model. */
export const upstreamRerank: RunOnServer<'rerank'> = (server, job, signal) =>
  (server.variant.dimensions === undefined ? byReranker : byVectors)(server, job, signal);

const byReranker: RunOnServer<'rerank'> = async function* (server, job, signal) {
  const { query, documents, maxTokens } = job;
  const { variant, fingerprint } = server;
  const fields = { top_n: documents.length, return_documents: false, max_tokens_per_doc: maxTokens };
  const body = { model: variant.model, query, documents, ...fields };
  const response = await server.post('/rerank', body, signal);
  yield { type: 'stage', stage: 'prefill', servedBy: fingerprint };
  // A server may send each document back.
  const echoed = JSON.stringify(documents).length * CHARACTERS_A_TOKEN;
  const maxBytes = (1 + documents.length) * BYTES_PER_RESULT + echoed;
  const schema = rerankSchema(documents.length);
  const { results, usage } = await readAnswer(response, schema, 'a ranking', maxBytes);
  const found = new Map(results.map(({ index, relevance_score: score }) => [index, score]));
  const scores = documents.flatMap((_, index) => found.get(index) ?? []);
  if (scores.length !== documents.length) throw brokeBound('gave no score for one of the documents');
  const { prompt } = readUsage(usage, variant.contextLength * documents.length);
  const characters = documents.reduce((sum, { length }) => sum + length + query.length, 0);
  yield {
    type: 'done',
    scores,
    promptTokens: tokensOfText(prompt, characters, documents.length * HIDDEN_TOKENS),
    fingerprint,
  };
};

const byVectors: RunOnServer<'rerank'> = async function* (server, job, signal) {
  const { model, query, documents, maxTokens = Infinity } = job;
  const most = Math.min(maxTokens, server.variant.contextLength) * CHARACTERS_A_TOKEN;
  const texts = [query, ...documents.map((text) => text.slice(0, most).toWellFormed())];
  for await (const event of upstreamEmbedding(server, { kind: 'embedding', model, input: { texts } }, signal))
    if (event.type === 'done') {
      const { vectors, ...others } = event;
      yield { ...others, scores: similarities(vectors) };
    } else yield event;
};
