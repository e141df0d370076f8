/** A moment that can be waited for. */
export interface Moment {
  reached: Promise<void>;
  reach(): void;
}

export function createMoment(): Moment {
  const resolvers: (() => void)[] = [];
  const reached = new Promise<void>((resolve) => resolvers.push(resolve));
  return { reached, reach: () => resolvers[0]?.() };
}
