import { afterFirst, type AfterFirst, firstTokenRequest, withFirst, withSeed } from './first-token.ts';
import { shared, type Slot } from './slot-predictor.ts';
import type { Chunk } from './wllama-reply.ts';
import { RequestRejectedError, type ServerCalls } from './server-calls.ts';
import { SlotStates, WORTH_KEEPING } from './slot-states.ts';

type Timings = NonNullable<Chunk['timings']>;

interface Reply {
  fields: Record<string, unknown>;
  prompt: string;
  /** About how much prompt there is to compute: characters. */
  size: number;
  /** null: waits to begin, or has been put aside. */
  id: number | null;
  slot: Slot | null;
  text: string;
  /** The prompt is computed ahead: by its own reply, then done, with that one's figures. */
  ahead: 'no' | 'under way' | 'nothing known' | Timings;
  /** Computes a prompt ahead, for other replies. */
  isAhead: boolean;
  /** What has come of the request for the first token alone; null: none is under way. */
  opening: Chunk[] | null;
  /** Figures of that request, once it is the rest that is asked for. */
  first: Timings | null;
  /** Its first token has come: the prompt is computed. */
  started: boolean;
  /** How often a shorter prompt has gone before it. */
  yielded: number;
  /** Results taken, counted from where the others stood when it came. */
  taken: number;
  /** The server has refused neither its prompt nor its grammar, which it does in the first step. */
  accepted: boolean;
  signal: AbortSignal;
  onAccepted(): void;
  onChunk(chunk: Chunk): void;
  resolve(): void;
  reject(error: unknown): void;
}

/** A long prompt lets shorter ones go first this often, and is then computed through. */
const MAX_YIELDED = 8;
/** Characters. Stepping back is not worth it between prompts of about one length. */
const MARGIN = 200;
/** A prompt under way is asked for its first token once while others are asked this often for their next. */
const UNSTARTED = 2;
/**
 * Characters of new prompt from which on it is computed ahead: its state is then copied, for others that begin alike, for
 * the price of one more token.
 */
const WORTH_SHARING = 400;
/** The first token was the last one that there was room for. */
const OUT_OF_CONTEXT: Chunk = { choices: [{ text: '', finish_reason: 'length' }] };
const isTooLong = (error: unknown): boolean =>
  error instanceof RequestRejectedError && error.promptTokens !== undefined;
const isMuchLonger = (a: Reply, b: Reply): boolean => a.size > 2 * b.size + MARGIN;

/**
 * Drives llama.cpp's server, in which nothing runs by itself: each step computes a token for every slot but hands out
 * one result. Taking the steps here, one after another, lets results be taken evenly, an abort wait for one step at
 * most, a refused request fail alone, and a short prompt go before a long one.
 */
export class LlamaServer {
  readonly #calls: ServerCalls;
  readonly #replies: Reply[] = [];
  readonly #states: SlotStates;
  readonly #copies: boolean;
  #looping = false;

  /**
   * @param slots as many as the server has; never more replies run at once
   * @param addsBos llama.cpp puts a first token before every prompt: none is empty then, and states cannot be copied
   */
  constructor(calls: ServerCalls, slots: number, addsBos: boolean) {
    this.#calls = calls;
    this.#states = new SlotStates(calls, slots);
    this.#copies = !addsBos;
  }

  /**
   * Generates one reply. Resolves when it is whole. `onAccepted`: the prompt fits, and is being computed.
   * @throws the signal's reason, once the slot is free again; `RequestRejectedError`; or whatever the server died of
   */
  run(
    fields: Record<string, unknown>,
    onChunk: (chunk: Chunk) => void,
    signal: AbortSignal,
    onAccepted: () => void = () => undefined,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#add(withSeed(fields), signal, { onAccepted, onChunk, resolve, reject }, false);
    });
  }

  #add(
    fields: Record<string, unknown>,
    signal: AbortSignal,
    to: Pick<Reply, 'onAccepted' | 'onChunk' | 'resolve' | 'reject'>,
    isAhead: boolean,
  ): Reply {
    const prompt = String(fields['prompt']);
    const reply: Reply = {
      ...to,
      fields,
      prompt,
      size: prompt.length,
      id: null,
      slot: null,
      text: '',
      ahead: 'no',
      isAhead,
      opening: null,
      first: null,
      started: false,
      accepted: false,
      yielded: 0,
      taken: this.#replies.length === 0 ? 0 : Math.min(...this.#replies.map(({ taken }) => taken)),
      signal,
    };
    this.#replies.push(reply);
    void this.#loop();
    return reply;
  }

  /** Fails all that run: the worker behind the calls is being ended, and a call under way would never settle. */
  stop(reason: unknown): void {
    for (const reply of this.#replies.splice(0)) reply.reject(reason);
  }

  async #loop(): Promise<void> {
    if (this.#looping) return;
    this.#looping = true;
    for (let [any] = this.#replies; any; [any] = this.#replies) await this.#turn(this.#chosen(any));
    this.#looping = false;
  }

  /** Aborted requests first, then new ones, then the one with the fewest tokens. */
  #chosen(any: Reply): Reply {
    const gone = this.#replies.find(({ signal }) => signal.aborted);
    if (gone) return gone;
    const prompt = this.#nextPrompt();
    if (prompt) return prompt;
    const running = this.#running();
    return running.reduce((least, each) => (each.taken < least.taken ? each : least), running[0] ?? any);
  }

  /** The shortest prompt that waits, unless a much shorter one is being computed. */
  #nextPrompt(): Reply | undefined {
    const [first, ...others] = this.#replies.filter(
      (reply) => reply.id === null && reply.ahead !== 'under way' && !this.#isBeingComputed(reply),
    );
    if (!first) return undefined;
    const shortest = others.reduce((best, each) => (each.size < best.size ? each : best), first);
    const mustWait =
      shortest.yielded < MAX_YIELDED && this.#computing().some((other) => isMuchLonger(shortest, other));
    return mustWait ? undefined : shortest;
  }

  #running(): Reply[] {
    return this.#replies.filter(({ id }) => id !== null);
  }

  #computing(): Reply[] {
    return this.#running().filter(({ started }) => !started);
  }

  /** What this prompt begins with is being computed for another one, and will be copied. */
  #isBeingComputed(reply: Reply): boolean {
    const isFor = (other: Reply): boolean =>
      other.isAhead && !isMuchLonger(other, reply) && shared(other.prompt, reply.prompt) >= WORTH_KEEPING;
    return reply.yielded < MAX_YIELDED && this.#computing().some(isFor);
  }

  async #turn(reply: Reply): Promise<void> {
    try {
      if (reply.signal.aborted) {
        if (reply.id !== null) await this.#calls.cancel(reply.id);
        this.#end(reply, () => reply.reject(reply.signal.reason));
      } else if (reply.id === null) {
        await this.#makeRoom(reply);
        await this.#begin(reply);
      } else {
        await this.#step(reply, reply.id);
      }
    } catch (error) {
      // What is not an answer of the server's has broken it, for all.
      const failed = error instanceof RequestRejectedError ? [reply] : [...this.#replies];
      for (const each of failed) this.#end(each, () => each.reject(error));
    }
  }

  async #begin(reply: Reply): Promise<void> {
    const { prompt, isAhead } = reply;
    if (this.#copies) {
      if (this.#isToBeShared(reply)) return this.#begin(this.#ahead(reply));
      await this.#states.keepBefore(prompt);
    }
    reply.slot = this.#states.take(prompt);
    // Beside others it would stand still while they go on.
    const first = isAhead || this.#replies.length > 1 ? null : firstTokenRequest(reply.fields);
    reply.opening = first && [];
    reply.id = await this.#calls.begin(first ?? reply.fields);
  }

  /** A copy of a state is used up by the one that takes it: each makes the next one's. */
  #isToBeShared(reply: Reply): boolean {
    if (reply.isAhead || reply.ahead !== 'no') return false;
    const awaitsIt = (other: Reply): boolean =>
      other !== reply && other.id === null && shared(other.prompt, reply.prompt) >= WORTH_KEEPING;
    return this.#states.fresh(reply.prompt) >= WORTH_SHARING || this.#replies.some(awaitsIt);
  }

  /** As its own reply, so that an abort or a shorter prompt need not wait for it. */
  #ahead(reply: Reply): Reply {
    reply.ahead = 'under way';
    let timings: Chunk['timings'];
    const fields = { prompt: reply.prompt, n_predict: 0, cache_prompt: true };
    const onChunk = (chunk: Chunk): void => {
      timings = chunk.timings ?? timings;
    };
    const resolve = (): void => {
      reply.ahead = timings ?? 'nothing known';
      reply.size = 0;
    };
    const reject = (error: unknown): void => this.#end(reply, () => reply.reject(error));
    const { onAccepted } = reply;
    return this.#add(fields, reply.signal, { onAccepted, onChunk, resolve, reject }, true);
  }

  async #step(reply: Reply, id: number): Promise<void> {
    const { chunks, more } = await this.#calls.step(id).catch((error: unknown) => {
      if (!reply.first || !isTooLong(error)) throw error;
      return { chunks: [OUT_OF_CONTEXT], more: false };
    });
    if (!reply.accepted) {
      reply.accepted = true;
      reply.onAccepted();
    }
    if (reply.opening) {
      reply.opening.push(...chunks);
      if (more) reply.taken += UNSTARTED;
      else await this.#goOn(reply, afterFirst(reply.fields, reply.opening));
      return;
    }
    this.#give(reply, chunks);
    if (more) return;
    this.#end(reply, reply.resolve);
    if (reply.isAhead) await this.#states.copy();
  }

  /** In the same slot; nobody else begins in between. */
  async #goOn(reply: Reply, next: AfterFirst): Promise<void> {
    reply.opening = null;
    if (next.type !== 'unsure') this.#give(reply, [next.chunk]);
    if (next.type === 'whole') return this.#end(reply, reply.resolve);
    if (next.type === 'more') {
      reply.fields = next.rest;
      reply.first = next.timings;
    }
    reply.id = await this.#calls.begin(reply.fields);
  }

  #give(reply: Reply, chunks: Chunk[]): void {
    for (const chunk of chunks) {
      reply.text += chunk.choices?.[0]?.text ?? '';
      const whole = reply.first ? withFirst(chunk, reply.first) : chunk;
      reply.onChunk(typeof reply.ahead === 'string' ? whole : withPrompt(whole, reply.ahead));
    }
    if (chunks.length > 0 && !reply.started) {
      reply.started = true;
      reply.taken = Math.min(...this.#replies.filter(({ started }) => started).map(({ taken }) => taken));
    }
    reply.taken += reply.started ? 1 : UNSTARTED;
  }

  /** llama.cpp fills a step with the prompt of the lowest slot first: a much longer one is put aside meanwhile. */
  async #makeRoom(reply: Reply): Promise<void> {
    for (const other of this.#computing()) {
      if (other.id === null || other.yielded >= MAX_YIELDED || !isMuchLonger(other, reply)) continue;
      const { id } = other;
      other.id = null;
      other.yielded++;
      this.#leaveSlot(other);
      await this.#calls.cancel(id);
    }
  }

  #leaveSlot(reply: Reply): void {
    if (reply.slot) this.#states.release(reply.slot, reply.prompt + reply.text);
    reply.slot = null;
  }

  #end(reply: Reply, settle: () => void): void {
    const at = this.#replies.indexOf(reply);
    if (at >= 0) this.#replies.splice(at, 1);
    this.#leaveSlot(reply);
    settle();
  }
}

/** The prompt was computed ahead: what was found in the cache is what was found then. */
function withPrompt(chunk: Chunk, ahead: Timings): Chunk {
  if (!chunk.timings) return chunk;
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
