import type { ChatJob } from '../../jobs/chat.ts';
import type { DecisionEvent, DecisionJob, DecisionProgress, DecisionQuestion } from '../../jobs/decision.ts';
import type { Engine, LabelScores } from '../../engines/engine.ts';

/** Answers by the probability that a chat model gives to each label as its reply. */

/** An engine that can score labels. */
export type ScoringEngine = Engine<'chat'> & Required<Pick<Engine<'chat'>, 'score'>>;

type Input = Pick<DecisionJob, 'model' | 'input'>;

/** Scores without an input are kept for so many questions of one engine: forms and inboxes ask the same again. */
const MAX_PRIORS = 512;

/** Questions that are scored without the input per call: an engine that dies loses no more work. */
const PART = 32;

const priors = new WeakMap<ScoringEngine, Map<string, LabelScores>>();

/** Continues with the first question that has no answer. */
export async function* decideByLabels(
  engine: ScoringEngine,
  { model, input, questions, progress }: DecisionJob,
  signal: AbortSignal,
): AsyncGenerator<DecisionEvent, DecisionProgress, undefined> {
  let { answers, promptTokens, cachedTokens } = progress ?? { answers: [], promptTokens: 0, cachedTokens: 0 };
  while (answers.length < questions.length) {
    const part: { question: DecisionQuestion; prior: LabelScores }[] = [];
    // Before the input: between two questions they would push its state out of the cache.
    for (const question of questions.slice(answers.length, answers.length + PART))
      part.push({ question, prior: await priorOf(engine, model, question, signal) });
    for (const { question, prior } of part) {
      const scored = await engine.score(toChatJob({ model, input }, question), labelsOf(question), signal);
      if (answers.length === 0) ({ promptTokens, cachedTokens } = scored);
      // The input is counted once: the prompt without it is what this question adds.
      else promptTokens += prior.promptTokens;
      answers = [...answers, toProbabilities(question, scored, prior)];
      yield { type: 'delta', progress: { answers, promptTokens, cachedTokens } };
    }
  }
  return { answers, promptTokens, cachedTokens };
}

/**
 * Divides the probability of each label by the one that it has without the input, so that a common word has no advantage. The
 * labels do not stand in the prompt, so their order cannot matter.
 */
function toProbabilities({ type }: DecisionQuestion, scored: LabelScores, prior: LabelScores): number[] {
  const gains = scored.logProbabilities.map((score, index) => score - (prior.logProbabilities[index] ?? 0));
  const probabilities = softmax(gains);
  return type === 'predicate' ? probabilities.slice(0, 1) : probabilities;
}

async function priorOf(
  engine: ScoringEngine,
  model: string,
  question: DecisionQuestion,
  signal: AbortSignal,
): Promise<LabelScores> {
  const labels = labelsOf(question);
  const known = priors.get(engine) ?? new Map<string, LabelScores>();
  priors.set(engine, known);
  const key = JSON.stringify([question.instructions, labels]);
  const cached = known.get(key);
  if (cached) return cached;
  const prior = await engine.score(toChatJob({ model, input: { text: '' } }, question), labels, signal);
  const [oldest] = known.keys();
  if (known.size >= MAX_PRIORS && oldest !== undefined) known.delete(oldest);
  known.set(key, prior);
  return prior;
}

/** Labels with a space before each: most words are one token after a space, and such labels are read in one step. */
const labelsOf = ({ type, options }: DecisionQuestion): string[] =>
  type === 'predicate' ? [' yes', ' no'] : options.map(({ label }) => ` ${label}`);

/**
 * The input comes first: the questions after it share its state. Only images need the chat template; plain text asks the
 * smallest model better.
 */
function toChatJob({ model, input }: Input, { type, instructions }: DecisionQuestion): ChatJob {
  const { text, images } = input;
  const asked = `${text}\n\nQuestion: ${type === 'predicate' ? asQuestion(instructions) : instructions}`;
  const lead = type === 'predicate' ? 'Answer (yes or no):' : 'Answer:';
  const job = { kind: 'chat' as const, model, sampling: { temperature: 0, topP: 1 } };
  if (!images) return { ...job, input: { prompt: `${asked}\n${lead}` } };
  return {
    ...job,
    input: { messages: [{ role: 'user', content: asked, images }] },
    resume: { text: lead, tokens: 0 },
    reasoning: { enableThinking: false },
    thoughts: { text: '', ended: true },
  };
}

const asQuestion = (statement: string): string => `${statement.trim().replace(/(?<![.!?])[.!?]+$/, '')}?`;

export function softmax(scores: readonly number[]): number[] {
  const highest = Math.max(...scores);
  const weights = scores.map((score) => Math.exp(score - highest));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}
