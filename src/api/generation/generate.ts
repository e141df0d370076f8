import { delay } from '../../util/abort.ts';
import type { ChatJob } from '../../protocol/job.ts';
import type { EngineClient, EngineEvent, EngineRequest } from '../service-dependencies.ts';
import { ServiceError } from '../service-error.ts';
import type { GenerationRun } from './admission.ts';
import { choiceCount, type Generation } from './generation.ts';
import { Reply } from './reply.ts';
import type { ReplyEvent } from '../reply-event.ts';

/** Choices of one request that are at the engine at once: more would fill its queue for everyone else. */
export const CONCURRENT_CHOICES = 4;

const MAX_PAUSE_MS = 5000;

/**
 * The events of all choices as they come. The engine generates no further than the caller iterates.
 * @throws ServiceError of the first choice that fails; the others are then aborted.
 */
export function generate(run: GenerationRun): AsyncGenerator<ReplyEvent, void, undefined> {
  return choiceCount(run.generation) === 1 ? generateReply(run, 0) : generateReplies(run);
}

/** Takes the choices in turn: the one whose event was taken last is asked last. */
async function* generateReplies(run: GenerationRun): AsyncGenerator<ReplyEvent, void, undefined> {
  const pending = new Map<AsyncIterator<ReplyEvent>, ReturnType<typeof nextOf>>();
  const pull = (reply: AsyncIterator<ReplyEvent>) => pending.set(reply, nextOf(reply));
  const count = choiceCount(run.generation);
  let begun = 0;
  try {
    for (;;) {
      for (; begun < count && pending.size < CONCURRENT_CHOICES; begun++) pull(generateReply(run, begun));
      if (pending.size === 0) return;
      const { reply, result } = await Promise.race(pending.values());
      pending.delete(reply);
      if (result.done) continue;
      yield result.value;
      pull(reply);
    }
  } catch (error) {
    run.call.abort.abort(error);
    throw error;
  }
}

const nextOf = async (reply: AsyncIterator<ReplyEvent>) => ({ reply, result: await reply.next() });

async function* generateReply(
  run: GenerationRun,
  index: number,
): AsyncGenerator<ReplyEvent, void, undefined> {
  const { call, generation } = run;
  const { engine } = call.dependencies;
  const { signal } = call.abort;
  const id = choiceCount(generation) === 1 ? call.id : `${call.id}-${index}`;
  const reply = new Reply(run, index);
  let events =
    index < CONCURRENT_CHOICES
      ? engine.chat(reply.job, { id, signal })
      : chatInTurn(engine, reply.job, { id, signal });
  try {
    for (;;) {
      for await (const event of events) {
        signal.throwIfAborted();
        for (const each of reply.read(event)) yield each;
        // Leaving the loop stops the engine.
        if (reply.ended !== null) break;
      }
      signal.throwIfAborted();
      const reason = reply.finish();
      if (reason !== null) return yield { type: 'finished', index, reason };
      events = chatInTurn(engine, reply.job, { id: `${id}-call`, signal });
    }
  } catch (error) {
    throw renamed(error, generation);
  }
}

/**
 * A job of a request that runs already: where the queue is full, it waits for a place, and what has been generated
 * so far is not lost.
 */
async function* chatInTurn(
  engine: EngineClient,
  job: ChatJob,
  request: EngineRequest,
): AsyncGenerator<EngineEvent, void, undefined> {
  for (;;) {
    try {
      return yield* engine.chat(job, request);
    } catch (error) {
      // A full queue refuses before anything else has come.
      if (!(error instanceof ServiceError) || error.wire.status !== 429) throw error;
      await delay(Math.min(error.wire.retryAfterMs ?? 1000, MAX_PAUSE_MS), request.signal);
    }
  }
}

/** A fault of the conversation or of the response format, under the endpoint's name of the field. */
function renamed(error: unknown, { params, tools }: Generation): unknown {
  if (!(error instanceof ServiceError)) return error;
  const { wire } = error;
  if (wire.param === 'messages') return new ServiceError({ ...wire, param: params.messages });
  if (wire.param !== 'response_format') return error;
  if (!tools) return new ServiceError({ ...wire, param: params.responseFormat });
  const message =
    '`tools` have parameters that cannot be enforced: a schema uses something that the engine cannot express. Simplify the schemas.';
  return new ServiceError({ ...wire, param: 'tools', message });
}
