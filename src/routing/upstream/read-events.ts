import { createParser } from 'eventsource-parser';
import type { z } from '../../util/zod.ts';
import { type Deadline, readBytes, Turn } from './read-answer.ts';
import { brokeBound, cutShort } from './upstream-failures.ts';

/** Of one event, with its lines that are not whole yet: a token with 20 alternatives takes some kilobytes. */
const MAX_EVENT_CHARACTERS = 256 * 1024;

/** Of one stream: 128,000 tokens of 500 bytes each. */
const MAX_STREAM_BYTES = 64 * 1024 * 1024;

/**
 * The objects of an OpenAI stream, up to `[DONE]`.
 * @throws UpstreamError for an error event, an object of another shape, and past a bound; SyntaxError for what is no JSON
 */
export async function* readEvents<Event extends { error?: unknown }>(
  response: Response,
  schema: z.ZodMiniType<Event>,
  deadline: Deadline,
  onBytes: () => void,
): AsyncGenerator<Event, void, undefined> {
  let events: string[] = [];
  let isTooLong = false;
  const parser = createParser({
    maxBufferSize: MAX_EVENT_CHARACTERS,
    onEvent: ({ data }) => events.push(data),
    // Fields that are unknown are ignored.
    onError: ({ type }) => (isTooLong ||= type === 'max-buffer-size-exceeded'),
  });
  const decoder = new TextDecoder();
  const turn = new Turn();
  /** @returns true after `[DONE]` */
  async function* parse(text: string): AsyncGenerator<Event, boolean, undefined> {
    parser.feed(text);
    if (isTooLong) throw brokeBound(`sent an event of more than ${MAX_EVENT_CHARACTERS} characters`);
    const come = events;
    events = [];
    for (const data of come) {
      if (data === '[DONE]') return true;
      // A few hundred kilobytes that come at once may hold ten thousand events.
      await turn.end();
      yield parseEvent(data, schema);
    }
    return false;
  }
  for await (const bytes of readBytes(response, MAX_STREAM_BYTES, deadline)) {
    onBytes();
    if (yield* parse(decoder.decode(bytes, { stream: true }))) return;
  }
  // Some servers do not end their last event.
  yield* parse(`${decoder.decode()}\n\n`);
}

function parseEvent<Event extends { error?: unknown }>(data: string, schema: z.ZodMiniType<Event>): Event {
  const { success, data: event } = schema.safeParse(JSON.parse(data));
  if (!success) throw brokeBound('sent an event that is not as in the OpenAI API');
  if (event.error) throw cutShort();
  return event;
}
