import { RequestRejectedError, type ServerCalls } from '../../../src/llama/internals/server-calls.ts';

/** What is asked of a server: the fake one counts characters, the real one computes tokens. */
export interface Requests {
  /** Its prompt takes one step or few. */
  short(tokens: number): Record<string, unknown>;
  /** Its prompt takes more than four steps. */
  long(tokens: number): Record<string, unknown>;
  refused: Record<string, unknown>;
  /** Its prompt is longer than the context. */
  tooLong: Record<string, unknown>;
}

/** What `ReplyScheduler` relies on. */
export const EXPECTED = {
  tokens: 5,
  mostChunksAStep: 1,
  isPrefilledInSteps: true,
  // The first result is empty.
  stepsToAResultThatWaits: 2,
  afterCancel: 4,
  refusal: true,
  afterRefusal: 2,
  // A token all the same, and the end.
  resultsOfPromptAlone: 2,
  // Of a text that is longer than a batch, alone, and of a prompt that is longer than the context, beside a reply.
  isCounted: true,
  isCountedBeside: true,
  // A token of each step; in the last one the end, too.
  takenAfterEachStep: [1, 1, 2],
  // The one that the empty result went before; then none, as nothing is computed.
  takenWithoutStep: [1, 0],
} as const;

/** Uses a server as `ReplyScheduler` does. @returns what it did, to be compared with `EXPECTED` */
export async function observeCalls(
  calls: ServerCalls,
  { short, long, refused, tooLong }: Requests,
): Promise<Record<keyof typeof EXPECTED, unknown>> {
  const alone = await readAll(calls, await calls.begin(short(5)));

  const prefill = await readAll(calls, await calls.begin(long(1)));

  const waiting = await calls.begin(long(1));
  // The prompt of the one is computed by the steps of the other.
  await readAll(calls, await calls.begin(short(20)));
  const waited = await readAll(calls, waiting);

  const cancelled = await calls.begin(short(9));
  const staying = await calls.begin(short(4));
  await calls.step(cancelled);
  await calls.cancel(cancelled);
  const stayed = await readAll(calls, staying);

  const beside = await calls.begin(short(2));
  // At once, or with its first step.
  const refusal = await calls
    .begin(refused)
    .then((id) => readAll(calls, id))
    .then(
      () => false,
      (error: unknown) => error instanceof RequestRejectedError,
    );
  const after = await readAll(calls, beside);

  const ahead = await readAll(calls, await calls.begin({ ...long(0), cache_prompt: true }));

  const counted = await tokensOf(calls, calls.beginEmbedding(String(long(1)['prompt'])));
  const replying = await calls.begin(short(4));
  await calls.step(replying);
  const countedBeside = await tokensOf(calls, calls.begin(tooLong));
  await readAll(calls, replying);

  const stepped = await calls.begin(short(9));
  const taken = await calls.begin(short(3));
  const takenAfterEachStep: number[] = [];
  for (let more = true; more;) {
    await calls.step(stepped);
    const all = await takeAll(calls, taken);
    takenAfterEachStep.push(all.chunks);
    more = all.more;
  }
  const takenWithoutStep = [(await takeAll(calls, stepped)).chunks, (await takeAll(calls, stepped)).chunks];
  return {
    tokens: alone.texts,
    mostChunksAStep: Math.max(alone.mostChunks, prefill.mostChunks, waited.mostChunks),
    isPrefilledInSteps: prefill.stepsToFirst > 4,
    stepsToAResultThatWaits: waited.stepsToFirst,
    afterCancel: stayed.texts,
    refusal,
    afterRefusal: after.texts,
    resultsOfPromptAlone: ahead.chunks,
    isCounted: counted > 100,
    isCountedBeside: countedBeside > 100,
    takenAfterEachStep,
    takenWithoutStep,
  };
}

/** Tokens of a text that the server refuses as too long; 0 where it does not tell them. */
const tokensOf = (calls: ServerCalls, begun: Promise<number>): Promise<number> =>
  begun
    .then((id) => readAll(calls, id))
    .then(
      () => 0,
      (error: unknown) => (error instanceof RequestRejectedError && error.promptTokens) || 0,
    );

/** Steps one completion to its end. */
async function readAll(calls: ServerCalls, id: number) {
  const seen = { steps: 0, stepsToFirst: 0, chunks: 0, texts: 0, mostChunks: 0 };
  for (let more = true; more;) {
    const result = await calls.step(id);
    more = result.more;
    seen.steps++;
    if (seen.chunks === 0 && result.chunks.length > 0) seen.stepsToFirst = seen.steps;
    seen.chunks += result.chunks.length;
    seen.texts += result.chunks.filter(({ choices }) => choices?.[0]?.text).length;
    seen.mostChunks = Math.max(seen.mostChunks, result.chunks.length);
  }
  return seen;
}

/** Takes all results of one completion that wait. */
async function takeAll(calls: ServerCalls, id: number): Promise<{ chunks: number; more: boolean }> {
  let chunks = 0;
  for (;;) {
    const result = await calls.take(id);
    chunks += result?.chunks.length ?? 0;
    if (!result?.more) return { chunks, more: result === null };
  }
}
