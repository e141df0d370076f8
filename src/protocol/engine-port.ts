import type { EngineStatus, LoadProgress } from './status.ts';
import type { EventOf, Job, Kind } from '#jobs';
import type { WeightsCommand } from './weights-command.ts';
import type { WeightsReplies } from './weights-messages.ts';
import type { WireError } from '#base';

/**
 * The channel of one request: a MessagePort from the requester (service worker, or a page without one) straight
 * to the engine worker. The requester holds the Web Lock `requestLock(id)` for as long as it needs the answer;
 * the worker queues for that lock and stops generating once it gets it early.
 */
export type RequesterMessage =
  | (Question & { version: number; id: string })
  /** The requester has room for `count` more deltas. */
  | { type: 'credit'; count: number }
  | { type: 'cancel' };

export type Question =
  /** `pauses`: how often the job has given way to others. */
  | { type: 'job'; job: Job; origin?: Origin; pauses?: number }
  /** Load the model, as one of these variants; answered with `progress` and then `loaded`, or `error`. */
  | { type: 'load'; model: string; variants?: string[] }
  /** Answered with `status`. */
  | { type: 'status' }
  /** Answered with `weights`, or `error`. */
  | { type: 'weights'; command: WeightsCommand };

/** Sender of a job: the order in which jobs run depends on it. */
export interface Origin {
  /** The page or worker that sent the request. */
  client: string;
  /** The request's id: its choices are jobs of one request. */
  request: string;
  /** Set if the answer is not streamed: a long job yields to streamed ones, which are read as they arrive. */
  background?: true;
  /** Set if the client cannot signal that it gave up the request: an equal request counts as its retry. */
  mayBeRepeated?: true;
  /** Number of this attempt, if an SDK repeats its requests: 0 is the first. */
  attempt?: number;
}

/**
 * Reason why nothing has arrived yet. `checking`: the prompt may be too long, or its grammar may be refused;
 * `sent`: a server has the request, and has not answered; `prefill`: the engine computes.
 */
export type Stage = 'queued' | 'loading' | 'checking' | 'sent' | 'prefill';

export interface StageDetails {
  /** Fingerprint of the variant that computes, with `prefill`. */
  servedBy?: string;
  /** Keywords of schemas that are not enforced, by their place in the request. */
  loosened?: string[];
}

/** `K`: the kind of the job that is answered. */
export type EngineMessage<K extends Kind = Kind> =
  /** The worker has taken the port; the requester now watches `engineLock(epoch)` to learn of its death. */
  | {
      type: 'connected';
      version: number;
      epoch: string;
      /** Takes further ports with `ServePort`, past the page; absent on a port that came this way. */
      link?: MessagePort;
    }
  /** Reports that nothing has been generated yet, and why. */
  | ({ type: 'stage'; stage: Stage } & StageDetails)
  | { type: 'event'; event: EventOf<K> }
  /** The job gives way to others: the requester asks again for the rest. */
  | { type: 'paused' }
  | { type: 'progress'; progress: LoadProgress }
  | { type: 'loaded' }
  | { type: 'status'; status: EngineStatus }
  | { type: 'weights'; reply: WeightsReplies[keyof WeightsReplies] }
  | { type: 'error'; error: WireError };

/** Deltas that may be under way unread before the engine waits for credit. */
export const CREDIT_WINDOW = 32;

/**
 * One side of a request's channel: a MessagePort, or, where no page passes ports on, a BroadcastChannel with a
 * random name, which transfers nothing.
 */
export interface Port<Sent, Received> {
  onmessage: ((event: MessageEvent<Received>) => void) | null;
  postMessage(message: Sent, transfer?: Transferable[]): void;
  close(): void;
}
export type RequesterPort = Port<RequesterMessage, EngineMessage>;
export type EnginePort = Port<EngineMessage, RequesterMessage>;
