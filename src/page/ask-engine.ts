import type { CommandOf, WeightsCommand } from '../protocol/weights-command.ts';
import type { WeightsReplies } from '../protocol/weights-messages.ts';
import type { ElectionMember } from './election/election-member.ts';
import { loadChunk } from './load-chunk.ts';

/** Runs a command on the stored weights. Its code is fetched when first used. @throws LocaltextError; the signal's reason */
export const askEngine = async <T extends WeightsCommand['type']>(
  leader: ElectionMember,
  command: CommandOf<T>,
  signal: AbortSignal,
): Promise<WeightsReplies[T]> =>
  (await loadChunk(import('./run-command.ts'))).runCommand(leader, command, signal);
