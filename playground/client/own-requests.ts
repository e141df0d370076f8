import { randomId } from '../random-id.ts';

const ids = new Set<string>();

/** An id for a request of this page. The log uses it to find which client this page is, since pages do not know their client id. */
export function ownRequestId(): string {
  const id = randomId();
  ids.add(id);
  return id;
}

/** Whether this page sent the request; answers once per id. */
export const takeOwnRequest = (id: string): boolean => ids.delete(id);
