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

interface StepResult {
  chunks: Chunk[];
  more: boolean;
}

interface Reply {
  fields: Record<string, unknown>;
  /** About how much prompt there is to compute: characters. */
  size: number;
  /** null: waits to begin, or has been put aside. */
  id: number | null;
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
const isMuchLonger = (a: Reply, b: Reply): boolean => a.size > 2 * b.size + MARGIN;

/**
 * Drives llama.cpp's server, in which nothing runs by itself: each step computes a token for every slot but hands out
 * one result. Taking the steps here, one after another, lets results be taken evenly, an abort wait for one step at
 * most, a refused request fail alone, and a short prompt go before a long one.
 */
export class LlamaServer {
  readonly #calls: ServerCalls;
  readonly #replies: Reply[] = [];
  #looping = false;

  constructor(calls: ServerCalls) {
    this.#calls = calls;
  }

  /**
   * Generates one reply. Resolves when it is whole.
   * @throws the signal's reason, once the slot is free again; `Refusal`; or whatever the server died of
   */
  run(fields: Record<string, unknown>, onChunk: (chunk: Chunk) => void, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#replies.push({
        fields,
        size: String(fields['prompt']).length,
        id: null,
        started: false,
        yielded: 0,
        taken: this.#replies.length === 0 ? 0 : Math.min(...this.#replies.map(({ taken }) => taken)),
        signal,
        onChunk,
        resolve,
        reject,
      });
      void this.#loop();
    });
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
    const running = this.#replies.filter(({ id }) => id !== null);
    return running.reduce((least, each) => (each.taken < least.taken ? each : least), running[0] ?? any);
  }

  /** The shortest prompt that waits, unless a much shorter one is being computed. */
  #nextPrompt(): Reply | undefined {
    const [first, ...others] = this.#replies.filter(({ id }) => id === null);
    if (!first) return undefined;
    const shortest = others.reduce((best, each) => (each.size < best.size ? each : best), first);
    const mustWait =
      shortest.yielded < MOST_YIELDED && this.#computing().some((other) => isMuchLonger(shortest, other));
    return mustWait ? undefined : shortest;
  }

  #computing(): Reply[] {
    return this.#replies.filter(({ id, started }) => id !== null && !started);
  }

  async #turn(reply: Reply): Promise<void> {
    try {
      if (reply.signal.aborted) {
        if (reply.id !== null) await this.#calls.cancel(reply.id);
        this.#end(reply, () => reply.reject(reply.signal.reason));
      } else if (reply.id === null) {
        await this.#makeRoom(reply);
        reply.id = await this.#calls.begin(reply.fields);
      } else {
        await this.#step(reply, reply.id);
      }
    } catch (error) {
      // What is not an answer of the server's has broken it, for all.
      const failed = error instanceof Refusal ? [reply] : [...this.#replies];
      for (const each of failed) this.#end(each, () => each.reject(error));
    }
  }

  async #step(reply: Reply, id: number): Promise<void> {
    const { chunks, more } = await this.#calls.step(id);
    for (const chunk of chunks) reply.onChunk(chunk);
    if (chunks.length > 0 && !reply.started) {
      reply.started = true;
      reply.taken = Math.min(...this.#replies.filter(({ started }) => started).map(({ taken }) => taken));
    }
    reply.taken += reply.started ? 1 : UNSTARTED;
    if (!more) this.#end(reply, reply.resolve);
  }

  /** llama.cpp fills a step with the prompt of the lowest slot first: a much longer one is put aside meanwhile. */
  async #makeRoom(reply: Reply): Promise<void> {
    for (const other of this.#computing()) {
      if (other.id === null || other.yielded >= MOST_YIELDED || !isMuchLonger(other, reply)) continue;
      const { id } = other;
      other.id = null;
      other.yielded++;
      await this.#calls.cancel(id);
    }
  }

  #end(reply: Reply, settle: () => void): void {
    const at = this.#replies.indexOf(reply);
    if (at >= 0) this.#replies.splice(at, 1);
    settle();
  }
}
