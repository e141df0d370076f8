import { isContextLengthError } from '../../errors/engine-errors.ts';
import {
  charactersOf,
  type ChatJob,
  type Constraint,
  estimateTokens,
  imagesOf,
  repeats,
} from '../../jobs/chat.ts';
import type { Events, EventOf, JobOf, Kind, ModelKind, ModelOf } from '../../jobs/kinds.ts';
import type { fetchImages } from './fetch-images.ts';
import { dropOldestTurns, MAX_TRUNCATIONS } from './truncate-messages.ts';
import type { Engine } from '../../engines/engine.ts';

/** Rules for running a kind of job. */
interface JobRules<K extends Kind> {
  /** Completes the job before it takes a place in the queue. @throws ServiceError 400 */
  prepare?(
    request: { job: JobOf<K>; imageOrigins: readonly string[] },
    signal: AbortSignal,
  ): Promise<JobOf<K>>;
  /** Turns the job into what the engine takes. @throws ServiceError 400 */
  compile?(engine: Engine<ModelOf<K>>, job: JobOf<K>): Promise<{ job: JobOf<K>; loosened?: string[] }>;
  run: RunJob<K>;
  /** Estimates the time that the job takes an engine, in tokens of a reply. */
  work(job: JobOf<K>): number;
  /** Whether the job, once interrupted, begins again from its start. Absent: it never does. */
  restarts?(job: JobOf<K>): boolean;
  /** Whether the job gives way even where it is short, if its answer is not streamed. Absent: it does not. */
  yieldsWhenShort?(job: JobOf<K>): boolean;
  /** Which equal requests of the client take the job's answer, too. Absent: all. */
  sharedWith?(job: JobOf<K>): 'all' | 'retries' | 'none';
}

export type RunJob<K extends Kind> = (
  engine: Engine<ModelOf<K>>,
  job: JobOf<K>,
  signal: AbortSignal,
  onPrefill: () => void,
) => AsyncIterable<EventOf<K>>;

const fetchAll: typeof fetchImages = async (...given) =>
  (await import('./fetch-images.ts')).fetchImages(...given);

const runOnEngine = <K extends ModelKind>(engine: Engine<K>, ...job: Parameters<Engine<K>['run']>) =>
  engine.run(...job);

/** Tokens of a prompt that are computed in the time of one of a reply, at least. */
const PROMPT_TOKENS = 10;
/** Tokens of an image, about. */
const IMAGE_TOKENS = 500;

/** A question of a decision is a prompt, and a step that reads the first tokens of all its options. */
const QUESTION = 8;
/** Further tokens of an option. */
const OPTION = 2;

/** Bytes of compressed sound that count as a token: 32 KB, some seconds, run to their end, and up to a minute is short. */
const SOUND_BYTES = 1024;
/** The same of a wav file: 4 s at 16 kHz run to their end. */
const WAV_BYTES = 4096;

const RULES: { [K in Kind]: JobRules<K> } = {
  chat: {
    prepare: async ({ job, imageOrigins }, signal) => {
      const images = imagesOf(job.input);
      if (images.length === 0 || !('messages' in job.input)) return job;
      const toFetched = await fetchAll(images, imageOrigins, signal);
      const messages = job.input.messages.map((message) =>
        'images' in message && message.images
          ? { ...message, images: message.images.map(toFetched) }
          : message,
      );
      return { ...job, input: { messages } };
    },
    compile: withGrammar,
    run: (engine, job, ...given) => (job.truncate ? truncating : runOnEngine<'chat'>)(engine, job, ...given),
    work: ({ maxTokens = Infinity, countOnly, input }) =>
      countOnly ? 0 : maxTokens + promptTokens(input) / PROMPT_TOKENS,
    restarts: repeats,
    yieldsWhenShort: ({ countOnly }) => !countOnly,
    sharedWith: ({ seeded, sampling: { temperature, seed } }) => {
      // A seed of localtext's own is the request's.
      if (seeded) return 'none';
      // Equal requests for a sampled reply get one each, unless one is a retry of another.
      return temperature > 0 && seed === undefined ? 'retries' : 'all';
    },
  },
  embedding: { run: runOnEngine, work: () => 0 },
  transcription: {
    run: runOnEngine,
    work: ({ file }) => file.size / (/wav/.test(file.type) ? WAV_BYTES : SOUND_BYTES),
  },
  decision: {
    prepare: async ({ job, imageOrigins }, signal) => {
      const { images } = job.input;
      if (!images) return job;
      const toFetched = await fetchAll(images, imageOrigins, signal);
      return { ...job, input: { ...job.input, images: images.map(toFetched) } };
    },
    async *run(...given) {
      yield* (await import('../decisions/decide.ts')).decide(...given);
    },
    work: ({ questions }) =>
      questions.reduce((sum, { options }) => sum + QUESTION + OPTION * options.length, 0),
  },
};

export const rulesOf = <K extends Kind>(kind: K): JobRules<K> => RULES[kind];

function promptTokens(input: ChatJob['input']): number {
  if ('tokens' in input) return input.tokens.length;
  return estimateTokens(charactersOf(input)) + imagesOf(input).length * IMAGE_TOKENS;
}

const ANY_OBJECT: Constraint = { kind: 'json_schema', schema: { type: 'object' } };

/** Replaces the JSON Schema of a job by its grammar. */
async function withGrammar(
  { takesSchemas }: Engine<'chat'>,
  job: ChatJob,
): Promise<{ job: ChatJob; loosened?: string[] }> {
  const constraint = job.constraint?.kind === 'json_object' ? ANY_OBJECT : job.constraint;
  if (takesSchemas || constraint?.kind !== 'json_schema' || job.countOnly) return { job };
  const { compileSchema } = await import('../../grammar/compile-schema.ts');
  const { gbnf, loosened } = compileSchema(constraint);
  return { job: { ...job, constraint: { kind: 'grammar', gbnf } }, ...(loosened.length > 0 && { loosened }) };
}

/** A conversation that does not fit is tried again without its oldest turns. */
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
