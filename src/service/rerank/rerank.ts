import { isContextLengthError, ServiceError } from '#base';
import { CHARACTERS_A_TOKEN, estimateTokens, type EmbeddingEvent } from '#jobs';
import { type AnswerFormat, respond } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { JobMeter, JobRun } from '../http/job-run.ts';
import { JSON_TYPE } from '../http/response.ts';
import type { RerankBody } from './rerank-schema.ts';

/** Tokens that a model adds to each text. */
const HIDDEN_TOKENS = 2;
/** Part that is kept of documents longer than the model's context, at each try. */
const KEPT_SHARE = 0.75;
/** From a million characters to those of the shortest context. */
const MAX_CUTS = 40;

/** POST /v1/rerank: by the similarity of the query's vector with those of the documents. */
export async function createRerank(exchange: Exchange, body: RerankBody): Promise<Response> {
  const query = body.query.toWellFormed();
  const documents = body.documents.map((each) =>
    (typeof each === 'string' ? each : each.text).toWellFormed(),
  );
  const texts = [query, ...documents];
  const characters = texts.reduce((sum, { length }) => sum + length, 0);
  const reserved = estimateTokens(characters) + texts.length * HIDDEN_TOKENS;
  const meter = new JobMeter(reserved);
  const run = await JobRun.admit(exchange, {
    model: body.model,
    kind: 'embedding',
    meter,
    isStreamed: false,
    reserved,
  });
  let answer = '';
  const format: AnswerFormat<EmbeddingEvent> = {
    type: JSON_TYPE,
    event({ vectors, promptTokens }) {
      meter.count(promptTokens, { promptTokens });
      answer = toAnswer(body, documents, vectors, promptTokens);
      return '';
    },
    end: () => answer,
  };
  return respond(run, format, (sink) =>
    embedCut(documents, body.max_tokens_per_doc ?? Infinity, (kept) =>
      run.run(
        { kind: 'embedding' as const, model: run.model.id, input: { texts: [query, ...kept] }, ranks: true },
        sink,
      ),
    ),
  );
}

/** Embeds documents, and cuts those that are too long for the model. */
async function embedCut(
  documents: readonly string[],
  maxTokens: number,
  embed: (texts: string[]) => Promise<void>,
): Promise<void> {
  let most = maxTokens * CHARACTERS_A_TOKEN;
  for (let cuts = 0; ; cuts++) {
    const texts = documents.map((text) => text.slice(0, most).toWellFormed());
    try {
      return await embed(texts);
    } catch (error) {
      const tooLong = cuts < MAX_CUTS && isTooLong(error) ? texts[placeOf(error) - 1] : undefined;
      if (tooLong === undefined) throw renamed(error);
      most = Math.max(1, Math.floor(tooLong.length * KEPT_SHARE));
    }
  }
}

const isTooLong = (error: unknown): error is ServiceError =>
  isContextLengthError(error) ||
  (error instanceof ServiceError && error.wire.code === 'context_length_exceeded');

/** Index of the text that an engine refuses; -1 if it names none. */
const placeOf = ({ wire }: ServiceError): number =>
  Number(/^input\[(\d+)\]/.exec(wire.param ?? '')?.[1] ?? -1);

/** Names the request's field in an engine's error. */
function renamed(error: unknown): unknown {
  if (!(error instanceof ServiceError)) return error;
  const at = placeOf(error);
  if (at < 0) return error;
  const param = at === 0 ? 'query' : `documents[${at - 1}]`;
  const message = error.message.replace(`input[${at}]`, param);
  return new ServiceError({ ...error.wire, message, param }, { cause: error });
}

/** The answer that Cohere, Jina, vLLM and llama.cpp share. Scores are cosines, 0 at least. */
function toAnswer(
  { model, top_n: count, return_documents: isWithText }: RerankBody,
  documents: readonly string[],
  [query, ...vectors]: readonly Float32Array[],
  promptTokens: number,
): string {
  const results = vectors
    .map((vector, index) => ({
      index,
      relevance_score: Math.min(1, Math.max(0, dot(query ?? vector, vector))),
      ...(isWithText && { document: { text: documents[index] } }),
    }))
    .toSorted((a, b) => b.relevance_score - a.relevance_score || a.index - b.index)
    .slice(0, count ?? documents.length);
  const usage = { prompt_tokens: promptTokens, total_tokens: promptTokens };
  return JSON.stringify({ object: 'list', model, results, usage });
}

const dot = (a: Float32Array, b: Float32Array): number =>
  a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);
