/** A promise with its own `resolve`. */
export interface Deferred {
  promise: Promise<void>;
  resolve(): void;
}

export function createDeferred(): Deferred {
  const resolvers: (() => void)[] = [];
  const promise = new Promise<void>((resolve) => resolvers.push(resolve));
  return { promise, resolve: () => resolvers[0]?.() };
}
