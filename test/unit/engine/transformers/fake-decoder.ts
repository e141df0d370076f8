import type { Decoder } from '../../../../src/engine/engines/transformers/decoder.ts';

export const END = 256;
/** `>`: the last token of every prompt. */
const LAST_OF_PROMPT = 62;
const START = 94;

/** A byte is a token; what it says is given, or by default the bytes of `reply` one after another. */
export class FakeDecoder implements Decoder {
  contextLength = 64;
  readonly vocabularySize = END + 1;
  readonly stepTokens = 8;
  cached: number[] = [];
  readonly steps: number[][] = [];
  resets = 0;
  reply: Uint8Array = new TextEncoder().encode('ok');
  onStep: () => void = () => undefined;

  /** Logits by token, for the reply so far; those of all others are -100. */
  next: (reply: number[]) => Record<number, number> = (reply) => ({ [this.reply[reply.length] ?? END]: 0 });

  encode(text: string, { bare }: { bare: boolean }): number[] {
    return [...(bare ? [] : [START]), ...new TextEncoder().encode(text)];
  }

  decode(ids: readonly number[]): string {
    return new TextDecoder().decode(Uint8Array.from(ids.filter((id) => id < END)));
  }

  text(id: number): string {
    return id === END ? '<end>' : this.decode([id]);
  }

  isEnd(id: number): boolean {
    return id === END;
  }

  async step(ids: readonly number[]): Promise<Float32Array> {
    this.onStep();
    this.steps.push([...ids]);
    this.cached.push(...ids);
    const logits = new Float32Array(this.vocabularySize).fill(-100);
    const reply = this.cached.slice(this.cached.lastIndexOf(LAST_OF_PROMPT) + 1);
    for (const [id, logit] of Object.entries(this.next(reply))) logits[Number(id)] = logit;
    return logits;
  }

  async reset(): Promise<void> {
    this.resets++;
    this.cached = [];
  }

  async dispose(): Promise<void> {
    await this.reset();
  }
}
