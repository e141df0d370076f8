import { ServiceError } from '#base';
import type { CommandOf, WeightsCommand, WeightsReplies, OnProgress } from '#protocol';
import { commandWeights } from '#link';
import type { ElectionMember } from './election/election-member.ts';
import { pageConnection } from './election/page-connection.ts';
import { fromWire } from './localtext-error.ts';

interface CommandOptions {
  signal?: AbortSignal | undefined;
  onProgress?: OnProgress | undefined;
}

/**
 * Runs a command on the stored weights in the engine, whichever tab it is in.
 * @throws LocaltextError; the signal's reason when aborted
 */
export type RunCommand = <T extends WeightsCommand['type']>(
  command: CommandOf<T>,
  options?: CommandOptions,
) => Promise<WeightsReplies[T]>;

/** @param stopped ends all commands */
export const engineCommands =
  (member: ElectionMember, stopped: AbortSignal): RunCommand =>
  async (command, { signal, onProgress } = {}) => {
    const either = AbortSignal.any([stopped, signal ?? stopped]);
    try {
      return await commandWeights(pageConnection(member), command, either, onProgress);
    } catch (error) {
      throw error instanceof ServiceError ? fromWire(error.wire) : error;
    }
  };
