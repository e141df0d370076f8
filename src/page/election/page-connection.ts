import { PROTOCOL_VERSION } from '#protocol';
import type { EngineConnection } from '#link';
import type { ElectionMember } from './election-member.ts';

/** Reaches the engine from a page: this tab's own through its page when it leads, another tab's by a call. */
export const pageConnection = (member: ElectionMember): EngineConnection => ({
  scope: member.scope,
  locks: navigator.locks,
  transport: {
    async offer(ways, _again, isLost) {
      if (isLost) member.takeOver();
      if (member.leading) member.serve(ways.openPort(), PROTOCOL_VERSION);
      else ways.openDirect();
    },
  },
});
