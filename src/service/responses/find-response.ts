import type { Exchange } from '../http/exchange.ts';
import type { StoredResponse } from '#protocol';

/** A response that is still being streamed, and will be stored. */
interface OpenStream {
  keyId: string;
  /** The response so far, as JSON. */
  current(): string;
  /** Stores what was sent so far. */
  storeSent(): Promise<unknown>;
  /** Forgets the response: nothing of it is stored from now on. */
  forget(): void;
}

/** By the id of the response. */
export const openStreams = new Map<string, OpenStream>();

/** The key's response with this id, if it is still being streamed. */
export function openStream({ admitted }: Exchange, id: string): OpenStream | undefined {
  const open = openStreams.get(id);
  return open?.keyId === admitted.keyId ? open : undefined;
}

/**
 * The key's response that a request refers to, or null. A client that has stopped a stream may refer to it at
 * once: browsers report the stop after that request.
 */
export async function findResponse(exchange: Exchange, id: string): Promise<StoredResponse | null> {
  await openStream(exchange, id)?.storeSent();
  const stored = await exchange.dependencies.responses.get(id);
  return stored?.keyId === exchange.admitted.keyId ? stored : null;
}
