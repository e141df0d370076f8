import { invalidField, ServiceError } from '#base';
import { RestartableHelper, type Engine } from '#engine-kit';
import type { Compiled, grammarWorker } from '#grammar';
import type { ChatJob, Constraint } from '#jobs';
import { Executor } from '#scheduling';

const ANY_OBJECT: Constraint = { kind: 'json_schema', schema: '{"type":"object"}' };

/** Time limit for one schema. */
const COMPILE_TIMEOUT_MS = 10_000;

/** The worker for the next schema, unless it has one: this thread is busy with the tokens of replies. */
let idle: RestartableHelper<typeof grammarWorker> | null = null;

/** Turns to compile: one schema of each client at a time, so that slow ones delay only their own client. */
const turns = new Executor<{ client: string }>(({ waiting, running }) => {
  const next = waiting.find(({ job }) => running.every((each) => each.job.client !== job.client));
  return next ? { begin: { job: next.job, as: next.job } } : {};
});

/** Replaces a job's JSON Schema with a grammar, unless the engine takes schemas. @throws ServiceError 400 */
export async function withGrammar(
  { takesSchemas }: Engine<'chat'>,
  job: ChatJob,
  signal: AbortSignal,
): Promise<{ job: ChatJob; loosened?: string[] }> {
  if (takesSchemas) return { job };
  if (job.countOnly) {
    const { constraint: _, ...unconstrained } = job;
    return { job: unconstrained };
  }
  const constraint = job.constraint?.kind === 'json_object' ? ANY_OBJECT : job.constraint;
  if (constraint?.kind !== 'json_schema') return { job };
  const { resume } = job;
  const begun = resume && !resume.precedesConstraint ? resume.text : undefined;
  const { schema, parts } = constraint;
  const toError = () =>
    invalidField(
      parts?.[0]?.param ?? 'response_format',
      `cannot be enforced: its grammar took more than ${COMPILE_TIMEOUT_MS / 1000} s or the browser's memory. Simplify the schema`,
      'invalid_json_schema',
    );
  const leave = await turns.enter({ client: job.client ?? '' }, signal);
  const compiler = idle ?? new RestartableHelper<typeof grammarWorker>('grammar');
  idle = null;
  try {
    const { compiled, error } = await compiler.call(
      (worker): Promise<Compiled> => worker.compile(schema, parts, begun),
      { timeoutMs: COMPILE_TIMEOUT_MS, toError, signal },
    );
    if (error) throw new ServiceError(error);
    const { gbnf, loosened } = compiled;
    return {
      job: { ...job, constraint: { kind: 'grammar', gbnf } },
      ...(loosened.length > 0 && { loosened }),
    };
  } finally {
    if (idle) compiler.end();
    else idle = compiler;
    leave();
  }
}
