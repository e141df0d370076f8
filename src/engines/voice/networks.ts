import { type PreTrainedModel, Tensor } from '@huggingface/transformers';

import { BINS, normalNumbers, toWaveform } from './waveform.ts';

type Sound = Float32Array<ArrayBuffer>;

const STYLE_LENGTH = 256;

async function run(
  network: PreTrainedModel,
  inputs: Record<string, Tensor>,
): Promise<(name: string, length?: number) => Float32Array> {
  const outputs = (await network(inputs)) as Record<string, Tensor>;
  return (name, length) => {
    const tensor = outputs[name];
    if (!tensor) throw new Error(`the voice gives no ${name}, but ${Object.keys(outputs).join(', ')}`);
    const { data, type, dims } = tensor;
    if (!(data instanceof Float32Array) || data.length === 0 || data.length !== (length ?? data.length))
      throw new Error(`its output ${name} is ${type}[${dims}]`);
    return data;
  };
}

/** Ids between the two that mark the ends. */
const idsTensor = (ids: readonly number[]): Tensor =>
  new Tensor('int64', BigInt64Array.from([0, ...ids, 0], BigInt), [1, ids.length + 2]);

const speedTensor = (speed: number): Tensor => new Tensor('float32', Float32Array.of(speed), [1]);

/** Speaks by a network of hibari-tts, which predicts a spectrum. */
export async function hibariSound(
  network: PreTrainedModel,
  ids: readonly number[],
  speed: number,
): Promise<Sound> {
  const valuesOf = await run(network, { ids: idsTensor(ids), speed: speedTensor(speed) });
  const pitch = valuesOf('f0');
  const binsOf = (name: string): Float32Array => valuesOf(name, BINS * pitch.length);
  const spectrum = {
    harmonic: binsOf('lh'),
    harmonicPhase: binsOf('theta'),
    noise: binsOf('ln'),
    rest: binsOf('lr'),
    restPhase: binsOf('phi'),
    pitch,
  };
  // The same noise each time: a request that is repeated sounds the same.
  return toWaveform(spectrum, normalNumbers(ids.length));
}

/** Speaks by Kokoro. @param styles of a voice, one for each number of phonemes */
export async function kokoroSound(
  network: PreTrainedModel,
  styles: Float32Array,
  ids: readonly number[],
  speed: number,
): Promise<Sound> {
  const row = Math.min(ids.length, styles.length / STYLE_LENGTH) - 1;
  const style = styles.slice(row * STYLE_LENGTH, (row + 1) * STYLE_LENGTH);
  const valuesOf = await run(network, {
    tokens: idsTensor(ids),
    style: new Tensor('float32', style, [1, STYLE_LENGTH]),
    speed: speedTensor(speed),
  });
  return Float32Array.from(valuesOf('audio'), (sample) => Math.min(1, Math.max(-1, sample)));
}
