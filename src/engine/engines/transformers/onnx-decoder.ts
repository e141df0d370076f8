import {
  DynamicCache,
  Tensor,
  type PreTrainedModel,
  type PreTrainedTokenizer,
} from '@huggingface/transformers';

import type { Decoder } from './decoder.ts';
import { run } from './onnx-runtime.ts';

export interface OnnxDecoderParts {
  model: PreTrainedModel;
  tokenizer: PreTrainedTokenizer;
  contextLength: number;
  stepTokens: number;
}

/** An ONNX decoder in the layout of transformers.js, with the KV cache of what it has computed last. */
export class OnnxDecoder implements Decoder {
  readonly contextLength: number;
  readonly vocabularySize: number;
  readonly stepTokens: number;
  readonly #model: PreTrainedModel;
  readonly #tokenizer: PreTrainedTokenizer;
  readonly #ends: ReadonlySet<number>;
  #cache: DynamicCache | null = null;
  #cached: number[] = [];

  constructor({ model, tokenizer, contextLength, stepTokens }: OnnxDecoderParts) {
    this.#model = model;
    this.#tokenizer = tokenizer;
    this.contextLength = contextLength;
    this.stepTokens = stepTokens;
    let last = -1;
    for (const id of tokenizer.get_vocab().values()) last = Math.max(last, id);
    this.vocabularySize = last + 1;
    this.#ends = new Set(endTokens(model, tokenizer));
  }

  get cached(): readonly number[] {
    return this.#cached;
  }

  encode(text: string, { bare }: { bare: boolean }): number[] {
    return this.#tokenizer.encode(text, { add_special_tokens: !bare });
  }

  decode(ids: readonly number[]): string {
    if (ids.length === 0) return '';
    return this.#tokenizer.decode([...ids], {
      skip_special_tokens: true,
      clean_up_tokenization_spaces: false,
    });
  }

  text(id: number): string {
    return this.#tokenizer.decode([id], { clean_up_tokenization_spaces: false });
  }

  isEnd(id: number): boolean {
    return this.#ends.has(id);
  }

  async step(ids: readonly number[]): Promise<Float32Array> {
    const total = this.#cached.length + ids.length;
    const outputs = await run(this.#model, {
      input_ids: new Tensor('int64', BigInt64Array.from(ids, BigInt), [1, ids.length]),
      attention_mask: new Tensor('int64', new BigInt64Array(total).fill(1n), [1, total]),
      // Where the graph asks for it: none but the last logits are looked at.
      num_logits_to_keep: new Tensor('int64', [1n], []),
      past_key_values: this.#cache,
    });
    const { logits, ...others } = outputs;
    if (!logits) throw new Error('the model gives no logits');
    this.#keep(others);
    this.#cached.push(...ids);
    const wide = logits.type === 'float32' ? logits : logits.to('float32');
    const width = wide.dims.at(-1) ?? 0;
    const last = (wide.data as Float32Array).slice(-width);
    logits.dispose();
    return last;
  }

  async reset(): Promise<void> {
    const cache = this.#cache;
    this.#cache = null;
    this.#cached = [];
    await cache?.dispose();
  }

  async dispose(): Promise<void> {
    await this.reset();
    await this.#model.dispose();
  }

  /** The cache goes out of a step as `present…`, and into the next as `past…`. */
  #keep(outputs: Record<string, Tensor>): void {
    const entries = Object.entries(outputs)
      .filter(([name]) => name.startsWith('present'))
      .map(([name, tensor]) => [
        name.replace(/^present_/, 'past_').replace(/^present\./, 'past_key_values.'),
        tensor,
      ]);
    const next = Object.fromEntries(entries) as Record<string, Tensor>;
    if (this.#cache) this.#cache.update(next);
    else this.#cache = new DynamicCache(next);
  }
}

/** By the generation's configuration, else the model's, and always the tokenizer's. */
function endTokens(model: PreTrainedModel, tokenizer: PreTrainedTokenizer): number[] {
  const configs = [model.generation_config ?? {}, model.config] as { eos_token_id?: unknown }[];
  const named = configs.flatMap(({ eos_token_id: ids }) => ids);
  return [...named, tokenizer.eos_token_id].filter((id): id is number => typeof id === 'number');
}
