import { RequestRejectedError, type ServerCalls, type StepResult } from './internals/server-calls.ts';
import { filling, isRunning, isToBeShared, mayCount, nextReply, type PromptView } from '#scheduling';
import { type BARE, type Slot, SlotPredictor, slotStates } from './internals/prompt-slots.ts';
import type { Chunk, LlamaTimings } from './chunk.ts';

/**
 * State of a reply. A slot is the server's place for one prompt and its reply. A step is one call that computes a
 * token for every slot. A reply that is put aside frees its slot for a shorter prompt and later resumes from the
 * server's cache. A prompt computed ahead is a separate reply whose state others copy.
 */
type ReplyState =
  /** The reply has not begun, or was put aside for a shorter prompt. */
  | { name: 'waiting' }
  /** Its prompt is being computed ahead, as a separate reply. */
  | { name: 'ahead' }
  /** `decode`: the prompt is computed, and the first token has arrived. */
  | { name: 'prefill' | 'decode'; id: number; slot: Slot };

interface ScheduledReply extends PromptView {
  readonly fields: Record<string, unknown>;
  readonly images: PromptImages | undefined;
  /** Key of the prompt's state: the prompt itself, or `images.key`. */
  readonly prompt: string;
  readonly signal: AbortSignal;
  state: ReplyState;
  size: number;
  text: string;
  /** Set once its prompt was computed ahead. `timings` are that computation's, if it reported any. */
  computedAhead: { timings: LlamaTimings | undefined } | null;
  putAside: number;
  since: number;
  /** Whether the server computes it: it rejects a prompt or a grammar in the first step. */
  accepted: boolean;
  /** Number of right drafted tokens whose results have been requested. */
  drafted: number;
  onAccepted(): void;
  onChunk(chunk: Chunk): void;
  resolve(): void;
  reject(error: unknown): void;
}

/** The images of a prompt. */
export interface PromptImages {
  /** Image files in the order of their markers. */
  files: readonly Uint8Array[];
  /** The prompt with digests of its images in place of their markers. */
  key: string;
}

interface Count {
  prompt: string;
  /** Text of one special token, which pads the prompt. */
  special: string;
  images: PromptImages | undefined;
  signal: AbortSignal;
  resolve(tokens: number): void;
  reject(error: unknown): void;
}

/** Maximum number of tokens of a UTF-16 code unit: a token for each byte, and one that the tokenizer adds. */
const MAX_TOKENS_PER_UNIT = 4;

/** Word that no tokenizer merges with the same word beside it. */
const WORD = ' a';

interface NextReply {
  next: ScheduledReply;
  putAside: ScheduledReply[];
}

/** Whether it asks only for a step. */
const isPlainStep = ({ next, putAside }: NextReply): boolean =>
  isRunning(next) && !next.signal.aborted && putAside.length === 0;

/** A step that the server was asked for: the result of each reply in it, then those of drafted tokens. */
type RequestedStep = { reply: ScheduledReply; id: number; result: Promise<StepResult | null> }[];

type ReplyEvents = Pick<ScheduledReply, 'onAccepted' | 'onChunk' | 'resolve' | 'reject'>;

interface SchedulerOptions {
  /** Number of the server's slots, which the caller's concurrency must not exceed. */
  slots: number;
  /** Maximum number of tokens of a prompt with its reply. */
  context: number;
  /** Prefix that keeps the tokenizer from adding a BOS token; null if that is impossible, and states cannot be copied. */
  bare: '' | typeof BARE | null;
  /** Whether a step may draft tokens. */
  drafts?: boolean;
  /** Whether the tokenizer never refuses a text. Default: true. */
  encodesAll?: boolean;
}

/**
 * Schedules the slots of llama.cpp's server, which computes only in explicit steps: each computes a token for every
 * slot. With all steps made here, one after another, each reply gets its token of every step, an abort waits for at
 * most two steps, a rejected request fails alone, and a short prompt goes before a long one.
 */
export class ReplyScheduler {
  readonly #calls: ServerCalls;
  readonly #options: SchedulerOptions;
  readonly #replies: ScheduledReply[] = [];
  readonly #counts: Count[] = [];
  readonly #slots: SlotPredictor;
  readonly #states: ReturnType<typeof slotStates> | null;
  readonly #stopped = new AbortController();
  #looping = false;
  /** Step that the server computes next, while the results of the one before are read. */
  #ahead: RequestedStep | null = null;
  /** Whether all results before the next step have been read. */
  #isDrained = false;
  /** Number of tokens of the text that is added to a prompt to count it; null if not known yet. */
  #addedTokens: number | null = null;

  constructor(calls: ServerCalls, options: SchedulerOptions) {
    const { slots, bare } = options;
    this.#calls = calls;
    this.#options = options;
    this.#slots = new SlotPredictor(slots);
    this.#states = bare === null ? null : slotStates(calls, this.#slots, bare, () => this.#putFillingAside());
  }

  /**
   * Generates one reply. Resolves when it is complete. `onAccepted` is called when the
   * prompt fits and is being computed.
   * @throws the signal's reason, once the slot is free again; `RequestRejectedError`; the server's error
   */
  run(
    fields: Record<string, unknown>,
    onChunk: (chunk: Chunk) => void,
    signal: AbortSignal,
    onAccepted: () => void = () => undefined,
    images?: PromptImages,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#add({ fields, images }, signal, { onAccepted, onChunk, resolve, reject }, false);
    });
  }

  /** Whether any reply runs or waits. */
  get busy(): boolean {
    return this.#replies.length > 0;
  }

  /**
   * Counts the tokens of a prompt without computing it: llama.cpp's server reports the length of a prompt
   * that it rejects as too long, so text is added to the prompt until it exceeds the context. A rejected embedding
   * would need less added text, but it drops the state of a slot.
   * @param special text of a special token, which separates the added text from the prompt
   * @throws the signal's reason; `RequestRejectedError` if the server reports no length; the server's error
   */
  count(prompt: string, special: string, signal: AbortSignal, images?: PromptImages): Promise<number> {
    return new Promise((resolve, reject) => {
      const { signal: stopped } = this.#stopped;
      if (stopped.aborted) return reject(stopped.reason as Error);
      this.#counts.push({ prompt, special, signal, images, resolve, reject });
      void this.#loop();
    });
  }

  /** Fails current and later requests: the worker behind the calls is ending, and calls to it would never settle. */
  stop(reason: unknown): void {
    this.#stopped.abort(reason);
    this.#failAll(reason);
  }

  #failAll(reason: unknown): void {
    this.#ahead = null;
    for (const each of this.#counts.splice(0)) each.reject(reason);
    for (const each of this.#replies.splice(0)) this.#end(each, () => each.reject(reason));
  }

  #add(
    { fields, images }: Pick<ScheduledReply, 'fields' | 'images'>,
    signal: AbortSignal,
    events: ReplyEvents,
    isAhead: boolean,
  ): ScheduledReply {
    const prompt = images?.key ?? String(fields['prompt']);
    const reply: ScheduledReply = {
      ...events,
      fields,
      images,
      prompt,
      isAhead,
      signal,
      state: { name: 'waiting' },
      size: prompt.length,
      text: '',
      computedAhead: null,
      putAside: 0,
      drafted: 0,
      since: performance.now(),
      accepted: false,
    };
    const { signal: stopped } = this.#stopped;
    if (stopped.aborted) reply.reject(stopped.reason);
    else {
      this.#replies.push(reply);
      void this.#loop();
    }
    return reply;
  }

  async #loop(): Promise<void> {
    if (this.#looping) return;
    this.#looping = true;
    let hasCounted = false;
    for (;;) {
      const now = performance.now();
      const chosen = nextReply(this.#view, now);
      // Replies get a step between two counts, and aborts go first.
      const goesFirst: boolean = chosen !== undefined && (hasCounted || chosen.next.signal.aborted);
      const counts: boolean =
        this.#counts.length > 0 && !goesFirst && mayCount(this.#replies, this.#slots.idle, now);
      try {
        if (this.#ahead && (counts || (chosen && !isPlainStep(chosen)))) {
          await this.#readAhead();
          continue;
        }
        const count: Count | undefined = counts ? this.#counts.shift() : undefined;
        hasCounted = count !== undefined;
        if (count) await this.#runCount(count);
        else if (chosen) await this.#advance(chosen);
        else break;
      } catch (error) {
        // Any error but a rejection means that the server is broken, for all requests.
        this.#failAll(error);
      }
    }
    this.#ahead = null;
    this.#looping = false;
  }

  async #runCount({ prompt, special, images, signal, ...count }: Count): Promise<void> {
    try {
      signal.throwIfAborted();
      await this.#putFillingAside();
      // llama.cpp takes quadratic time for consecutive special tokens.
      const added = special + WORD.repeat(this.#options.context + 1);
      this.#addedTokens ??= (await this.#refuse(added + added)) - (await this.#refuse(added));
      count.resolve((await this.#refuse(prompt + added, images)) - this.#addedTokens);
    } catch (error) {
      count.reject(error);
      if (!signal.aborted && !(error instanceof RequestRejectedError)) throw error;
    }
    // The steps may have produced results for every reply.
    for (const reply of this.#replies.filter(isRunning)) await this.#drain(reply);
  }

  /**
   * Counts the tokens of a prompt that is longer than the context, by its rejection.
   * @throws RequestRejectedError if the server reports no length
   */
  async #refuse(prompt: string, images?: PromptImages): Promise<number> {
    const id = await this.#calls.begin({ prompt, n_predict: 0 }, images?.files);
    try {
      // The server may assign the slot in a later step than the first.
      for (let more = true; more;) ({ more } = await this.#calls.step(id));
    } catch (error) {
      if (error instanceof RequestRejectedError && error.promptTokens !== undefined)
        return error.promptTokens;
      throw error;
    }
    throw new RequestRejectedError('counted no tokens');
  }

  get #view() {
    return { replies: this.#replies, uncached: (prompt: string) => this.#slots.uncached(prompt) };
  }

  async #advance({ next: reply, putAside }: NextReply): Promise<void> {
    const { state, signal } = reply;
    try {
      if (signal.aborted) {
        if ('id' in state) await this.#calls.cancel(state.id);
        this.#end(reply, () => reply.reject(signal.reason));
      } else {
        for (const each of putAside) await this.#putAside(each);
        if (!('id' in state)) await this.#begin(reply);
        else if (!putAside.includes(reply)) await this.#step(reply);
      }
    } catch (error) {
      if (!(error instanceof RequestRejectedError)) throw error;
      this.#end(reply, () => reply.reject(error));
    }
  }

  async #begin(reply: ScheduledReply): Promise<void> {
    if (this.#states) {
      const isNew = !reply.isAhead && !reply.computedAhead;
      if (isNew && isToBeShared(this.#view, reply)) return this.#begin(this.#computeAhead(reply));
      await this.#states.keepBefore(reply.prompt);
    }
    this.#isDrained = false;
    const id = await this.#calls.begin(reply.fields, reply.images?.files);
    reply.since = performance.now();
    reply.drafted = 0;
    reply.state = { name: 'prefill', id, slot: this.#slots.take(reply.prompt) };
    // The headers of its answer then arrive while the first step runs.
    if (!this.#mayRefuse(reply)) accept(reply);
  }

  /** Whether the server may refuse a prompt that it has queued: for its grammar, its characters or its length. */
  #mayRefuse({ fields, images, prompt }: ScheduledReply): boolean {
    return (
      'grammar' in fields ||
      images !== undefined ||
      this.#options.encodesAll === false ||
      MAX_TOKENS_PER_UNIT * prompt.length >= this.#options.context
    );
  }

  /** Computes a prompt as its own reply, so that an abort or a shorter prompt need not wait for it. */
  #computeAhead(reply: ScheduledReply): ScheduledReply {
    reply.state = { name: 'ahead' };
    let timings: LlamaTimings | undefined;
    return this.#add(
      { fields: { prompt: reply.fields['prompt'], n_predict: 0, cache_prompt: true }, images: reply.images },
      reply.signal,
      {
        // The server reads the grammar only when the reply itself begins.
        onAccepted: () => {
          if (!('grammar' in reply.fields)) accept(reply);
        },
        onChunk: (chunk) => {
          timings = chunk.timings ?? timings;
        },
        resolve: () => {
          reply.state = { name: 'waiting' };
          reply.computedAhead = { timings };
          reply.size = 0;
        },
        reject: (error) => this.#end(reply, () => reply.reject(error)),
      },
      true,
    );
  }

  /**
   * Reads the results of a step. While all replies generate, each has one result per step: the next step is then
   * requested before, so that the server never waits for this thread.
   */
  async #step(reply: ScheduledReply): Promise<void> {
    const running = this.#replies.filter(isRunning);
    const isSteady = this.#isDrained && running.every(({ state }) => state.name === 'decode');
    const waits = this.#counts.length > 0 || this.#replies.some(({ state }) => state.name === 'waiting');
    const step = this.#ahead ?? this.#request(reply, running);
    this.#ahead = isSteady && !waits ? this.#request(reply, running) : null;
    await this.#readStep(step);
    if (isSteady) return;
    this.#isDrained = true;
    for (const each of running) await this.#drain(each);
  }

  #request(reply: ScheduledReply, running: readonly ScheduledReply[]): RequestedStep {
    // Drafted tokens have no log probabilities. Replies that run together fill a step without drafts.
    const mayDraft = this.#options.drafts && running.length === 1 && !reply.fields['n_probs'];
    const drafts = mayDraft && reply.state.name === 'decode';
    const step: RequestedStep = [];
    request(step, reply, (id) => this.#calls.step(id, drafts));
    for (const each of running) if (each !== reply) request(step, each, (id) => this.#calls.take(id));
    return step;
  }

  /** Reads a step's results. Those of drafted tokens come after the step that was requested ahead. */
  async #readStep(step: RequestedStep): Promise<void> {
    for (const { reply, id, result } of step) {
      if (!('id' in reply.state) || reply.state.id !== id || reply.signal.aborted) continue;
      const { drafted } = reply;
      await this.#read(reply, result);
      for (let more = reply.drafted - drafted; more > 0; more--)
        request(this.#ahead ?? step, reply, (of) => this.#calls.take(of));
    }
  }

  /** Reads the step that was requested ahead, before anything else is. */
  async #readAhead(): Promise<void> {
    const step = this.#ahead;
    this.#ahead = null;
    if (step) await this.#readStep(step);
    this.#isDrained = false;
  }

  /** Reads all queued results. */
  async #drain(reply: ScheduledReply): Promise<void> {
    for (let more = true; more;) {
      const { state, signal } = reply;
      if (!('id' in state) || signal.aborted) return;
      more = await this.#read(reply, this.#calls.take(state.id));
    }
  }

  /** Reads one result. @returns whether there was a result and more will follow */
  async #read(reply: ScheduledReply, reading: Promise<StepResult | null>): Promise<boolean> {
    try {
      const result = await reading;
      accept(reply);
      if (!result) return false;
      this.#give(reply, result.chunks);
      if (result.more) return true;
      this.#end(reply, reply.resolve);
      if (!reply.isAhead) return false;
      this.#isDrained = false;
      await this.#states?.copy();
    } catch (error) {
      if (!(error instanceof RequestRejectedError)) throw error;
      this.#end(reply, () => reply.reject(error));
    }
    return false;
  }

  #give(reply: ScheduledReply, chunks: Chunk[]): void {
    for (const chunk of chunks) {
      reply.text += chunk.choices?.[0]?.text ?? '';
      reply.drafted = chunk.timings?.draft_n_accepted ?? reply.drafted;
      reply.onChunk(withPrompt(chunk, reply.computedAhead?.timings));
    }
    // A prompt computed ahead counts as prefill until its state is copied; its token is discarded.
    if (chunks.length > 0 && reply.state.name === 'prefill' && !reply.isAhead)
      reply.state = { ...reply.state, name: 'decode' };
  }

  async #putFillingAside(): Promise<void> {
    for (const each of filling(this.#replies)) await this.#putAside(each);
  }

  async #putAside(reply: ScheduledReply): Promise<void> {
    if (!('id' in reply.state)) return;
    const { id } = reply.state;
    this.#leaveSlot(reply);
    reply.putAside++;
    reply.since = performance.now();
    await this.#calls.cancel(id);
  }

  #leaveSlot(reply: ScheduledReply): void {
    if ('slot' in reply.state) this.#slots.release(reply.state.slot, reply.prompt + reply.text);
    reply.state = { name: 'waiting' };
  }

  #end(reply: ScheduledReply, settle: () => void): void {
    const at = this.#replies.indexOf(reply);
    if (at >= 0) this.#replies.splice(at, 1);
    this.#leaveSlot(reply);
    settle();
  }
}

function accept(reply: ScheduledReply): void {
  if (reply.accepted) return;
  reply.accepted = true;
  reply.onAccepted();
}

/** Requests a result of a reply, unless it has ended. */
function request(
  step: RequestedStep,
  reply: ScheduledReply,
  call: (id: number) => Promise<StepResult | null>,
): void {
  if (!('id' in reply.state)) return;
  const { id } = reply.state;
  const result = call(id);
  // The step may be read later, or not at all.
  result.catch(() => undefined);
  step.push({ reply, id, result });
}

/** Adds the timings of the prompt's computation ahead: its cache hits are the request's. */
function withPrompt(chunk: Chunk, ahead: LlamaTimings | undefined): Chunk {
  if (!chunk.timings || !ahead) return chunk;
  const { cache_n: found, prompt_n: computed, prompt_ms: ms } = chunk.timings;
  return {
    ...chunk,
    timings: {
      ...chunk.timings,
      cache_n: ahead.cache_n,
      prompt_n: found + computed - ahead.cache_n,
      prompt_ms: ms + ahead.prompt_ms,
    },
  };
}
