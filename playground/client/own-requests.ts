const ids = new Set<string>();

/** An id for a request of this page, by which the log finds out which client this page is: no page is told. */
export function ownRequestId(): string {
  const id = crypto.randomUUID();
  ids.add(id);
  return id;
}

/** Whether this page asked it; answers once for each id. */
export const takeOwnRequest = (id: string): boolean => ids.delete(id);
