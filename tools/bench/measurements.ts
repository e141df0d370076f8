import { abort } from './abort-row.ts';
import { besideLoad } from './beside-load-row.ts';
import { givenUp } from './given-up-rows.ts';
import { gpuChat, gpuEmbeddings } from './gpu-rows.ts';
import { inputs, messages, tabs } from './growth-rows.ts';
import { memory } from './memory-row.ts';
import { native } from './native-row.ts';
import type { PageMeasurement } from './page/main.ts';
import { firstAnswer } from './first-answer-row.ts';
import { firstTokenParts } from './parts-row.ts';
import type { Row } from './row.ts';
import { pictures } from './pictures-row.ts';
import { serverStreams } from './server-streams-row.ts';
import { firstTokenStopped, modelsStopped, modelsWarm } from './service-worker-rows.ts';
import { speech } from './speech-row.ts';
import type { Stage } from './stage.ts';
import { visit } from './visit-row.ts';
import { voice, voiceHeard } from './voice-row.ts';
import { warmStart } from './warm-start-row.ts';
import { webLlm } from './web-llm-row.ts';

type Measurement = (stage: Stage) => Promise<Row | Row[]>;

const inPage =
  (name: PageMeasurement): Measurement =>
  ({ page, rounds }) =>
    page.evaluate(([which, count]) => window.bench.measure(which, count), [name, rounds] as const);

/** Measurements by the names that `npm run bench -- --row` takes. Each begins in a reloaded page. */
export const measurements: Record<string, Measurement> = {
  decode: inPage('decode'),
  'decode-package': inPage('decodePackage'),
  'prefill-package': inPage('prefillPackage'),
  drafts: inPage('drafts'),
  'web-llm': webLlm,
  'gpu-embeddings': gpuEmbeddings,
  'gpu-chat': gpuChat,
  native,
  'first-token': inPage('firstToken'),
  'first-token-stopped': firstTokenStopped,
  'first-token-parts': firstTokenParts,
  'models-warm': modelsWarm,
  'models-stopped': modelsStopped,
  'warm-start': warmStart,
  batching: inPage('batching'),
  gaps: inPage('gaps'),
  'beside-prefill': inPage('besidePrefill'),
  'beside-load': besideLoad,
  abort,
  'given-up': givenUp,
  prefill: inPage('prefill'),
  turns: inPage('turns'),
  interleaved: inPage('interleaved'),
  choices: inPage('choices'),
  decisions: inPage('decisions'),
  embeddings: inPage('short'),
  'embeddings-mixed': inPage('mixed'),
  'embeddings-mixed-int8': inPage('mixedInt8'),
  'embeddings-concurrent': inPage('concurrent'),
  speech,
  voice,
  'voice-heard': voiceHeard,
  pictures,
  memory,
  visit,
  'first-answer': firstAnswer,
  messages,
  inputs,
  'in-flight': inPage('inFlight'),
  tabs,
  'server-streams': serverStreams,
};
