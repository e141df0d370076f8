import type { ServePort } from '../protocol/discovery.ts';
import type { EngineTransport } from './engine-connection.ts';
import { watchEngine } from './watch-engine.ts';

/**
 * Keeps the link to the engine that accepted last: the next port goes straight to it, and not through the tabs. Where that
 * engine has ended, or does not accept in time, the tabs are asked as before.
 */
export function linked(transport: EngineTransport, locks: LockManager): EngineTransport {
  let link: MessagePort | null = null;
  let stopWatching = (): void => {};
  const forget = (): void => {
    stopWatching();
    link?.close();
    link = null;
  };
  return {
    ...transport,
    async offer(ways, again) {
      if (again) forget();
      if (link) link.postMessage({ type: 'localtext:serve' } satisfies ServePort, [ways.openPort()]);
      else await transport.offer(ways, again);
    },
    linkTo(epoch, port) {
      forget();
      link = port;
      stopWatching = watchEngine(locks, epoch, forget);
    },
  };
}
