import type { Wllama } from '@wllama/wllama';

import type { ChatEvent, ChatJob } from '../../../protocol/job.ts';
import type { ChatEngine } from '../../engine.ts';
import { EngineError, engineCrashed } from '../../engine-error.ts';
import { Channel } from './channel.ts';
import type { ChatPrompt } from './chat-prompt.ts';
import { LlamaServer } from './llama-server.ts';
import { ReplyReader, type Chunk } from './reply-reader.ts';
import { completionRequest } from './request.ts';
import { serverCalls } from './server-calls.ts';
import { fromWllamaError } from './wllama-error.ts';

/** llama.cpp's server in WASM: its requests and chunks turned into ours. */
export class WllamaEngine implements ChatEngine {
  readonly fingerprint: string;
  readonly slots: number;
  readonly #wllama: Wllama;
  readonly #server: LlamaServer;
  readonly #chatPrompt: ChatPrompt;
  #dead = false;

  constructor(wllama: Wllama, chatPrompt: ChatPrompt, fingerprint: string, slots: number) {
    this.#wllama = wllama;
    this.#server = new LlamaServer(serverCalls(wllama));
    this.#chatPrompt = chatPrompt;
    this.fingerprint = fingerprint;
    this.slots = slots;
  }

  async *generate(job: ChatJob, signal: AbortSignal): AsyncGenerator<ChatEvent, void, undefined> {
    signal.throwIfAborted();
    if (this.#dead) throw engineCrashed(null);
    const request = completionRequest(job, this.#chatPrompt);
    const reader = new ReplyReader(job, this.fingerprint);
    const chunks = new Channel<Chunk>();
    // Also stops it when the consumer walks away before the end.
    const left = new AbortController();
    const running = this.#server.run(
      request,
      (chunk) => chunks.push(chunk),
      AbortSignal.any([signal, left.signal]),
    );
    running.then(
      () => chunks.end(),
      (error: unknown) => chunks.fail(error),
    );
    try {
      for await (const chunk of chunks) yield* reader.read(chunk);
      yield* reader.end();
    } catch (error) {
      signal.throwIfAborted();
      throw this.#translate(error, job.constraint !== undefined);
    } finally {
      left.abort();
      // Its slot is free once the cancel has gone through.
      await running.catch(() => undefined);
    }
  }

  async unload(): Promise<void> {
    this.#dead = true;
    await this.#wllama.exit();
  }

  #translate(error: unknown, constrained: boolean): EngineError {
    const translated = fromWllamaError(error, constrained);
    if (translated.code === 'engine_crashed') this.#dead = true;
    return translated;
  }
}
