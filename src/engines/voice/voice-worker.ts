import { AutoModel, type PreTrainedModel, Tensor } from '@huggingface/transformers';
import { transfer } from 'comlink';

import type { SpeechFormat } from '#jobs';
import { createPhonemizer, type Phonemizer } from '#phonemes';
import { configure } from '../onnx/configure.ts';
import type { Runtime } from '../onnx/wasm-options.ts';
import type { ReadFile } from '../onnx/weight-files.ts';
import type { VoiceTables } from './voice-files.ts';
import { type EncodeSound, openEncoder, usableFormats } from './encode-sound.ts';
import { hibariSound, kokoroSound } from './networks.ts';
import { VOICE_RATE } from './waveform.ts';

/** Speaks phonemes, as the ids of the vocabulary. */
type Speak = (ids: readonly number[], speed: number) => Promise<Float32Array<ArrayBuffer>>;

interface VoiceOptions {
  /** Name of the variant. */
  name: string;
  /** Network of all voices, if they share one. */
  shared: string | null;
  /** URL of LAME in WebAssembly. */
  mp3Encoder: string;
}

interface Loaded extends VoiceOptions {
  phonemizer: Phonemizer;
  vocabulary: VoiceTables['vocabulary'];
  read: ReadFile;
  /** The network that is open: of the voice that spoke last. */
  open: { graph: string; network: PreTrainedModel } | null;
  /** The voice that spoke last. */
  voice: { file: string; speak: Speak } | null;
}

let loaded: Loaded | null = null;
let encode: EncodeSound | null = null;

/** Opens a network of the variant. transformers.js runs a model of this type with the inputs that its graph names. */
const openNetwork = async (name: string, graph: string): Promise<PreTrainedModel> =>
  AutoModel.from_pretrained(name, { device: 'wasm', dtype: 'fp32', model_file_name: graph });

/** Runs the network that reads unknown words. Its output repeats letters, and has zeros between them. */
async function readUnknown(
  network: PreTrainedModel,
  { in: letters, out, maxlen }: VoiceTables['unknownWords'],
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

/** Speaks pieces of sentences, one at a time, in a worker, as computing would block the engine worker. */
export const voiceWorker = {
  /** @throws the runtime's error */
  async load(options: VoiceOptions, tables: VoiceTables, runtime: Runtime, read: ReadFile): Promise<void> {
    configure(options.name, runtime, read);
    const network = await openNetwork(options.name, 'unknown-words');
    const phonemizer = createPhonemizer(tables.phonemes, (word) =>
      readUnknown(network, tables.unknownWords, word),
    );
    const { vocabulary } = tables;
    loaded = { ...options, phonemizer, vocabulary, read, open: null, voice: null };
  },

  formats: usableFormats,

  /**
   * Begins a speech, which ends the one before.
   * @param spoken seconds of sound that an earlier engine has sent
   * @returns the text's sentences
   */
  async begin(text: string, format: SpeechFormat, spoken: number): Promise<string[]> {
    if (!loaded) throw new Error('no voice is loaded');
    encode = await openEncoder(format, Math.round(spoken * VOICE_RATE), loaded.mp3Encoder);
    return loaded.phonemizer.sentences(text);
  },

  /** @returns the pieces of a sentence, as ids of the vocabulary; none if nothing in it can be spoken */
  async read(sentence: string): Promise<number[][]> {
    if (!loaded) throw new Error('no voice is loaded');
    const { vocabulary, phonemizer } = loaded;
    const pieces = await phonemizer.phonemes(sentence);
    return pieces
      .map((phonemes) => Array.from(phonemes).flatMap((phoneme) => vocabulary[phoneme] ?? []))
      .filter((ids) => ids.length > 0);
  },

  /**
   * Speaks a piece.
   * @param file the voice's network, or its style of the shared one
   * @returns encoded sound, and its length; null if the voice computes what is not a number
   * @throws the runtime's error
   */
  async speak(
    ids: readonly number[],
    file: string,
    speed: number,
  ): Promise<{ bytes: Uint8Array<ArrayBuffer>; seconds: number } | null> {
    if (!loaded || !encode) throw new Error('no speech has begun');
    const speak = await openVoice(loaded, file);
    const samples = await speak(ids, speed);
    if (!samples.every(Number.isFinite)) return null;
    const bytes = await encode(samples);
    return transfer({ bytes, seconds: samples.length / VOICE_RATE }, [bytes.buffer]);
  },
};

async function networkOf(model: Loaded, graph: string): Promise<PreTrainedModel> {
  if (model.open?.graph === graph) return model.open.network;
  const { open } = model;
  // The next one may fail to open.
  model.open = null;
  await open?.network.dispose();
  model.open = { graph, network: await openNetwork(model.name, graph) };
  return model.open.network;
}

/** Opens a voice, unless it spoke last. */
async function openVoice(model: Loaded, file: string): Promise<Speak> {
  if (model.voice?.file === file) return model.voice.speak;
  // Its network may be closed for this one.
  model.voice = null;
  const network = await networkOf(model, model.shared ?? file);
  let speak: Speak = (ids, speed) => hibariSound(network, ids, speed);
  if (model.shared !== null) {
    const style = await model.read(file);
    if (!style) throw new Error(`no style ${file}`);
    const styles = new Float32Array(await style.arrayBuffer());
    speak = (ids, speed) => kokoroSound(network, styles, ids, speed);
  }
  model.voice = { file, speak };
  return speak;
}
