import type { DecisionAnswer, DecisionProgress } from '../../jobs/decision.ts';
import type { DecisionBody, QuestionBody } from './decision-schema.ts';

/** OpenAI's `Decision`. */
export function toDecision(
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
  if (question.type === 'choice') {
    return {
      type: 'choice' as const,
      name,
      choice: question.choices[probabilities.indexOf(confidence)]?.value ?? '',
      confidence,
      probabilities: question.choices.map(({ value }, index) => ({ value, probability: at(index) })),
    };
  }
  return {
    type: 'score' as const,
    name,
    score: probabilities.reduce((sum, probability, level) => sum + probability * level, 0),
    confidence,
    probabilities: question.levels.map(({ label }, value) => ({ label, value, probability: at(value) })),
  };
}
