import { ServiceError } from '#base';
import {
  estimateTokens,
  decisionCharactersOf as charactersOf,
  type DecisionAnswer,
  type DecisionProgress,
} from '#jobs';
import { MAX_TOKENS } from '../generation/admission.ts';
import { answerWhole } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { toResponseUsage } from '../responses/response-object.ts';
import { toDecisionInput, toDecisionQuestions } from './decision-input.ts';
import type { DecisionBody, QuestionBody } from './decision-schema.ts';

/** POST /v1/decisions */
export async function createDecision(
  exchange: Exchange,
  body: DecisionBody,
  request: Record<string, unknown>,
): Promise<Response> {
  const input = toDecisionInput(body.input);
  const questions = toDecisionQuestions(body.questions);
  const options = questions.reduce((sum, each) => sum + each.options.length, 0);
  // Each option takes a step, or more.
  const reserved = Math.min(estimateTokens(charactersOf({ input, questions })), MAX_TOKENS) + options;
  return answerWhole(
    exchange,
    { model: body.model, kind: 'decision', images: input.images ?? [], reserved },
    ({ id }) => ({ kind: 'decision', model: id, input, questions, request }),
    ({ type, progress }, meter) => {
      const { promptTokens, cachedTokens, labelTokens } = progress;
      meter.count(promptTokens + labelTokens, { promptTokens, cachedTokens, completionTokens: 0 });
      return type === 'done' ? toDecision(body, progress) : null;
    },
    renamed,
  );
}

/** Renames the field in an engine's error to the request's name for it. */
function renamed(error: unknown): unknown {
  if (!(error instanceof ServiceError)) return error;
  const { param } = error.wire;
  if (param !== 'messages' && !param?.startsWith('input[')) return error;
  // Texts after the first belong to the questions.
  const name = param === 'messages' || param === 'input[0]' ? 'input' : 'questions';
  const text = error.wire.message.replace('the messages', 'the input or the questions');
  const message = text.replace(/\binput\[\d+\]/, `a text of \`${name}\``);
  return new ServiceError({ ...error.wire, param: name, message }, { cause: error });
}

/** OpenAI's `Decision`. */
function toDecision(
  { model, questions }: DecisionBody,
  { answers, promptTokens, cachedTokens }: DecisionProgress,
) {
  return {
    model,
    answers: questions.map((question, index) => toAnswer(question, answers[index] ?? null)),
    usage: toResponseUsage({ promptTokens, cachedTokens, completionTokens: 0 }),
  };
}

function toAnswer(question: QuestionBody, probabilities: DecisionAnswer) {
  const name = question.name ?? null;
  if (probabilities === null) return { type: 'refusal' as const, name };
  const at = (index: number): number => probabilities[index] ?? 0;
  if (question.type === 'predicate') return { type: 'predicate' as const, name, probability: at(0) };
  const confidence = Math.max(...probabilities);
  if (question.type === 'choice')
    return {
      type: 'choice' as const,
      name,
      choice: question.choices[probabilities.indexOf(confidence)]?.value ?? '',
      confidence,
      probabilities: question.choices.map(({ value }, index) => ({ value, probability: at(index) })),
    };
  return {
    type: 'score' as const,
    name,
    score: probabilities.reduce((sum, probability, level) => sum + probability * level, 0),
    confidence,
    probabilities: question.levels.map(({ label }, value) => ({ label, value, probability: at(value) })),
  };
}
