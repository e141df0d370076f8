import { isContextLengthError } from '../../errors/engine-errors.ts';
import { type ChatJob, type Constraint, imagesOf } from '../../jobs/chat.ts';
import type { Events, EventOf, JobKinds, JobOf, Kind, ModelKind } from '../../jobs/kinds.ts';
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
  compile?(
    engine: Engine<JobKinds[K]['model']>,
    job: JobOf<K>,
  ): Promise<{ job: JobOf<K>; loosened?: string[] }>;
  run: RunJob<K>;
}

export type RunJob<K extends Kind> = (
  engine: Engine<JobKinds[K]['model']>,
  job: JobOf<K>,
  signal: AbortSignal,
  onPrefill: () => void,
) => AsyncIterable<EventOf<K>>;

const fetchAll: typeof fetchImages = async (...given) =>
  (await import('./fetch-images.ts')).fetchImages(...given);

const runOnEngine = <K extends ModelKind>(engine: Engine<K>, ...job: Parameters<Engine<K>['run']>) =>
  engine.run(...job);

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
  },
  embedding: { run: runOnEngine },
  transcription: { run: runOnEngine },
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
  },
};

export const rulesOf = <K extends Kind>(kind: K): JobRules<K> => RULES[kind];

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
