import { ServiceError } from '../errors/service-error.ts';
import type { CommandOf, WeightsCommand } from '../protocol/weights-command.ts';
import type { WeightsReplies } from '../protocol/weights-messages.ts';
import type { OnProgress } from '../protocol/worker-control.ts';
import { commandWeights } from '../transport/engine-client.ts';
import type { ElectionMember } from './election/election-member.ts';
import { pageTransport } from './election/page-transport.ts';
import { fromWire } from './localtext-error.ts';

/**
 * Runs a command on the stored weights in the engine, whichever tab it is in.
 * @throws LocaltextError; the signal's reason when aborted
 */
export async function runCommand<T extends WeightsCommand['type']>(
  leader: ElectionMember,
  command: CommandOf<T>,
  signal: AbortSignal,
  onProgress?: OnProgress,
): Promise<WeightsReplies[T]> {
  const { scope } = leader;
  const connection = { scope, transport: pageTransport(leader), locks: navigator.locks };
  try {
    return await commandWeights(connection, command, signal, onProgress);
  } catch (error) {
    throw error instanceof ServiceError ? fromWire(error.wire) : error;
  }
}
