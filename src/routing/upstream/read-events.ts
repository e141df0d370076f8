import { createParser } from 'eventsource-parser';
import type { z } from '#base';
import { conforming, Deadline, streamBytes, TimeSlice } from './read-answer.ts';
import { brokeBound, cutShort, without } from './upstream-failures.ts';

/**
 * Maximum length of one event and its incomplete lines. A token with 20 alternatives takes some kilobytes.
 */
const MAX_EVENT_CHARACTERS = 256 * 1024;

/** Maximum size of one stream: 128,000 tokens of 500 bytes each. */
const MAX_STREAM_BYTES = 64 * 1024 * 1024;

/** Maximum size of comments and of events without progress in a row: a minute of hidden reasoning takes half of it. */
const MAX_IDLE_BYTES = 8 * 1024 * 1024;

/** Maximum time from the end of a reply to the end of its stream. */
const MAX_END_MS = 5000;

/** Time limits of a stream of events. */
interface Pace<Event> {
  /** Maximum time until the first event that shows progress. */
  firstMs: number;
  /** Maximum time between two such events. */
  pauseMs: number;
  /** "token", as in "It sent no further token". */
  noun: string;
  /** Whether the event renews the deadline. Events without text do not: a server could send them forever. */
  isProgress(event: Event): boolean;
  /** Whether the event ends the reply: it is whole then, even if the rest of the stream fails. */
  isEnd?(event: Event): boolean;
}

/**
 * The objects of an OpenAI stream, up to `[DONE]`.
 * @throws UpstreamError for an error event, an object of another shape, and past a bound; SyntaxError for
 *   invalid JSON
 */
export async function* readEvents<Event extends { error?: unknown }>(
  response: Response,
  schema: z.ZodMiniType<Event>,
  { firstMs, pauseMs, noun, isProgress, isEnd }: Pace<Event>,
  onBytes: () => void,
): AsyncGenerator<Event, void, undefined> {
  const deadline = new Deadline();
  deadline.set(firstMs, `sent no ${noun}`);
  let isEmpty = true;
  let isWhole = false;
  try {
    for await (const event of parsedEvents(response, schema, deadline, onBytes)) {
      isEmpty = false;
      if (isWhole || !(isProgress(event) || isEnd?.(event))) {
        yield event;
        continue;
      }
      isWhole = isEnd?.(event) ?? false;
      deadline.clear();
      yield event;
      deadline.set(isWhole ? MAX_END_MS : pauseMs, `sent no further ${noun}`);
    }
  } catch (error) {
    if (!isWhole) throw error;
  }
  if (isEmpty) throw without('a stream of events', response);
}

async function* parsedEvents<Event extends { error?: unknown }>(
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
    // Unknown fields are ignored.
    onError: ({ type }) => (isTooLong ||= type === 'max-buffer-size-exceeded'),
  });
  const decoder = new TextDecoder();
  const slice = new TimeSlice();
  /** @returns true after `[DONE]` */
  async function* parse(text: string): AsyncGenerator<Event, boolean, undefined> {
    parser.feed(text);
    if (isTooLong) throw brokeBound(`sent an event of more than ${MAX_EVENT_CHARACTERS} characters`);
    const batch = events;
    events = [];
    for (const data of batch) {
      if (data === '[DONE]') return true;
      // A few hundred kilobytes that arrive at once may hold ten thousand events.
      await slice.yieldWhenOver();
      yield parseEvent(data, schema);
    }
    return false;
  }
  for await (const bytes of streamBytes(response, MAX_STREAM_BYTES, deadline)) {
    onBytes();
    if (deadline.bytes > MAX_IDLE_BYTES)
      throw brokeBound(`sent more than ${MAX_IDLE_BYTES} bytes without progress`);
    if (yield* parse(decoder.decode(bytes, { stream: true }))) return;
  }
  // Some servers do not end their last event.
  yield* parse(`${decoder.decode()}\n\n`);
}

function parseEvent<Event extends { error?: unknown }>(data: string, schema: z.ZodMiniType<Event>): Event {
  const event = conforming(schema, JSON.parse(data), 'an event');
  if (event.error) throw cutShort();
  return event;
}
