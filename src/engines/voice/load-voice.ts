import type { VoiceVariant } from './rules.ts';
import { corruptFile } from '#base';
import type { LoadEngine } from '#engine-kit';
import { openOnnxWorker } from '../onnx/open-onnx-worker.ts';
import { loadFailure } from '../onnx/runtime-files.ts';
import { voiceEngine } from './voice-engine.ts';
import type { ReadFile } from '../onnx/weight-files.ts';
import { fileOf, readTables } from './voice-files.ts';
import type { voiceWorker } from './voice-worker.ts';

/** Makes transformers.js run a graph by the names of its inputs. */
const CONFIG = '{"model_type":"style_text_to_speech_2"}';
/** Size of a style, of which a voice has one for each number of phonemes: 256 floats. */
const STYLE_BYTES = 1024;
/** A network, by its name, or the style of a voice. */
const FILE = /([\w-]+)\.onnx$|[\w-]+\.bin$/;
const nameOf = (path: string): string => {
  const [file, network] = FILE.exec(path) ?? [path];
  return network ?? file;
};

export const loadVoice: LoadEngine<VoiceVariant, 'speech'> = async (variant, context) => {
  const voices = new Map(Object.entries(variant.voices).map(([name, path]) => [name, nameOf(path)]));
  const options = {
    name: variant.name,
    shared: variant.network === undefined ? null : nameOf(variant.network),
    mp3Encoder: context.wasm('mp3-encoder.wasm'),
  };
  const read: ReadFile = async (name) => {
    if (name === 'config.json') return new Blob([CONFIG]);
    return FILE.test(name) ? fileOf(variant, context, name) : null;
  };
  const cut = variant.files.find(({ path, bytes }) => path.endsWith('.bin') && bytes % STYLE_BYTES > 0);
  if (cut) throw corruptFile(cut.path, `has ${cut.bytes} bytes, which are no styles of ${STYLE_BYTES} bytes`);
  // A voice is opened at its first sentence, when a file that cannot be fetched would count as a crash.
  await Promise.all(variant.files.map(({ path }) => context.file(path)));
  const tables = await readTables(variant, context);
  try {
    const { worker, fingerprint } = await openOnnxWorker<typeof voiceWorker>(variant, context, read, {
      helper: 'voice',
      load: async (voice, runtime, readFile) => voice.load(options, tables, runtime, readFile),
    });
    return voiceEngine(worker, voices, fingerprint);
  } catch (error) {
    throw await loadFailure(error, variant, context);
  }
};
