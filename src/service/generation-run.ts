import type { Accepted } from '../protocol/job.ts';
import type { Call } from './call.ts';
import type { AnswerHead } from './chat-objects.ts';
import type { Generation } from './generation.ts';
import { requireModel } from './model-access.ts';
import { rateLimited } from './service-error.ts';
import { Tally } from './tally.ts';

/** A generation that has been let in and is about to begin. */
export interface GenerationRun {
  call: Call;
  generation: Generation;
  /** Id in the catalog. */
  model: string;
  tally: Tally;
  /** Gives the place in flight back and counts the tokens; to be called once, however the run ends. Never rejects. */
  settle(): Promise<void>;
}

/** @throws ServiceError 404, 429 */
export async function admitGeneration(call: Call, generation: Generation): Promise<GenerationRun> {
  const { dependencies, admitted } = call;
  const model = await requireModel(dependencies.models, generation.model, 'chat', admitted);
  const leave = await takePlace(call);
  const tally = new Tally(generation, call.receivedAt, dependencies.now);
  const settle = async (): Promise<void> => {
    leave();
    call.trace?.usage(tally.usage);
    // The reply is good even where its tokens cannot be counted.
    await dependencies.keys.settle(admitted.keyId, tally.totalTokens).catch(() => {});
  };
  const sampling = { ...model.defaults, ...generation.sampling };
  return { call, generation: { ...generation, sampling }, model: model.id, tally, settle };
}

/** @throws ServiceError 429 */
async function takePlace({ admitted, dependencies, id }: Call): Promise<() => void> {
  const { exceeded, limits, inFlightLimit } = admitted;
  if (exceeded) {
    const limit = limits ? ` of ${limits[exceeded.what].limit} ${exceeded.what} a minute` : '';
    const wait = Math.ceil(exceeded.retryAfterMs / 1000);
    throw rateLimited(`This key's limit${limit} is used up. Try again in ${wait} s.`, exceeded.retryAfterMs);
  }
  const leave = await dependencies.keys.enter(admitted, id);
  if (leave) return leave;
  const limit = `${inFlightLimit} request${inFlightLimit === 1 ? '' : 's'}`;
  throw rateLimited(`This key may have ${limit} in flight. Try again when one of them has ended.`, 1000);
}

export function answerHead(
  { call, generation }: GenerationRun,
  prefix: string,
  { fingerprint }: Pick<Accepted, 'fingerprint'>,
): AnswerHead {
  const created = Math.floor(call.receivedAt / 1000);
  return { id: `${prefix}${call.id}`, created, model: generation.model, fingerprint };
}
