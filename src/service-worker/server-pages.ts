/** How long ago the server may have sent a page that is of its current build, in milliseconds. */
const MAX_AGE_MS = 60_000;

/** Pages that came from the network, until they ask. The browser's HTTP cache may have answered instead of the server. */
export class ServerPages {
  readonly #dates = new Map<string, number>();

  add(clientId: string, { headers }: Response): void {
    this.#dates.set(clientId, Date.parse(headers.get('date') ?? ''));
    // Pages without localtext never ask.
    setTimeout(() => this.#dates.delete(clientId), MAX_AGE_MS);
  }

  /** Whether the server has just sent this page. */
  take(clientId: string): boolean {
    const age = Date.now() - (this.#dates.get(clientId) ?? NaN);
    this.#dates.delete(clientId);
    return Math.abs(age) < MAX_AGE_MS;
  }
}
