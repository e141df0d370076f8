import { omitNulls } from '#base';
import { estimateTokens } from '#jobs';
import { MAX_TOKENS } from '../generation/admission.ts';
import { answerWhole } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import type { RerankBody } from './rerank-schema.ts';

/** Tokens that a model adds to each text. */
const HIDDEN_TOKENS = 2;
/** Characters that a tokenizer reads in the time in which a model computes a token. It reads texts that are cut then. */
const READ_A_TOKEN = 256;

/** POST /v1/rerank */
export async function createRerank(exchange: Exchange, body: RerankBody): Promise<Response> {
  const query = body.query.toWellFormed();
  const documents = body.documents.map((each) =>
    (typeof each === 'string' ? each : each.text).toWellFormed(),
  );
  // A reranker reads the query with each document.
  const characters = documents.reduce((sum, { length }) => sum + query.length + length, 0);
  const tokens = documents.map(({ length }) => Math.min(estimateTokens(query.length + length), MAX_TOKENS));
  const reserved = tokens.reduce((sum, each) => sum + each, (documents.length + 1) * HIDDEN_TOKENS);
  const maxTokens = omitNulls({ maxTokens: body.max_tokens_per_doc });
  return answerWhole(
    exchange,
    { model: body.model, kind: 'rerank', reserved },
    ({ id }) => ({ kind: 'rerank', model: id, query, documents, ...maxTokens }),
    ({ scores, promptTokens }, meter) => {
      meter.count(Math.max(promptTokens, Math.ceil(characters / READ_A_TOKEN)), { promptTokens });
      return toAnswer(body, documents, scores, promptTokens);
    },
  );
}

/** The answer that Cohere, Jina, vLLM and llama.cpp share. */
function toAnswer(
  { model, top_n: count, return_documents: isWithText }: RerankBody,
  documents: readonly string[],
  scores: readonly number[],
  promptTokens: number,
): object {
  const results = scores
    .map((score, index) => ({
      index,
      relevance_score: score,
      ...(isWithText && { document: { text: documents[index] } }),
    }))
    .toSorted((a, b) => b.relevance_score - a.relevance_score || a.index - b.index)
    .slice(0, count ?? documents.length);
  const usage = { prompt_tokens: promptTokens, total_tokens: promptTokens };
  return { object: 'list', model, results, usage };
}
