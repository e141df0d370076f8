import { CREDIT_WINDOW } from '../../protocol/engine-port.ts';
import { abortable } from '../../protocol/abort.ts';

/** How many deltas the asker still has room for. One taker at a time. */
export class Credit {
  #left = CREDIT_WINDOW;
  #wake: (() => void) | null = null;

  add(count: number): void {
    this.#left += count;
    this.#wake?.();
    this.#wake = null;
  }

  /** Waits until there is room for one more, and takes it. */
  async take(signal: AbortSignal): Promise<void> {
    while (this.#left <= 0) {
      await abortable(
        new Promise<void>((resolve) => {
          this.#wake = resolve;
        }),
        signal,
      );
    }
    this.#left--;
  }
}
