import type { EngineFacts, ModelFacts } from '../../protocol/model-facts.ts';

/** Writes an engine's facts down whenever they change: most changes of its status are none of theirs. */
export class FactsWriter {
  readonly #epoch: string;
  readonly #read: () => Promise<Record<string, ModelFacts>>;
  readonly #write: (facts: EngineFacts) => Promise<void>;
  #written = '';
  #stale = false;
  #running = false;

  constructor(
    epoch: string,
    read: () => Promise<Record<string, ModelFacts>>,
    write: (facts: EngineFacts) => Promise<void>,
  ) {
    this.#epoch = epoch;
    this.#read = read;
    this.#write = write;
  }

  changed(): void {
    this.#stale = true;
    if (this.#running) return;
    this.#running = true;
    void this.#run();
  }

  async #run(): Promise<void> {
    try {
      while (this.#stale) {
        this.#stale = false;
        const models = await this.#read();
        const text = JSON.stringify(models);
        if (text === this.#written) continue;
        await this.#write({ epoch: this.#epoch, models });
        this.#written = text;
      }
    } catch (error) {
      // Facts are optional: with a full storage the models answer all the same.
      console.warn('localtext: the facts for GET /v1/models cannot be stored', error);
    } finally {
      this.#running = false;
    }
  }
}
