/** Web Locks as far as a count of holders needs them: every name is free at once. */
export class FakeLocks {
  readonly #held = new Set<string>();

  async request(name: string, work: () => Promise<unknown>): Promise<unknown> {
    await Promise.resolve();
    this.#held.add(name);
    try {
      return await work();
    } finally {
      this.#held.delete(name);
    }
  }

  async query(): Promise<{ held: { name: string }[] }> {
    await Promise.resolve();
    return { held: [...this.#held].map((name) => ({ name })) };
  }

  /** What the browser does when whoever held the locks dies. */
  crash(): void {
    this.#held.clear();
  }
}
