import {
  cosine,
  type DecisionAnswer,
  type DecisionJob,
  type DecisionProgress,
  type DecisionQuestion,
  type EmbeddingResult,
  type Job,
} from '#jobs';
import type { Engine } from '#engine-kit';
import { softmax } from './label-decisions.ts';

// Answers with the similarity of the input to each option's description, for embedding models.

/** Temperature of the softmax over similarities. docs/typed-answers.md has the calibration error. */
const TEMPERATURE = 0.04;

/** Unrelated texts. A predicate is true if the input is closer to it than to any of these. */
const UNRELATED = [
  'The meeting is on Monday at ten.',
  'I bought a new chair for the kitchen.',
  'She walks along the river every evening.',
  'The report has twelve pages.',
  'Please open the window.',
  'He has two brothers and a sister.',
  'The train stops at the next village.',
  'They painted the old door green.',
];

const unrelated = new WeakMap<Engine<'embedding'>, Float32Array[]>();

export async function decideBySimilarity(
  engine: Engine<'embedding'>,
  job: DecisionJob,
  signal: AbortSignal,
): Promise<DecisionProgress> {
  const { input, questions } = job;
  const embed = (texts: string[]) => embedTexts(engine, job, texts, signal);
  const others = unrelated.get(engine) ?? (await embed(UNRELATED)).vectors;
  unrelated.set(engine, others);
  const { vectors, promptTokens } = await embed([input.text, ...questions.flatMap(meanings).flat()]);
  return { answers: toAnswers(questions, vectors, others), promptTokens, cachedTokens: 0, labelTokens: 0 };
}

export async function embedTexts(
  engine: Engine<'embedding'>,
  { model, client = '' }: Pick<Job, 'model' | 'client'>,
  texts: string[],
  signal: AbortSignal,
): Promise<EmbeddingResult> {
  for await (const result of engine.run({ kind: 'embedding', model, client, input: { texts } }, signal))
    return result;
  throw new Error('the engine gave no vectors');
}

/** @param vectors unit vectors of the input, then of the texts of each question */
function toAnswers(
  questions: readonly DecisionQuestion[],
  [input = new Float32Array(), ...vectors]: readonly Float32Array[],
  others: readonly Float32Array[],
): DecisionAnswer[] {
  const toInput = (vector: Float32Array): number => cosine(vector, input);
  const nearest = Math.max(...others.map(toInput));
  let at = 0;
  return questions.map((question) => {
    const scores = meanings(question).map(({ length }) => {
      const own = vectors.slice(at, (at += length)).map(toInput);
      return own.reduce((sum, value) => sum + value, 0) / length;
    });
    const isPredicate = question.type === 'predicate';
    const probabilities = softmax(
      [...scores, ...(isPredicate ? [nearest] : [])].map((score) => score / TEMPERATURE),
    );
    return isPredicate ? probabilities.slice(0, 1) : probabilities;
  });
}

/** Lists the texts that represent each option. A score's label is left out if it has a description, which says more. */
function meanings({ type, instructions, options }: DecisionQuestion): string[][] {
  if (type === 'predicate') return [[instructions]];
  return options.map(({ label, description }) => {
    if (!description) return [label];
    return type === 'score' ? [description] : [label, description];
  });
}
