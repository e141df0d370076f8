import type { DecisionAnswer, DecisionJob, DecisionProgress, DecisionQuestion } from '../../jobs/decision.ts';
import type { Engine } from '../runtimes/engine.ts';
import { softmax } from './label-decisions.ts';

/** Answers by the similarity of the input to each described option, for embedding models. */

/** Divides similarities before they become probabilities; chosen by the calibration error. */
const TEMPERATURE = 0.05;

export async function decideBySimilarity(
  engine: Engine<'embedding'>,
  { model, input, questions }: DecisionJob,
  signal: AbortSignal,
): Promise<DecisionProgress> {
  const texts = [input.text, ...questions.flatMap(optionTexts)];
  for await (const { vectors, promptTokens } of engine.run(
    { kind: 'embedding', model, input: { texts } },
    signal,
  ))
    return { answers: toAnswers(questions, vectors), promptTokens, cachedTokens: 0 };
  throw new Error('the engine gave no vectors');
}

/** @param vectors of the input, then of the options of each question; of length 1 */
function toAnswers(
  questions: readonly DecisionQuestion[],
  [input = new Float32Array(), ...options]: readonly Float32Array[],
): DecisionAnswer[] {
  let at = 0;
  return questions.map((question) => {
    const { length } = optionTexts(question);
    const vectors = options.slice(at, at + length);
    at += length;
    const probabilities = softmax(vectors.map((vector) => dot(input, vector) / TEMPERATURE));
    return question.type === 'predicate' ? probabilities.slice(0, 1) : probabilities;
  });
}

/** A predicate is compared with its opposite, which has most of its words. */
function optionTexts({ type, instructions, options }: DecisionQuestion): string[] {
  if (type === 'predicate') return [instructions, `It is not true that: ${instructions}`];
  return options.map(({ label, description }) => (description ? `${label}: ${description}` : label));
}

const dot = (a: Float32Array, b: Float32Array): number =>
  a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
