import { directChannel, type DirectPort, type RequesterPort } from '#protocol';

/** Opens a port to the engine workers of the app, past their pages. */
export function openDirect(scope: string): BroadcastChannel {
  const channel = `${directChannel(scope)}:${crypto.randomUUID()}`;
  const port = new BroadcastChannel(channel);
  const direct = new BroadcastChannel(directChannel(scope));
  direct.postMessage({ channel } satisfies DirectPort);
  direct.close();
  return port;
}

/** Dismisses a worker that has taken the port, or takes it later: it must not wait for a question. Once: a closed BroadcastChannel throws. */
export function dismiss(port: RequesterPort): void {
  if (!port.onmessage) return;
  port.onmessage = null;
  port.postMessage({ type: 'cancel' });
  port.close();
}
