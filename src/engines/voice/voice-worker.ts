import { AutoModel, env, LogLevel, type PreTrainedModel, Tensor } from '@huggingface/transformers';
import { transfer } from 'comlink';

import type { SpeechFormat } from '#jobs';
import { Phonemizer } from '#phonemes';
import { type Runtime, wasmOptions } from '../onnx/runtime-files.ts';
import { serveFiles } from '../onnx/serve-files.ts';
import type { ReadFile } from '../onnx/weight-files.ts';
import type { UnknownWordsTable, VoiceTables, Vocabulary } from './voice-files.ts';
import { type EncodeSound, openEncoder, usableFormats } from './encode-sound.ts';
import { normalNumbers, SAMPLE_RATE, toWaveform } from './waveform.ts';

interface Voice {
  name: string;
  network: PreTrainedModel;
}

interface Loaded {
  name: string;
  phonemizer: Phonemizer;
  vocabulary: Vocabulary;
  voice: Voice | null;
  mp3Encoder: string;
}

let loaded: Loaded | null = null;
let encode: EncodeSound | null = null;

/** Opens a network of the variant. transformers.js runs a model of this type with the inputs that its graph names. */
const openNetwork = async (name: string, graph: string): Promise<PreTrainedModel> =>
  AutoModel.from_pretrained(name, { device: 'wasm', dtype: 'fp32', model_file_name: graph });

/** Runs the network that reads unknown words. Its output repeats letters, and has zeros between them. */
async function readUnknown(
  network: PreTrainedModel,
  { in: letters, out, maxlen }: UnknownWordsTable,
  word: string,
): Promise<string | null> {
  const ids = Array.from(word)
    .map((letter) => letters.indexOf(letter) + 1)
    .filter((id) => id > 0)
    .slice(0, maxlen);
  if (ids.length === 0) return null;
  const chars = new Tensor('int64', BigInt64Array.from(ids, BigInt), [1, ids.length]);
  const [output] = Object.values((await network({ chars })) as Record<string, Tensor>);
  const steps = Array.from((output?.data ?? []) as ArrayLike<number | bigint>, Number);
  return steps
    .filter((id, at) => id > 0 && id !== steps[at - 1])
    .map((id) => out[id - 1] ?? '')
    .join('');
}

/** Speaks sentences, one at a time, in a worker, as computing would block the engine worker. */
export const voiceWorker = {
  /** @throws the runtime's error */
  async load(
    name: string,
    tables: VoiceTables,
    runtime: Runtime,
    read: ReadFile,
    mp3Encoder: string,
  ): Promise<void> {
    Object.assign(env.backends.onnx.wasm ?? {}, wasmOptions(runtime));
    env.logLevel = LogLevel.ERROR;
    serveFiles(name, read);
    const network = await openNetwork(name, 'unknown-words');
    const phonemizer = new Phonemizer(tables.phonemes, (word) =>
      readUnknown(network, tables.unknownWords, word),
    );
    loaded = { name, phonemizer, vocabulary: tables.vocabulary, voice: null, mp3Encoder };
  },

  formats: usableFormats,

  /**
   * Begins a speech, which ends the one before.
   * @param spoken seconds of sound that an earlier engine has sent
   * @returns the text's sentences
   */
  async begin(text: string, format: SpeechFormat, spoken: number): Promise<string[]> {
    if (!loaded) throw new Error('no voice is loaded');
    encode = await openEncoder(format, Math.round(spoken * SAMPLE_RATE), loaded.mp3Encoder);
    return loaded.phonemizer.sentences(text);
  },

  /**
   * Speaks a sentence.
   * @param graph name of the voice's graph
   * @returns encoded sound, and its length; null if nothing in the sentence can be spoken
   * @throws the runtime's error
   */
  async speak(
    sentence: string,
    graph: string,
    speed: number,
  ): Promise<{ bytes: Uint8Array<ArrayBuffer>; seconds: number } | null> {
    if (!loaded || !encode) throw new Error('no speech has begun');
    const { vocabulary, phonemizer } = loaded;
    const { network } = await voiceOf(loaded, graph);
    const parts: Float32Array<ArrayBuffer>[] = [];
    for (const phonemes of await phonemizer.phonemes(sentence)) {
      const ids = Array.from(phonemes).flatMap((phoneme) => vocabulary[phoneme] ?? []);
      if (ids.length > 0) parts.push(await soundOf(network, [0, ...ids, 0], speed));
    }
    if (parts.length === 0) return null;
    const samples = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const part of parts) {
      samples.set(part, at);
      at += part.length;
    }
    const seconds = samples.length / SAMPLE_RATE;
    const bytes = await encode(samples);
    return transfer({ bytes, seconds }, [bytes.buffer]);
  },
};

async function voiceOf(model: Loaded, graph: string): Promise<Voice> {
  if (model.voice?.name === graph) return model.voice;
  const { voice } = model;
  // The next one may fail to open.
  model.voice = null;
  await voice?.network.dispose();
  model.voice = { name: graph, network: await openNetwork(model.name, graph) };
  return model.voice;
}

async function soundOf(
  network: PreTrainedModel,
  ids: readonly number[],
  speed: number,
): Promise<Float32Array<ArrayBuffer>> {
  const outputs = (await network({
    ids: new Tensor('int64', BigInt64Array.from(ids, BigInt), [1, ids.length]),
    speed: new Tensor('float32', Float32Array.of(speed), [1]),
  })) as Record<string, Tensor>;
  const valuesOf = (name: string): Float32Array => {
    const tensor = outputs[name];
    if (!tensor) throw new Error(`the voice gives no ${name}, but ${Object.keys(outputs).join(', ')}`);
    return tensor.data as Float32Array;
  };
  const pitch = valuesOf('f0');
  const spectrum = {
    frames: pitch.length,
    harmonic: valuesOf('lh'),
    harmonicPhase: valuesOf('theta'),
    noise: valuesOf('ln'),
    rest: valuesOf('lr'),
    restPhase: valuesOf('phi'),
    pitch,
  };
  // The same noise each time: a request that is repeated sounds the same.
  const samples = toWaveform(spectrum, normalNumbers(ids.length));
  for (const tensor of Object.values(outputs)) tensor.dispose();
  return samples;
}
