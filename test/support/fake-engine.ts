import type { Stage } from '../../src/protocol/engine-port.ts';
import type { ChatJob, EngineFinishReason } from '../../src/jobs/chat.ts';
import type { EventOf, JobOf, Kind } from '../../src/jobs/kinds.ts';
import type { DecisionJob } from '../../src/jobs/decision.ts';
import type { EmbeddingJob } from '../../src/jobs/embedding.ts';
import type { RerankJob } from '../../src/jobs/rerank.ts';
import type { SpeechJob } from '../../src/jobs/speech.ts';
import type { ToolChoiceEvent, ToolChoiceJob } from '../../src/jobs/tool-choice.ts';
import type { TranscriptionJob } from '../../src/jobs/transcription.ts';
import type {
  EngineRequester,
  EngineEvent,
  EngineRequest,
  StageEvent,
} from '../../src/protocol/service-dependencies.ts';
import { ServiceError } from '../../src/base/errors/service-error.ts';
import { sampleOf } from './sample-json.ts';

const FAKE_FINGERPRINT = 'fake-weights-f32-node';

type Run<K extends Kind> = AsyncGenerator<StageEvent | EventOf<K>, void, undefined>;

export interface FakeReply {
  /** Reasoning before the answer, one token each. */
  thoughts?: string[];
  /** One token each. */
  deltas?: string[];
  /** Log probability of each token. */
  logprob?: number;
  delayMs?: number;
  acceptAfterMs?: number;
  finishReason?: EngineFinishReason;
  promptTokens?: number;
  cachedTokens?: number;
  /** Thrown before `accepted`. */
  refuse?: unknown;
  /** Thrown after the deltas. */
  fail?: unknown;
  /** Ends without `done`. */
  breakOff?: boolean;
  waiting?: Stage;
  /** Ends the engine after so many deltas; another one loads for a while. */
  handOver?: { after: number; loadMs: number };
}

/** Refusal of a queue that is full. */
export const QUEUE_FULL = new ServiceError({
  status: 429,
  type: 'rate_limit_error',
  code: 'rate_limit_exceeded',
  param: null,
  message: 'The queue is full.',
  retryAfterMs: 5,
  isQueueFull: true,
});

/** An engine with a known text, which sees what is asked of it and whether it was freed. */
export class FakeEngine implements EngineRequester {
  readonly jobs: (ChatJob | EmbeddingJob | RerankJob)[] = [];
  readonly transcriptions: TranscriptionJob[] = [];
  readonly decisions: DecisionJob[] = [];
  readonly ids: string[] = [];
  readonly origins: EngineRequest['origin'][] = [];
  running = 0;
  aborted = 0;
  /** Deltas that were asked for. */
  yielded = 0;
  reply: (job: ChatJob, index: number) => FakeReply;
  /** A transcription has no deltas, as from a server that does not stream. */
  sendsWholeText = false;
  /** Deltas of a transcription. */
  words: Iterable<string> = [' Hello'];
  /** Scores of a choice of tools. */
  toolScores: ToolChoiceEvent['scores'] = null;
  readonly toolChoices: ToolChoiceJob[] = [];
  /** How embeddings and rankings wait, and fail; decisions fail likewise. */
  embedding: Pick<FakeReply, 'waiting' | 'acceptAfterMs' | 'refuse'> = {};

  constructor(reply: FakeReply | ((job: ChatJob, index: number) => FakeReply) = {}) {
    this.reply = typeof reply === 'function' ? reply : () => reply;
  }

  run<K extends Kind>(job: JobOf<K>, request: EngineRequest): AsyncIterable<StageEvent | EventOf<K>> {
    this.origins.push(request.origin);
    const runs: { [Each in Kind]: (job: JobOf<Each>) => Run<Each> } = {
      chat: (chat) => this.#chat(chat, request),
      embedding: (embedding) => this.#embed(embedding, request),
      transcription: (transcription) => this.#transcribe(transcription, request),
      speech: (speech) => this.#speak(speech, request),
      rerank: (ranking) => this.#rank(ranking, request),
      toolChoice: (choice) => this.#choose(choice, request),
      decision: (decision) => this.#decide(decision, request),
    };
    return runs[job.kind](job);
  }

  async *#chat(job: ChatJob, options: EngineRequest): Run<'chat'> {
    const reply = this.reply(job, this.jobs.length);
    this.jobs.push(job);
    this.ids.push(options.id);
    this.running++;
    try {
      yield* this.#reply(job, reply, options);
    } catch (error) {
      if (options.signal.aborted) this.aborted++;
      throw error;
    } finally {
      this.running--;
    }
  }

  async *#reply(job: ChatJob, reply: FakeReply, { signal }: EngineRequest): AsyncGenerator<EngineEvent> {
    const { deltas = deltasFor(job), delayMs = 0, promptTokens = 7, cachedTokens = 0 } = reply;
    if (reply.waiting) yield { type: 'stage', stage: reply.waiting };
    await pause(reply.acceptAfterMs ?? 0, signal);
    if (reply.refuse) throw reply.refuse;
    yield { type: 'accepted', accepted: { promptTokens, fingerprint: FAKE_FINGERPRINT } };
    const thoughts = job.thoughts?.ended ? [] : (reply.thoughts ?? []);
    const most = Math.min(deltas.length, (job.maxTokens ?? Infinity) - thoughts.length);
    for (const text of thoughts) {
      await pause(delayMs, signal);
      yield { type: 'delta', delta: { text, tokens: 1, isReasoning: true } };
    }
    for (const text of deltas.slice(0, most)) {
      await pause(delayMs, signal);
      this.yielded++;
      yield { type: 'delta', delta: { text, tokens: 1, ...logprobsOf(job, text, reply.logprob) } };
      if (this.yielded !== reply.handOver?.after) continue;
      yield { type: 'stage', stage: 'loading' };
      await pause(reply.handOver.loadMs, signal);
    }
    if (reply.fail) throw reply.fail;
    if (reply.breakOff) return;
    yield {
      type: 'done',
      finishReason: most < deltas.length ? 'length' : (reply.finishReason ?? 'stop'),
      usage: { promptTokens, cachedTokens, completionTokens: thoughts.length + most },
      timings: { queueMs: 1, prefillMs: 2, decodeMs: 3 },
    };
  }

  async *#speak({ text }: SpeechJob, { signal }: EngineRequest): Run<'speech'> {
    await pause(0, signal);
    yield { type: 'accepted', fingerprint: FAKE_FINGERPRINT };
    yield { type: 'delta', bytes: new Uint8Array([1, 2, 3]), text };
    yield { type: 'done', usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 0 } };
  }

  async *#transcribe(job: TranscriptionJob, { signal }: EngineRequest): Run<'transcription'> {
    this.transcriptions.push(job);
    await pause(0, signal);
    yield { type: 'accepted', fingerprint: FAKE_FINGERPRINT };
    const quality = { temperature: 0, averageLogprob: -0.2, compressionRatio: 1, noSpeechProbability: 0 };
    const segment = { id: 0, seek: 0, start: 0, end: 1, text: ' Hello', tokens: [1, 2, 3], ...quality };
    const progress = { segments: [segment], position: 1, language: 'en', previous: [] };
    if (!this.sendsWholeText) for (const text of this.words) yield { type: 'delta', text, progress };
    yield {
      type: 'done',
      transcript: { language: 'en', seconds: 1, segments: [segment] },
      usage: { promptTokens: 50, cachedTokens: 0, completionTokens: 3 },
      timings: { queueMs: 1, computeMs: 2 },
    };
  }

  /** The first option is twice as probable as each of the others. */
  async *#decide(job: DecisionJob, { signal }: EngineRequest): Run<'decision'> {
    this.decisions.push(job);
    await pause(0, signal);
    if (this.embedding.refuse) throw this.embedding.refuse;
    const answers = job.questions.map(({ type, options }) => {
      if (type === 'predicate') return [2 / 3];
      return options.map((_, index) => (index === 0 ? 2 : 1) / (options.length + 1));
    });
    const progress = { answers, promptTokens: 12, cachedTokens: 4, labelTokens: 0 };
    yield { type: 'delta', progress };
    const timings = { queueMs: 0, computeMs: 1 };
    yield { type: 'done', progress, fingerprint: FAKE_FINGERPRINT, timings };
  }

  async *#choose(job: ToolChoiceJob, { signal }: EngineRequest): Run<'toolChoice'> {
    this.toolChoices.push(job);
    await pause(0, signal);
    yield { type: 'done', scores: this.toolScores, promptTokens: 12, fingerprint: FAKE_FINGERPRINT };
  }

  /** Longer documents are more relevant. */
  async *#rank(job: RerankJob, { signal }: EngineRequest): Run<'rerank'> {
    this.jobs.push(job);
    yield* this.#wait(signal);
    const scores = job.documents.map(({ length }) => 1 - 1 / (1 + length));
    yield { type: 'done', scores, promptTokens: 2, fingerprint: FAKE_FINGERPRINT };
  }

  async *#wait(signal: AbortSignal): AsyncGenerator<StageEvent, void, undefined> {
    const { waiting, acceptAfterMs = 0, refuse } = this.embedding;
    if (waiting) yield { type: 'stage', stage: waiting };
    await pause(acceptAfterMs, signal);
    if (refuse) throw refuse;
  }

  async *#embed(job: EmbeddingJob, { signal }: EngineRequest): Run<'embedding'> {
    this.jobs.push(job);
    yield* this.#wait(signal);
    const lengths =
      'texts' in job.input
        ? job.input.texts.map((text) => text.length)
        : job.input.tokens.map((ids) => ids.length);
    yield {
      type: 'done',
      vectors: lengths.map((length) => unitVector(length)),
      promptTokens: lengths.length * 2,
      fingerprint: FAKE_FINGERPRINT,
      timings: { queueMs: 0, computeMs: 1 },
    };
  }
}

/** What is asked for in a form has it. */
function deltasFor({ constraint }: ChatJob): string[] {
  if (!constraint) return ['Hello', ', ', 'world', '!'];
  const sample = constraint.kind === 'json_schema' ? sampleOf(JSON.parse(constraint.schema)) : {};
  return JSON.stringify(sample).match(/.{1,3}/gs) ?? [];
}

function logprobsOf(job: ChatJob, token: string, logprob = -0.5) {
  if (job.topLogprobs === undefined) return {};
  const bytes = [...new TextEncoder().encode(token)];
  const one = { token, logprob, bytes };
  return { logprobs: [{ ...one, top: Array.from({ length: job.topLogprobs }, () => one) }] };
}

function unitVector(seed: number): Float32Array<ArrayBuffer> {
  const vector = Float32Array.from({ length: 8 }, (_, index) => Math.sin(seed + index));
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
