import { ServiceError } from '#base';
import {
  estimateTokens,
  decisionCharactersOf as charactersOf,
  type DecisionAnswer,
  type DecisionJob,
  type DecisionProgress,
} from '#jobs';
import { mayBeComputed, requireVision, reserve } from '../generation/admission.ts';
import type { Call } from '../http/call.ts';
import { answerJob } from '../http/answer-job.ts';
import { requireModel } from '../model-list/models.ts';
import { toDecisionInput, toDecisionQuestions } from './decision-input.ts';
import type { DecisionBody, QuestionBody } from './decision-schema.ts';

/** POST /v1/decisions */
export async function createDecision(
  call: Call,
  body: DecisionBody,
  request: Record<string, unknown>,
): Promise<Response> {
  const { dependencies, admitted, trace } = call;
  const input = toDecisionInput(body.input);
  const questions = toDecisionQuestions(body.questions);
  const model = await requireModel(dependencies.models, body.model, 'decision', admitted);
  const [image] = input.images ?? [];
  if (image) await requireVision(dependencies.models, model, image, admitted);
  const job: DecisionJob = { kind: 'decision', model: model.id, input, questions, request };
  const reserved = estimateTokens(charactersOf(job));
  const settle = await reserve(call, reserved);
  let used: number | null = null;
  return answerJob(call, model, job, {
    toBody({ type, progress }) {
      used = progress.promptTokens + progress.labelTokens;
      if (type !== 'done') return null;
      trace.usage({ ...progress, completionTokens: 0 });
      return toDecision(body, progress);
    },
    toError: renamed,
    async onEnd(stage) {
      call.leave();
      // No engine counts the tokens of a job that was cut off.
      await settle(used ?? (mayBeComputed(stage, call) ? reserved : 0));
    },
  });
}

/** Renames the field in an engine's error to the request's name for it. */
function renamed(error: unknown): unknown {
  if (!(error instanceof ServiceError)) return error;
  const { param } = error.wire;
  if (param !== 'messages' && !param?.startsWith('input[')) return error;
  // Texts after the first belong to the questions.
  const name = param === 'messages' || param === 'input[0]' ? 'input' : 'questions';
  return new ServiceError({ ...error.wire, param: name }, { cause: error });
}

/** OpenAI's `Decision`. */
function toDecision(
  { model, questions }: DecisionBody,
  { answers, promptTokens, cachedTokens }: DecisionProgress,
) {
  return {
    model,
    answers: questions.map((question, index) => toAnswer(question, answers[index] ?? null)),
    usage: {
      input_tokens: promptTokens,
      input_tokens_details: { cached_tokens: cachedTokens, cache_write_tokens: 0 },
      output_tokens: 0,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: promptTokens,
    },
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
