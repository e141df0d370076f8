import { proxy } from 'comlink';

import type { WhisperVariant } from '../../catalog/catalog.ts';
import { hasThreads, processors, requestAdapter } from '../device.ts';
import type { LoadEngine } from '../engine.ts';
import { HelperWorker } from '../helper-worker.ts';
import { isStartFailure, runtimeFiles, startFailure, withThreads } from '../onnx/runtime-files.ts';
import { buildsOf, graphFailure, noGpu, requireFiles } from '../onnx/transformers-files.ts';
import { filesOf } from '../onnx/weight-files.ts';
import { SoundReader } from '../sound/sound-reader.ts';
import { WhisperEngine } from './whisper-engine.ts';
import type { WhisperAbilities, whisperWorker } from './whisper-worker.ts';

const GRAPHS = ['encoder_model', 'decoder_model_merged'];
const NEEDED = [
  'config.json',
  'generation_config.json',
  'preprocessor_config.json',
  'tokenizer.json',
  'tokenizer_config.json',
  ...GRAPHS.map((name) => `onnx/${name}.onnx`),
];
/** Maximum threads; more gain nothing for a model of this size. */
const MAX_THREADS = 4;

export const loadWhisper: LoadEngine<WhisperVariant, 'transcription'> = async (variant, context) => {
  requireFiles(variant, NEEDED);
  const { name, device = 'wasm' } = variant;
  // After several losses the browser may offer no GPU until it is restarted.
  const lacksGpu = async () => !(await requestAdapter(navigator.gpu).catch(() => null));
  if (device === 'webgpu' && (await lacksGpu())) throw noGpu(variant);
  const files = filesOf(variant, context);
  const { wasm, signal, decodeAudio } = context;
  const { script, wasm: binary } = runtimeFiles(device);
  const wanted = hasThreads() ? Math.min(processors(), MAX_THREADS) : 1;
  const dtype = buildsOf(variant, GRAPHS);
  let abilities: WhisperAbilities = { languages: [], timesWords: false };
  try {
    const open = (count: number) =>
      HelperWorker.open<typeof whisperWorker>(
        'whisper',
        async (model) => {
          abilities = await model.load(
            name,
            { device, dtype },
            { script: wasm(script), wasm: wasm(binary), threads: count },
            proxy(files.read),
          );
        },
        AbortSignal.any([signal, files.failed]),
      );
    const { opened: worker, threads } = await withThreads(wanted, open);
    const fingerprint = `${name}-transformers-${device === 'wasm' ? `wasm-${threads}t` : 'webgpu'}`;
    return new WhisperEngine(worker, new SoundReader(decodeAudio), abilities, fingerprint);
  } catch (error) {
    signal.throwIfAborted();
    throw isStartFailure(error) ? await startFailure(error, variant, context) : graphFailure(error, variant);
  }
};
