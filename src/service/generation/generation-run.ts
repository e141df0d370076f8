import type { Accepted } from '../../protocol/job.ts';
import { storageUnavailable } from '../http/authentication.ts';
import type { Call } from '../http/call.ts';
import type { AnswerHead } from '../chat/chat-objects.ts';
import type { Generation } from './generation.ts';
import { requireModel } from '../models/model-access.ts';
import { rateLimited, type ServiceError } from '../service-error.ts';
import { estimateTokens } from './token-estimate.ts';
import { UsageCounter } from './usage-counter.ts';

/** A generation that has been let in and is about to begin. */
export interface GenerationRun {
  call: Call;
  generation: Generation;
  /** Id in the catalog. */
  model: string;
  counter: UsageCounter;
  /** Gives the place in flight back and counts the tokens; to be called once, however the run ends. Never rejects. */
  settle(): Promise<void>;
}

/** @throws ServiceError 404, 429 */
export async function admitGeneration(call: Call, generation: Generation): Promise<GenerationRun> {
  const { dependencies, admitted } = call;
  const model = await requireModel(dependencies.models, generation.model, 'chat', admitted);
  const reserved = estimateTokens(generation);
  const leave = await takePlace(call, reserved);
  const counter = new UsageCounter(generation, call.receivedAt, dependencies.now);
  const settle = async (): Promise<void> => {
    leave();
    call.trace?.usage(counter.usage);
    // The reply is good even where its tokens cannot be counted.
    await dependencies.keys.settle(admitted.keyId, reserved, counter.totalTokens).catch(() => {});
  };
  const sampling = { ...model.defaults, ...generation.sampling };
  return { call, generation: { ...generation, sampling }, model: model.id, counter, settle };
}

/** @throws ServiceError 429 */
async function takePlace(call: Call, tokens: number): Promise<() => void> {
  const { admitted, dependencies, id } = call;
  const { exceeded, inFlightLimit, keyId } = admitted;
  if (exceeded) throw usedUp(call, 'requests', exceeded.retryAfterMs);
  const leave = await dependencies.keys.enter(admitted, id);
  if (!leave) {
    const limit = `${inFlightLimit} request${inFlightLimit === 1 ? '' : 's'}`;
    throw rateLimited(`This key is limited to ${limit} in flight. Retry when one of them has ended.`, 1000);
  }
  try {
    const { limits, retryAfterMs } = await dependencies.keys.reserve(keyId, tokens).catch(() => {
      throw storageUnavailable();
    });
    admitted.limits = limits;
    if (retryAfterMs !== null) throw usedUp(call, 'tokens', retryAfterMs);
    return leave;
  } catch (error) {
    leave();
    throw error;
  }
}

function usedUp({ admitted }: Call, what: 'requests' | 'tokens', retryAfterMs: number): ServiceError {
  const limit = admitted.limits ? ` of ${admitted.limits[what].limit} ${what} a minute` : '';
  const wait = Math.ceil(retryAfterMs / 1000);
  return rateLimited(`This key's limit${limit} is used up. Retry in ${wait} s.`, retryAfterMs);
}

export function answerHead(
  { call, generation }: GenerationRun,
  prefix: string,
  { fingerprint }: Pick<Accepted, 'fingerprint'>,
): AnswerHead {
  const created = Math.floor(call.receivedAt / 1000);
  return { id: `${prefix}${call.id}`, created, model: generation.model, fingerprint };
}
