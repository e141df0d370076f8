import type { ChatJob, DecisionEvent, DecisionJob, DecisionProgress, DecisionQuestion } from '#jobs';
import type { Engine, LabelScores } from '#engine-kit';

// Answers with the probability of each label as a chat model's reply.

/** An engine that can score labels. */
export type ScoringEngine = Engine<'chat'> & Required<Pick<Engine<'chat'>, 'score'>>;

type Input = Pick<DecisionJob, 'model' | 'input'>;

/** Maximum number of cached questions per engine. Forms and inboxes repeat the same questions. */
const MAX_PRIORS = 512;

/** Number of questions to score without the input in advance. An engine that dies loses at most this work. */
const PART = 32;

const NO_PROGRESS: DecisionProgress = { answers: [], promptTokens: 0, cachedTokens: 0, labelTokens: 0 };

const priors = new WeakMap<ScoringEngine, Map<string, LabelScores>>();

/** Answers a job's questions, starting with the first that `progress` does not answer. */
export async function* decideByLabels(
  engine: ScoringEngine,
  { model, input, questions, progress }: DecisionJob,
  signal: AbortSignal,
): AsyncGenerator<DecisionEvent, DecisionProgress, undefined> {
  let { answers, promptTokens, cachedTokens, labelTokens } = progress ?? NO_PROGRESS;
  while (answers.length < questions.length) {
    const part: { question: DecisionQuestion; prior: LabelScores }[] = [];
    // Score priors first: between two questions they would evict the input's state from the cache.
    for (const question of questions.slice(answers.length, answers.length + PART)) {
      const { prior, computed } = await priorOf(engine, model, question, signal);
      labelTokens += computed;
      part.push({ question, prior });
    }
    for (const { question, prior } of part) {
      const scored = await engine.score(toChatJob({ model, input }, question), labelsOf(question), signal);
      if (answers.length === 0) ({ promptTokens, cachedTokens } = scored);
      // Count the input once: later questions add only their prompt without the input.
      else promptTokens += prior.promptTokens;
      labelTokens += scored.labelTokens;
      answers = [...answers, toProbabilities(question, scored, prior)];
      yield { type: 'delta', progress: { answers, promptTokens, cachedTokens, labelTokens } };
    }
  }
  return { answers, promptTokens, cachedTokens, labelTokens };
}

/**
 * Divides the probability of each label by its probability without the input, so that common words have no
 * advantage. The labels are not part of the prompt, so their order has no effect.
 */
function toProbabilities({ type }: DecisionQuestion, scored: LabelScores, prior: LabelScores): number[] {
  const gains = scored.logProbabilities.map((score, index) => score - (prior.logProbabilities[index] ?? 0));
  const probabilities = softmax(gains);
  return type === 'predicate' ? probabilities.slice(0, 1) : probabilities;
}

/** Scores a question without the input. @returns `computed`: number of tokens that this took now */
async function priorOf(
  engine: ScoringEngine,
  model: string,
  question: DecisionQuestion,
  signal: AbortSignal,
): Promise<{ prior: LabelScores; computed: number }> {
  const labels = labelsOf(question);
  const known = priors.get(engine) ?? new Map<string, LabelScores>();
  priors.set(engine, known);
  const key = JSON.stringify([question.instructions, labels]);
  const cached = known.get(key);
  if (cached) return { prior: cached, computed: 0 };
  const prior = await engine.score(toChatJob({ model, input: { text: '' } }, question), labels, signal);
  const [oldest] = known.keys();
  if (known.size >= MAX_PRIORS && oldest !== undefined) known.delete(oldest);
  known.set(key, prior);
  return { prior, computed: prior.promptTokens - prior.cachedTokens + prior.labelTokens };
}

/** Prepends a space to each label: after a space most words are one token, and such labels are scored in one step. */
const labelsOf = ({ type, options }: DecisionQuestion): string[] =>
  type === 'predicate' ? [' yes', ' no'] : options.map(({ label }) => ` ${label}`);

/**
 * Builds the prompt of a question. The input comes first, so that all questions share its state. Only images
 * require the chat template: without it the smallest model answers better.
 */
function toChatJob({ model, input }: Input, { type, instructions }: DecisionQuestion): ChatJob {
  const { text, images } = input;
  const content = `${text}\n\nQuestion: ${type === 'predicate' ? asQuestion(instructions) : instructions}`;
  const lead = type === 'predicate' ? 'Answer (yes or no):' : 'Answer:';
  const job = { kind: 'chat' as const, model, sampling: { temperature: 0, topP: 1 } };
  if (!images) return { ...job, input: { prompt: `${content}\n${lead}`, isText: true } };
  return {
    ...job,
    input: { messages: [{ role: 'user', content, images }] },
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
