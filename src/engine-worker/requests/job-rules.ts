import { isContextLengthError } from '#base';
import {
  charactersOf,
  estimateTokens,
  imagesOf,
  repeats,
  type ChatImage,
  type DecisionOption,
  type DecisionQuestion,
  type Events,
  type EventOf,
  type Job,
  type JobOf,
  type Kind,
  type ModelKind,
  type ModelOf,
} from '#jobs';
import { rank, type ModelManager } from '#models';
import type { Origin } from '#protocol';
import { POLICY, type LeaseOptions } from '#scheduling';
import type { Engine } from '#engine-kit';
import { dropOldestTurns, MAX_TRUNCATIONS } from './truncate-messages.ts';
import { withGrammar } from './with-grammar.ts';

/** Rules for running a kind of job. */
interface JobRules<K extends Kind> {
  /** Completes the job before it queues; null: no model runs it. @throws ServiceError */
  prepare?(request: Unprepared<K>, signal: AbortSignal): Promise<JobOf<K> | null>;
  /** The answer if no model runs the job, or if that fails. Absent: an error. */
  otherwise?: EventOf<K>;
  /** Adapts the job to the engine. @throws ServiceError 400 */
  compile?(
    engine: Engine<ModelOf<K>>,
    job: JobOf<K>,
    signal: AbortSignal,
  ): Promise<{ job: JobOf<K>; loosened?: string[] }>;
  run: RunJob<K>;
  /** Estimates the time that the job takes an engine, in reply tokens. */
  work(job: JobOf<K>): number;
  /** Whether the job must restart from its beginning after an interruption. Absent if it never does. */
  restarts?(job: JobOf<K>): boolean;
  /** Set if a pause discards a part of the answer that takes seconds: pauses then wait for the end of a part. */
  hasLongParts?: true;
  /** Whether the job yields its slot even if it is brief, if its answer is not streamed. Absent if it does not. */
  yieldsWhenBrief?(job: JobOf<K>): boolean;
  /** Selects which equal requests of the client share the job's answer. Absent: all. */
  sharedWith?(job: JobOf<K>): 'all' | 'retries' | 'none';
}

interface Unprepared<K extends Kind> {
  job: JobOf<K>;
  imageOrigins: readonly string[];
  models: ModelManager;
  onStage(stage: 'loading'): void;
}

export type RunJob<K extends Kind> = (
  engine: Engine<ModelOf<K>>,
  job: JobOf<K>,
  signal: AbortSignal,
  onPrefill: () => void,
) => AsyncIterable<EventOf<K>>;

/** Adds the files of a job's images to a copy of it. Repetitions are compared with the job as the client sent it. */
async function withFiles<J>(
  { job, imageOrigins }: { job: J; imageOrigins: readonly string[] },
  imagesIn: (job: J) => readonly ChatImage[],
  signal: AbortSignal,
): Promise<J> {
  if (imagesIn(job).length === 0) return job;
  const copy = structuredClone(job);
  await (await import('./fetch-images.ts')).fetchImages(imagesIn(copy), imageOrigins, signal);
  return copy;
}

const runOnEngine = <K extends ModelKind>(engine: Engine<K>, ...job: Parameters<Engine<K>['run']>) =>
  engine.run(...job);

const { work: WORK } = POLICY;

const RULES: { [K in Kind]: JobRules<K> } = {
  chat: {
    prepare: (request, signal) => withFiles(request, ({ input }) => imagesOf(input), signal),
    compile: withGrammar,
    run: (engine, job, ...args) => (job.truncate ? truncating : runOnEngine<'chat'>)(engine, job, ...args),
    work: ({ maxTokens = Infinity, countOnly, input }) =>
      countOnly ? 0 : maxTokens + promptWork(charactersOf(input), imagesOf(input).length),
    restarts: repeats,
    yieldsWhenBrief: ({ countOnly }) => !countOnly,
    sharedWith: ({ seeded, sampling: { temperature, seed } }) => {
      // A job with a generated seed belongs to one request.
      if (seeded) return 'none';
      // Equal requests for a random reply get separate replies, unless one is a retry of another.
      return temperature > 0 && seed === undefined ? 'retries' : 'all';
    },
  },
  embedding: { run: runOnEngine, work: () => 0 },
  rerank: { run: rank, work: () => 0 },
  toolChoice: {
    prepare: async ({ job, models, onStage }, signal) => {
      const { model, variants: _, ...others } = job;
      if (models.loadedModel(model, 'chat', job).state !== 'ready') onStage('loading');
      const { variant } = await models.ready(model, signal, job);
      const chooser = 'toolChooser' in variant ? variant.toolChooser : undefined;
      return chooser === undefined ? null : { ...others, model: chooser };
    },
    async *run(...args) {
      yield* (await import('#models/decide')).chooseTool(...args);
    },
    otherwise: { type: 'done', scores: null, promptTokens: 0, fingerprint: '' },
    work: () => 0,
  },
  transcription: {
    run: runOnEngine,
    hasLongParts: true,
    work: ({ file }) => file.size / (/wav/.test(file.type) ? WORK.wavBytes : WORK.soundBytes),
  },
  speech: { run: runOnEngine, hasLongParts: true, work: ({ text }) => text.length / WORK.speechCharacters },
  decision: {
    prepare: (request, signal) => withFiles(request, ({ input }) => input.images ?? [], signal),
    async *run(...args) {
      yield* (await import('#models/decide')).decide(...args);
    },
    work: ({ input: { text, images }, questions }) =>
      questions.reduce((sum, each) => sum + questionWork(each), promptWork(text.length, images?.length)),
  },
};

export const jobRules = <K extends Kind>(kind: K): JobRules<K> => RULES[kind];

/** What the policy of slots must know about a job. */
export function leaseOptions(job: Job, origin: Origin | undefined, pauses: number): LeaseOptions {
  const { work, restarts, hasLongParts = false, yieldsWhenBrief } = jobRules(job.kind);
  return {
    client: origin?.client ?? '',
    pauses,
    work: work(job),
    isBackground: origin?.background === true,
    restarts: restarts?.(job) ?? false,
    yieldsWhenBrief: yieldsWhenBrief?.(job) ?? false,
    hasLongParts,
  };
}

const promptWork = (characters: number, images = 0): number =>
  (estimateTokens(characters) + images * WORK.imageTokens) / WORK.promptTokens;

function questionWork({ instructions, options }: DecisionQuestion): number {
  const tail = Math.min(WORK.optionTail, Math.floor(WORK.optionTails / options.length));
  const furtherTokens = ({ label }: DecisionOption) => Math.max(0, estimateTokens(label.length) - 1);
  return options.reduce<number>(
    (sum, option) => sum + WORK.option + Math.min(tail, furtherTokens(option)),
    WORK.question + promptWork(instructions.length),
  );
}

/** Runs a chat, and retries a conversation that does not fit without its oldest turns. */
async function* truncating(...[engine, job, signal, onPrefill]: Parameters<RunJob<'chat'>>): Events<'chat'> {
  for (let tries = 1; ; tries++) {
    try {
      return yield* engine.run(job, signal, onPrefill);
    } catch (error) {
      if (!isContextLengthError(error) || !('messages' in job.input)) throw error;
      const share = tries < MAX_TRUNCATIONS ? error.share : 0;
      const messages = dropOldestTurns(job.input.messages, share);
      if (!messages) throw error;
      job = { ...job, input: { messages } };
    }
  }
}
