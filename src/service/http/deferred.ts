/** A moment that can be waited for. */
export interface Deferred {
  promise: Promise<void>;
  resolve(): void;
}

export function createDeferred(): Deferred {
  const resolvers: (() => void)[] = [];
  const promise = new Promise<void>((resolve) => resolvers.push(resolve));
  return { promise, resolve: () => resolvers[0]?.() };
}
