import type { WhisperVariant } from './rules.ts';
import { requestAdapter, type LoadEngine } from '#engine-kit';
import { openOnnxWorker } from '../transformers/open-onnx-worker.ts';
import { loadFailure } from '../transformers/runtime-files.ts';
import { buildsOf, noGpu, requireFiles } from '../transformers/transformers-files.ts';
import { filesOf } from '../transformers/weight-files.ts';
import { SoundReader } from '../sound/sound-reader.ts';
import { whisperEngine } from './whisper-engine.ts';
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
/** Maximum number of threads. More are not faster for a model of this size. */
const MAX_THREADS = 4;

export const loadWhisper: LoadEngine<WhisperVariant, 'transcription'> = async (variant, context) => {
  requireFiles(variant, NEEDED);
  const { name, backend = 'wasm' } = variant;
  // After several losses the browser may offer no GPU until it is restarted.
  const lacksGpu = async () => !(await requestAdapter(navigator.gpu).catch(() => null));
  if (backend === 'webgpu' && (await lacksGpu())) throw noGpu(variant);
  const readFile = filesOf(variant, context);
  const dtype = buildsOf(variant, GRAPHS);
  let abilities: WhisperAbilities = { languages: [], timesWords: false };
  try {
    const { worker, fingerprint } = await openOnnxWorker<typeof whisperWorker>(variant, context, readFile, {
      helper: 'whisper',
      load: async (model, runtime, read) => {
        abilities = await model.load(name, { device: backend, dtype }, runtime, read);
      },
      maxThreads: MAX_THREADS,
    });
    return whisperEngine(worker, new SoundReader(context.decodeAudio), abilities, fingerprint);
  } catch (error) {
    throw await loadFailure(error, variant, context);
  }
};
