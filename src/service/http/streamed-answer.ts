import type { WaitingStage } from '#protocol';
import { abortable, createDeferred, asServiceError, type ServiceError } from '#base';
import type { Timings } from '#jobs';
import type { Call } from './call.ts';
import { answerHeaders, EVENT_STREAM, EventStream } from './response.ts';

/**
 * How long the headers of a stream wait in each stage, in milliseconds: until they are sent a failure is a
 * status, and an abort is invisible. Looking for an engine counts as loading, and fails after 60 s.
 */
const STAGE_DEADLINE_MS: Record<Exclude<WaitingStage, 'prefill'>, number> = {
  loading: 75_000,
  queued: 2000,
  checking: 60_000,
  sent: 60_000,
};

/** Time between comments on a stream without a token. */
const HEARTBEAT_MS = 5000;

/** How an endpoint begins and ends its streamed answer. */
interface StreamFormat {
  /** Whether an event has been sent: then the stream need not begin with a comment. */
  hasBegun(): boolean;
  timings(): Timings;
  /** The last events. */
  end(): string | Promise<string>;
  /** Encodes an error as an event: the status has been sent already. */
  failure(error: ServiceError): string | Promise<string>;
}

/**
 * Sends one answer as server-sent events. It holds the headers until they are due, then sends comments until
 * something is generated. It waits again when an engine ends in the middle of a reply.
 */
export class StreamedAnswer {
  stage: WaitingStage = 'loading';
  readonly #call: Call;
  readonly #stream: EventStream;
  #state: 'holding headers' | 'waiting' | 'generating' = 'holding headers';
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #headersDue = createDeferred();

  constructor(call: Call) {
    this.#call = call;
    this.#stream = new EventStream(() => call.abort.abort(new Error('the client has left')));
    this.#timer = setTimeout(this.#headersDue.resolve, STAGE_DEADLINE_MS.loading);
  }

  get clientHasLeft(): boolean {
    return this.#stream.isClosed || this.#call.watch.gone.aborted;
  }

  send(events: string): void {
    this.#stream.send(events);
  }

  /** Waits while the reader is behind. @throws the signal's reason when the client has left */
  async room(): Promise<void> {
    if (this.#stream.isFull) await abortable(this.#stream.room(), this.#call.abort.signal);
  }

  enter(stage: WaitingStage): void {
    const isNew = stage !== this.stage;
    this.stage = stage;
    if (this.#state === 'generating') this.#wait(true);
    if (this.#state !== 'holding headers' || !isNew || stage === 'prefill') return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#headersDue.resolve, STAGE_DEADLINE_MS[stage]);
  }

  /** Lets the headers be sent: the answer can no longer fail before its first token. */
  releaseHeaders(): void {
    this.#headersDue.resolve();
  }

  generating(): void {
    if (this.#state === 'generating') return;
    this.#state = 'generating';
    this.stopWaiting();
    this.#headersDue.resolve();
  }

  stopWaiting(): void {
    clearTimeout(this.#timer);
  }

  #wait(commentNow: boolean): void {
    const comment = () => this.send(`: waiting (${this.stage})\n\n`);
    this.#state = 'waiting';
    this.stopWaiting();
    this.#timer = setInterval(comment, HEARTBEAT_MS);
    if (commentNow) comment();
  }

  /**
   * Responds once the headers are due. `work` sends the events; it resolves to the body for the log, unless
   * the trace has it.
   * @throws the error of `work` before the headers
   */
  async respond(work: Promise<string | undefined>, format: StreamFormat): Promise<Response> {
    const call = this.#call;
    call.trace.open();
    try {
      await Promise.race([work, this.#headersDue.promise]);
    } catch (error) {
      this.stopWaiting();
      throw error;
    }
    if (this.#state === 'holding headers') this.#wait(!format.hasBegun());
    void this.#conclude(work, format);
    return new Response(this.#stream.body, { headers: answerHeaders(call, EVENT_STREAM, format.timings()) });
  }

  async #conclude(work: Promise<string | undefined>, { end, failure }: StreamFormat): Promise<void> {
    const { trace, watch } = this.#call;
    try {
      const body = await work;
      this.send(await end());
      trace.done(body);
    } catch (error) {
      trace.failed(error, this.clientHasLeft);
      if (this.clientHasLeft) this.#stream.fail(watch.gone.reason);
      else this.send(await failure(asServiceError(error)));
    } finally {
      this.stopWaiting();
      watch.stop();
      this.#stream.end();
    }
  }
}
