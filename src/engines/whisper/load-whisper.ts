import { z } from '#base/full-zod';
import { abortable } from '#base';
import type { WhisperVariant } from './rules.ts';
import { requestAdapter, type LoadEngine } from '#engine-kit';
import { openOnnxWorker } from '../transformers/open-onnx-worker.ts';
import { loadFailure } from '../transformers/runtime-files.ts';
import { openTokenizer } from '../transformers/text-tokenizer.ts';
import { buildsOf, checkConfig, checkJson, noGpu } from '../transformers/transformers-files.ts';
import { filesOf } from '../transformers/weight-files.ts';
import { SoundReader } from '../sound/sound-reader.ts';
import { whisperEngine } from './whisper-engine.ts';
import type { WhisperAbilities, whisperWorker } from './whisper-worker.ts';

const GRAPHS = ['encoder_model', 'decoder_model_merged'];

const count = z.int().nonnegative().max(1_048_576);
/** Numbers that the engine and transformers.js compute with, by file. */
const CONFIGS = Object.entries({
  generation_config: 'decoder_start_token_id eos_token_id no_timestamps_token_id',
  preprocessor_config: 'feature_size n_fft hop_length n_samples nb_max_frames',
}).map(([file, fields]) => ({
  name: `${file}.json`,
  schema: z.looseObject(Object.fromEntries(fields.split(' ').map((field) => [field, count]))),
}));
const NEEDED = [...CONFIGS.map(({ name }) => name), ...GRAPHS.map((name) => `onnx/${name}.onnx`)];
/** Maximum number of threads. More are not faster for a model of this size. */
const MAX_THREADS = 4;

export const loadWhisper: LoadEngine<WhisperVariant, 'transcription'> = async (variant, context) => {
  await checkConfig(variant, context, NEEDED);
  for (const file of CONFIGS) await checkJson(variant, context, file);
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
    return whisperEngine(worker, new SoundReader(context.decodeAudio), abilities, fingerprint);
  } catch (error) {
    // The worker may fail first on a tokenizer, whose own error names the file.
    await abortable(tokenizer, context.signal);
    throw await loadFailure(error, variant, context);
  }
};
