import type { WaitingStage } from '../../protocol/engine-port.ts';
import { abortable, createDeferred } from '../../util/async.ts';
import type { Timings } from '../../jobs/chat.ts';
import { asServiceError, type ServiceError } from '../../errors/service-error.ts';
import type { Call } from './call.ts';
import { answerHeaders, EVENT_STREAM, EventStream } from './response.ts';

/**
 * How long the headers of a stream wait in each stage, in milliseconds: until they are sent a failure is a status,
 * and an abort is invisible. Looking for an engine counts as loading, and fails after 60 s.
 */
const STAGE_DEADLINE_MS: Record<Exclude<WaitingStage, 'prefill'>, number> = {
  loading: 75_000,
  queued: 2000,
  checking: 60_000,
};

/**
 * Waiting part of a stream: it holds the headers until they are due, then sends comments until something is generated.
 * It waits again when an engine dies in the middle of a reply.
 */
class StreamWait {
  stage: WaitingStage = 'loading';
  readonly #comment: (stage: WaitingStage) => void;
  readonly #heartbeatMs: number;
  #state: 'holding headers' | 'waiting' | 'generating' = 'holding headers';
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #headersDue = createDeferred();

  constructor(comment: (stage: WaitingStage) => void, heartbeatMs: number) {
    this.#comment = comment;
    this.#heartbeatMs = heartbeatMs;
    this.#timer = setTimeout(this.#headersDue.resolve, STAGE_DEADLINE_MS.loading);
  }

  get headersDue(): Promise<void> {
    return this.#headersDue.promise;
  }

  enter(stage: WaitingStage): void {
    const isNew = stage !== this.stage;
    this.stage = stage;
    if (this.#state === 'generating') this.#wait({ commentNow: true });
    if (this.#state !== 'holding headers' || !isNew || stage === 'prefill') return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#headersDue.resolve, STAGE_DEADLINE_MS[stage]);
  }

  /** The answer is known not to fail before its first token. */
  releaseHeaders(): void {
    this.#headersDue.resolve();
  }

  headersSent(options: { commentNow: boolean }): void {
    if (this.#state === 'holding headers') this.#wait(options);
  }

  generating(): void {
    if (this.#state === 'generating') return;
    this.#state = 'generating';
    clearTimeout(this.#timer);
    this.#headersDue.resolve();
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  #wait({ commentNow }: { commentNow: boolean }): void {
    this.#state = 'waiting';
    clearTimeout(this.#timer);
    const comment = () => this.#comment(this.stage);
    this.#timer = setInterval(comment, this.#heartbeatMs);
    if (commentNow) comment();
  }
}

const HEARTBEAT_MS = 5000;

/** How an endpoint begins and ends its streamed answer. */
interface StreamFormat {
  /** Whether an event has been sent: then the stream need not begin with a comment. */
  hasBegun(): boolean;
  timings(): Partial<Timings>;
  /** The last events. */
  end(): string | Promise<string>;
  /** The status has been sent: the error is an event. */
  failure(error: ServiceError): string | Promise<string>;
}

/** The server-sent events of one answer, from its first waiting on. */
export class StreamedAnswer {
  readonly wait: StreamWait;
  readonly #call: Call;
  readonly #stream: EventStream;

  constructor(call: Call) {
    const { abort, dependencies } = call;
    this.#call = call;
    this.#stream = new EventStream(() => abort.abort(new Error('the client has left')));
    const heartbeatMs = dependencies.heartbeatMs ?? HEARTBEAT_MS;
    this.wait = new StreamWait((stage) => this.send(`: waiting (${stage})\n\n`), heartbeatMs);
  }

  get clientHasLeft(): boolean {
    return this.#stream.isClosed || this.#call.watch.gone.aborted;
  }

  send(events: string): void {
    this.#stream.send(events);
  }

  /** Waits while much lies unread. @throws the signal's reason when the client has left */
  async room(): Promise<void> {
    if (this.#stream.isFull) await abortable(this.#stream.room(), this.#call.abort.signal);
  }

  /**
   * Responds once the headers are due. `work` sends the events; it resolves to the body for the log, unless the trace has it.
   * @throws what `work` fails with before the headers
   */
  async respond(work: Promise<string | undefined>, format: StreamFormat): Promise<Response> {
    this.#call.trace.open();
    try {
      await Promise.race([work, this.wait.headersDue]);
    } catch (error) {
      this.wait.end();
      throw error;
    }
    this.wait.headersSent({ commentNow: !format.hasBegun() });
    void this.#conclude(work, format);
    return new Response(this.#stream.body, {
      headers: answerHeaders(this.#call, EVENT_STREAM, format.timings()),
    });
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
      this.wait.end();
      watch.stop();
      this.#stream.end();
    }
  }
}
