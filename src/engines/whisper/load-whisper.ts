import { z } from '#base/full-zod';
import { abortable } from '#base';
import type { WhisperVariant } from './rules.ts';
import { requestAdapter, type LoadEngine } from '#engine-kit';
import { openOnnxWorker } from '../onnx/open-onnx-worker.ts';
import { loadFailure } from '../onnx/runtime-files.ts';
import { openTokenizer } from '../onnx/text-tokenizer.ts';
import { buildsOf, checkConfigs, configSchema, noGpu } from '../onnx/transformers-files.ts';
import { filesOf } from '../onnx/weight-files.ts';
import { soundReader } from '../sound/sound-reader.ts';
import { whisperEngine } from './whisper-engine.ts';
import type { WhisperAbilities, whisperWorker } from './whisper-worker.ts';

const GRAPHS = ['encoder_model', 'decoder_model_merged'];

const count = z.int().nonnegative().max(1_048_576);
/** Values that the engine and transformers.js compute with, by file. All models hear windows of 30 s at 16 kHz. */
const CONFIGS = {
  'config.json': configSchema.extend({ model_type: z.enum(['whisper', 'lite-whisper']) }),
  'generation_config.json': z.looseObject({
    eos_token_id: count,
    decoder_start_token_id: count,
    no_timestamps_token_id: count,
    lang_to_id: z.record(z.string().regex(/^<\|[a-z]{2,3}\|>$/), count).optional(),
    task_to_id: z.record(z.string(), count).optional(),
  }),
  'preprocessor_config.json': z.looseObject({
    feature_size: count,
    n_fft: z.literal(400),
    hop_length: z.literal(160),
    n_samples: z.literal(480_000),
    nb_max_frames: z.literal(3000),
  }),
};
/** Maximum number of threads. More are not faster for a model of this size. */
const MAX_THREADS = 4;

export const loadWhisper: LoadEngine<WhisperVariant, 'transcription'> = async (variant, context) => {
  const graphs = GRAPHS.map((name) => `onnx/${name}.onnx`);
  await checkConfigs(variant, context, CONFIGS, graphs);
  // A tokenizer that never ends would hold up the worker of the model.
  const unreadable = new AbortController();
  const tokenizer = openTokenizer(variant, context).then((opened) => opened.end());
  tokenizer.catch((error: unknown) => unreadable.abort(error));
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
      lost: unreadable.signal,
    });
    return whisperEngine(worker, soundReader(context.decodeAudio), abilities, fingerprint);
  } catch (error) {
    // The worker may fail first on a tokenizer, whose own error names the file.
    await abortable(tokenizer, context.signal);
    throw await loadFailure(error, variant, context);
  }
};
