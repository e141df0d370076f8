import {
  decisionCharactersOf as charactersOf,
  type DecisionAnswer,
  type DecisionJob,
  type DecisionQuestion,
} from '#jobs';
import * as z from '#base/zod';
import { count, details, listOf, tokensOfText } from './answer-schemas.ts';
import { readAnswer } from './read-answer.ts';
import { brokeBound, misshapen } from './upstream-failures.ts';
import type { RunOnServer } from './upstream-server.ts';

/** A probability with its value, on separate lines. */
const BYTES_PER_OPTION = 2048;
const BYTES_PER_ANSWER = 4096;

/** Tokens that a server may add to a question, or compute for an image. */
const TOKENS_A_QUESTION = 256;
const TOKENS_AN_IMAGE = 4096;

const probability = z.number().check(z.gte(0), z.lte(1));
const value = z.nullish(z.union([z.string(), z.boolean(), z.number()]));
const distribution = listOf(z.object({ probability, value, label: z.nullish(z.string()) }), 255);

const answerSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('predicate'), probability }),
  z.object({ type: z.literal('choice'), probabilities: distribution }),
  z.object({ type: z.literal('score'), probabilities: distribution }),
  z.object({ type: z.literal('refusal') }),
]);

const decisionSchema = z.object({
  answers: listOf(answerSchema, 400),
  usage: details({ input_tokens: count, input_tokens_details: details({ cached_tokens: count }) }),
});

/** Sends the request as the client wrote it, under the server's name of the model. */
export const upstreamDecision: RunOnServer<'decision'> = async function* (server, job, signal) {
  const { request, questions } = job;
  const sent = { ...request, model: server.variant.model };
  const response = await server.post('/decisions', sent, signal, { isOptional: true });
  yield { type: 'stage', stage: 'prefill', servedBy: server.fingerprint };
  const { answers, usage } = await readAnswer(response, decisionSchema, 'decisions', maxBytes(questions));
  if (answers.length !== questions.length) throw misshapen('decisions');
  const promptTokens = tokensOfText(usage?.input_tokens, charactersOf(job), maxHiddenTokens(job));
  yield {
    type: 'done',
    progress: {
      answers: answers.map((answer, index) => toProbabilities(answer, questions[index])),
      promptTokens,
      cachedTokens: Math.min(usage?.input_tokens_details?.cached_tokens ?? 0, promptTokens),
      labelTokens: 0,
    },
    fingerprint: server.fingerprint,
  };
};

/** Bytes that the answers to questions may have. */
const maxBytes = (questions: readonly DecisionQuestion[]): number =>
  questions.reduce((sum, { options }) => sum + options.length * BYTES_PER_OPTION, 0) +
  (1 + questions.length) * BYTES_PER_ANSWER;

/** Maximum tokens that a server may have computed in addition to those of the texts. */
const maxHiddenTokens = ({ questions, input }: DecisionJob): number =>
  (1 + questions.length) * TOKENS_A_QUESTION + (input.images?.length ?? 0) * TOKENS_AN_IMAGE;

/** @throws UpstreamError for an answer to another question */
function toProbabilities(
  answer: z.infer<typeof answerSchema>,
  question: DecisionQuestion | undefined,
): DecisionAnswer {
  if (answer.type === 'refusal') return null;
  if (answer.type === question?.type) {
    if ('probability' in answer) return [answer.probability];
    const ordered = inOrder(answer.probabilities, question);
    if (ordered) return ordered;
  }
  throw brokeBound('sent a decision that does not fit its question');
}

/**
 * The probabilities in the order of the options: a server may sort them. Undefined if they belong to other
 * options.
 */
function inOrder(shares: z.infer<typeof distribution>, { options }: DecisionQuestion): number[] | undefined {
  const remaining = [...shares];
  const ordered = options.flatMap(({ label }) => {
    const at = remaining.findIndex((share) => String(share.label ?? share.value) === label);
    return at < 0 ? [] : remaining.splice(at, 1).map((share) => share.probability);
  });
  return remaining.length === 0 && ordered.length === options.length ? ordered : undefined;
}
