import type { VoiceVariant } from '#catalog';
import type { LoadEngine } from '#engine-kit';
import { openOnnxWorker } from '../onnx/open-onnx-worker.ts';
import { loadFailure } from '../onnx/runtime-files.ts';
import { VoiceEngine } from './voice-engine.ts';
import { fileOf, readTables } from './voice-files.ts';
import type { voiceWorker } from './voice-worker.ts';

/** Makes transformers.js run a graph by the names of its inputs. */
const CONFIG = '{"model_type":"style_text_to_speech_2"}';
const GRAPH = /([\w-]+)\.onnx$/;

export const loadVoice: LoadEngine<VoiceVariant, 'speech'> = async (variant, context) => {
  const graphs = new Map(
    Object.entries(variant.voices).map(([name, path]) => [name, GRAPH.exec(path)?.[1] ?? path]),
  );
  const failing = new AbortController();
  const read = async (name: string): Promise<Blob | null> => {
    if (name === 'config.json') return new Blob([CONFIG]);
    if (!GRAPH.test(name)) return null;
    try {
      return await fileOf(variant, context, name);
    } catch (error) {
      failing.abort(error);
      throw error;
    }
  };
  const tables = await readTables(variant, context);
  try {
    const files = { read, failed: failing.signal };
    const { worker, fingerprint } = await openOnnxWorker<typeof voiceWorker>(variant, context, files, {
      helper: 'voice',
      load: async (voice, runtime, readFile) =>
        voice.load(variant.name, tables, runtime, readFile, context.wasm('mp3-encoder.wasm')),
    });
    return new VoiceEngine(worker, graphs, fingerprint);
  } catch (error) {
    throw await loadFailure(error, variant, context);
  }
};
