import type { EventOf } from '../../jobs/kinds.ts';
import type { Origin } from '../../protocol/engine-port.ts';
import { type ChatJob, imagesOf } from '../../jobs/chat.ts';
import { abortable } from '../../util/async.ts';
import type { Reader } from './serve-job.ts';

type ChatReader = Reader<'chat'>;
type Work = (reader: ChatReader, signal: AbortSignal) => Promise<void>;
type Step = (reader: ChatReader) => Promise<void> | void;

/**
 * Jobs whose answer several requests may take. A client that gives up a request which is not streamed and sends it again, as SDKs
 * do at a time limit, cannot tell the service worker: the repetition follows the job that already runs.
 */
export class SharedJobs {
  readonly #running = new Map<string, SharedJob>();

  /** Runs the job, or follows an equal one of the same client. @throws the signal's reason; what `work` throws */
  async run(
    { id, job, origin }: { id: string; job: ChatJob; origin?: Origin },
    reader: ChatReader,
    signal: AbortSignal,
    work: Work,
  ): Promise<void> {
    // A seed of localtext's own is the request's; one of several choices is wanted beside the others.
    const mayFollow = origin?.mayBeRepeated && origin.request === id && !job.seeded;
    if (!mayFollow || imagesOf(job.input).length > 0) return work(reader, signal);
    const key = JSON.stringify([origin.client, job]);
    const running = this.#running.get(key) ?? new SharedJob(work, () => this.#running.delete(key));
    this.#running.set(key, running);
    return running.follow(reader, signal);
  }
}

class SharedJob {
  readonly #past: Step[] = [];
  readonly #readers = new Set<ChatReader>();
  readonly #abandoned = new AbortController();
  readonly #end: Promise<void>;
  #followers = 0;

  constructor(work: Work, onEnd: () => void) {
    const reader: ChatReader = {
      onStage: (...stage) => void this.#pass((each) => each.onStage(...stage)),
      send: (event: EventOf<'chat'>) => this.#pass((each) => each.send(event)),
    };
    this.#end = work(reader, this.#abandoned.signal).finally(onEnd);
    this.#end.catch(() => undefined);
    this.#abandoned.signal.addEventListener('abort', onEnd);
  }

  async follow(reader: ChatReader, signal: AbortSignal): Promise<void> {
    this.#followers++;
    try {
      for (let at = 0; at < this.#past.length; at++) await this.#past[at]?.(reader);
      this.#readers.add(reader);
      await abortable(this.#end, signal);
    } finally {
      this.#readers.delete(reader);
      if (--this.#followers === 0) this.#abandoned.abort(signal.reason);
    }
  }

  async #pass(step: Step): Promise<void> {
    this.#past.push(step);
    // A reader that is gone leaves by its signal.
    await Promise.allSettled([...this.#readers].map(step));
  }
}
