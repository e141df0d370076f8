import {
  AutoModel,
  AutoModelForCausalLM,
  AutoTokenizer,
  env,
  type PreTrainedModel,
  type PreTrainedTokenizer,
} from '@huggingface/transformers';

import type { OnnxVariant, TransformersChatVariant, TransformersVariant } from '../../../catalog/catalog.ts';
import type { ChatEngine, EmbeddingEngine, EngineContext, LoadEngine } from '../../engine.ts';
import { TransformersChatEngine } from './onnx-chat-engine.ts';
import { loadChatPrompt } from './load-chat-prompt.ts';
import {
  dataFilesOf,
  graphFailure,
  graphOf,
  readConfig,
  tokenizerFailure,
  type ModelConfig,
} from './transformers-files.ts';
import { OnnxDecoder } from './onnx-decoder.ts';
import { OnnxEmbedder } from './onnx-embedder.ts';
import { checkSessions, startRuntime } from './onnx-runtime.ts';
import { TransformersEngine } from './transformers-engine.ts';
import { serveFiles } from './weight-files.ts';

/** WASM until a GPU has been measured: it is right everywhere, and quick for models of this size. */
const DEFAULT_DEVICE = 'wasm';
/** Tokens of a prompt computed at once; an abort waits for one such step to end. */
const STEP_TOKENS = { wasm: 32, webgpu: 256 };

export const loadTransformers: LoadEngine<TransformersVariant, EmbeddingEngine> = (variant, context) =>
  load(variant, context, AutoModel, async ({ model, tokenizer }) => {
    const embedder = new OnnxEmbedder(model, tokenizer, variant);
    return new TransformersEngine(embedder, variant, fingerprint(variant));
  });

export const loadTransformersChat: LoadEngine<TransformersChatVariant, ChatEngine> = (variant, context) =>
  load(variant, context, AutoModelForCausalLM, async ({ model, tokenizer, config }) => {
    const chatPrompt = await loadChatPrompt(tokenizer, variant, context);
    const longest = config.max_position_embeddings ?? Number.POSITIVE_INFINITY;
    const decoder = new OnnxDecoder({
      model,
      tokenizer,
      contextLength: Math.min(variant.contextLength, longest),
      stepTokens: STEP_TOKENS[variant.device ?? DEFAULT_DEVICE],
    });
    return new TransformersChatEngine(decoder, chatPrompt, fingerprint(variant));
  });

interface Loaded {
  model: PreTrainedModel;
  tokenizer: PreTrainedTokenizer;
  config: ModelConfig;
}

async function load<E>(
  variant: OnnxVariant,
  context: EngineContext,
  kind: Pick<typeof AutoModel, 'from_pretrained'>,
  make: (loaded: Loaded) => Promise<E>,
): Promise<E> {
  const config = await readConfig(variant, context);
  await startRuntime(context);
  const { stop, failed } = serveFiles(variant, context);
  try {
    const tokenizer = await Promise.race([loadTokenizer(variant, context), failed]);
    context.signal.throwIfAborted();
    const model = await Promise.race([loadModel(kind, variant), failed]);
    try {
      context.signal.throwIfAborted();
      return await make({ model, tokenizer, config });
    } catch (error) {
      await model.dispose();
      throw error;
    }
  } finally {
    stop();
  }
}

async function loadTokenizer(variant: OnnxVariant, context: EngineContext): Promise<PreTrainedTokenizer> {
  try {
    const tokenizer = await AutoTokenizer.from_pretrained(variant.name);
    // Some that are broken are only found out by their first text.
    if (tokenizer.encode('a').some((id) => !Number.isInteger(id))) throw new Error('a token has no id');
    return tokenizer;
  } catch (error) {
    context.signal.throwIfAborted();
    throw await tokenizerFailure(error, variant, context);
  }
}

async function loadModel(
  kind: Pick<typeof AutoModel, 'from_pretrained'>,
  variant: OnnxVariant,
): Promise<PreTrainedModel> {
  try {
    const model = (await kind.from_pretrained(variant.name, {
      device: variant.device ?? DEFAULT_DEVICE,
      // The graph is named as a whole: nothing is to be appended to its name.
      dtype: 'fp32',
      model_file_name: graphOf(variant),
      use_external_data_format: dataFilesOf(variant),
    })) as PreTrainedModel;
    await checkSessions(model);
    return model;
  } catch (error) {
    throw graphFailure(error, variant);
  }
}

function fingerprint({ name, device = DEFAULT_DEVICE }: OnnxVariant): string {
  const threads = env.backends.onnx.wasm?.numThreads ?? 1;
  return `${name}-transformers-${device === 'wasm' ? `wasm-${threads}t` : 'webgpu'}`;
}
