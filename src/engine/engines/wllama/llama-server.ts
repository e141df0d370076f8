import { PromptCache, shared, type Slot } from './prompt-cache.ts';
import type { Chunk } from './reply-reader.ts';

/** The server's own answer that it will not, or cannot, do what was asked; it is as good as before. */
export class Refusal extends Error {
  /** Both given when it is that the prompt is longer than the context. */
  readonly promptTokens: number | undefined;
  readonly contextLength: number | undefined;

  constructor(message: string, promptTokens?: number, contextLength?: number) {
    super(message);
    this.promptTokens = promptTokens;
    this.contextLength = contextLength;
  }
}

/** The calls into llama.cpp's server. One runs at a time; any rejection but a `Refusal` is the server's end. */
export interface ServerCalls {
  /** Queues a completion. @returns its id */
  begin(fields: Record<string, unknown>): Promise<number>;
  /** Computes one step for all slots; then takes one result of this completion, if it has one. */
  step(id: number): Promise<StepResult>;
  /** Frees the slot; the prompt computed so far stays in its cache. */
  cancel(id: number): Promise<void>;
}

type Timings = NonNullable<Chunk['timings']>;

interface StepResult {
  chunks: Chunk[];
  more: boolean;
}

interface Reply {
  fields: Record<string, unknown>;
  prompt: string;
  /** About how much prompt there is to compute: characters. */
  size: number;
  /** null: waits to begin, or has been put aside. */
  id: number | null;
  slot: Slot | null;
  text: string;
  /** The prompt is computed ahead: by a reply of its own, then done, with that one's figures. */
  ahead: 'no' | 'under way' | 'nothing known' | Timings;
  /** Computes a prompt ahead, for other replies. */
  isAhead: boolean;
  /** Its first token has come: the prompt is computed. */
  started: boolean;
  /** How often a shorter prompt has gone before it. */
  yielded: number;
  /** Results taken, counted from where the others stood when it came. */
  taken: number;
  signal: AbortSignal;
  onChunk(chunk: Chunk): void;
  resolve(): void;
  reject(error: unknown): void;
}

/** A long prompt lets shorter ones go first this often, and is then computed through. */
const MOST_YIELDED = 8;
/** Characters. Stepping back is not worth it between prompts of about one length. */
const MARGIN = 200;
/** A prompt under way is asked for its first token once while others are asked this often for their next. */
const UNSTARTED = 2;
/**
 * Characters of new prompt from which on it is computed ahead: its state is then copied, for others that begin alike, for
 * the price of one more token.
 */
const WORTH_SHARING = 400;
/** Characters of a state that are worth a few milliseconds to keep; about a second's computing. */
const WORTH_KEEPING = 200;
/** Single tokens, to push states out of the slots. */
const LETTERS = 'abcdefghijklmnopqrstuvwxyz';
const isMuchLonger = (a: Reply, b: Reply): boolean => a.size > 2 * b.size + MARGIN;

/**
 * Drives llama.cpp's server, in which nothing runs by itself: each step computes a token for every slot but hands out
 * one result. Taking the steps here, one after another, lets results be taken evenly, an abort wait for one step at
 * most, a refused request fail alone, and a short prompt go before a long one.
 */
export class LlamaServer {
  readonly #calls: ServerCalls;
  readonly #replies: Reply[] = [];
  readonly #cache: PromptCache;
  readonly #copies: boolean;
  #looping = false;

  /**
   * @param slots as many as the server has; never more replies run at once
   * @param addsBos llama.cpp puts a first token before every prompt: none is empty then, and states cannot be copied
   */
  constructor(calls: ServerCalls, slots: number, addsBos: boolean) {
    this.#calls = calls;
    this.#cache = new PromptCache(slots);
    this.#copies = !addsBos;
  }

  /**
   * Generates one reply. Resolves when it is whole.
   * @throws the signal's reason, once the slot is free again; `Refusal`; or whatever the server died of
   */
  run(fields: Record<string, unknown>, onChunk: (chunk: Chunk) => void, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#add(fields, signal, { onChunk, resolve, reject }, false);
    });
  }

  #add(
    fields: Record<string, unknown>,
    signal: AbortSignal,
    to: Pick<Reply, 'onChunk' | 'resolve' | 'reject'>,
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
      started: false,
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

  /** Whoever left, then whoever is to begin, then the one that has been given least. */
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
      shortest.yielded < MOST_YIELDED && this.#computing().some((other) => isMuchLonger(shortest, other));
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
    return reply.yielded < MOST_YIELDED && this.#computing().some(isFor);
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
      const failed = error instanceof Refusal ? [reply] : [...this.#replies];
      for (const each of failed) this.#end(each, () => each.reject(error));
    }
  }

  async #begin(reply: Reply): Promise<void> {
    const { prompt } = reply;
    if (this.#copies) {
      if (!reply.isAhead && reply.ahead === 'no' && this.#cache.fresh(prompt) >= WORTH_SHARING)
        return this.#begin(this.#ahead(reply));
      if (this.#cache.missed(prompt) >= WORTH_KEEPING) await this.#park();
      else if (this.#cache.lost(prompt) >= WORTH_KEEPING) await this.#copy();
    }
    reply.slot = this.#cache.take(prompt);
    reply.id = await this.#calls.begin(reply.fields);
  }

  /** As a reply of its own, so that an abort or a shorter prompt need not wait for it. */
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
    return this.#add(fields, reply.signal, { onChunk, resolve, reject }, true);
  }

  /** Saves the states of all idle slots in memory; there they stay, too. An empty prompt does that to the least recently used. */
  async #copy(): Promise<void> {
    for (let count = this.#cache.idle; count > 0; count--) await this.#through('');
    this.#cache.copied();
  }

  /** Moves the states of all idle slots out, so that the saved state that fits best will be taken. */
  async #park(): Promise<void> {
    for (let count = this.#cache.idle; count > 0; count--) {
      const letter = [...LETTERS].find((each) => !this.#cache.holds(each)) ?? '';
      const slot = this.#cache.take(letter);
      await this.#through(letter);
      this.#cache.release(slot, letter);
    }
  }

  async #through(prompt: string): Promise<void> {
    const id = await this.#calls.begin({ prompt, n_predict: 0, cache_prompt: true });
    for (let more = true; more;) ({ more } = await this.#calls.step(id));
  }

  async #step(reply: Reply, id: number): Promise<void> {
    const { chunks, more } = await this.#calls.step(id);
    for (const chunk of chunks) {
      reply.text += chunk.choices?.[0]?.text ?? '';
      reply.onChunk(typeof reply.ahead === 'string' ? chunk : withPrompt(chunk, reply.ahead));
    }
    if (chunks.length > 0 && !reply.started) {
      reply.started = true;
      reply.taken = Math.min(...this.#replies.filter(({ started }) => started).map(({ taken }) => taken));
    }
    reply.taken += reply.started ? 1 : UNSTARTED;
    if (more) return;
    this.#end(reply, reply.resolve);
    if (reply.isAhead) await this.#copy();
  }

  /** llama.cpp fills a step with the prompt of the lowest slot first: a much longer one is put aside meanwhile. */
  async #makeRoom(reply: Reply): Promise<void> {
    for (const other of this.#computing()) {
      if (other.id === null || other.yielded >= MOST_YIELDED || !isMuchLonger(other, reply)) continue;
      const { id } = other;
      other.id = null;
      other.yielded++;
      this.#leaveSlot(other);
      await this.#calls.cancel(id);
    }
  }

  #leaveSlot(reply: Reply): void {
    if (reply.slot) this.#cache.release(reply.slot, reply.prompt + reply.text);
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
