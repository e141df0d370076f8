import { PROTOCOL_VERSION } from '../../protocol/version.ts';
import type { EngineTransport } from '../../transport/engine-connection.ts';
import type { ElectionMember } from './election-member.ts';

/** Reaches the engine from a page: this tab's own through its page when it leads, another tab's by a call. */
export const pageTransport = (leader: ElectionMember): EngineTransport => ({
  offer({ openPort, callWorker }) {
    if (leader.leading) leader.serve(openPort(), PROTOCOL_VERSION);
    else callWorker();
    return Promise.resolve();
  },
});
