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
import { firstReply, visit } from './visit-row.ts';
import { voice, voiceHeard } from './voice-row.ts';
import { warmStart } from './warm-start-row.ts';
import { webLlm } from './web-llm-row.ts';

type Measurement = (stage: Stage) => Promise<Row | Row[]>;

const inPage = (...names: PageMeasurement[]): Record<string, Measurement> =>
  Object.fromEntries(
    names.map((name) => [
      name,
      ({ page, rounds }) =>
        page.evaluate(([which, count]) => window.bench.measure(which, count), [name, rounds] as const),
    ]),
  );

/** Measurements by the names that `npm run bench -- --row` takes. Each begins in a reloaded page. */
export const measurements: Record<string, Measurement> = {
  ...inPage('decode', 'decode-package', 'prefill-package', 'drafts'),
  'web-llm': webLlm,
  'gpu-embeddings': gpuEmbeddings,
  'gpu-chat': gpuChat,
  native,
  ...inPage('first-token'),
  'first-token-stopped': firstTokenStopped,
  'first-token-parts': firstTokenParts,
  'models-warm': modelsWarm,
  'models-stopped': modelsStopped,
  'warm-start': warmStart,
  ...inPage('batching', 'gaps', 'beside-prefill'),
  'beside-load': besideLoad,
  abort,
  'given-up': givenUp,
  ...inPage('prefill', 'turns', 'interleaved', 'choices', 'decisions'),
  ...inPage('embeddings', 'embeddings-mixed', 'embeddings-mixed-int8', 'embeddings-concurrent'),
  speech,
  voice,
  'voice-heard': voiceHeard,
  pictures,
  memory,
  visit,
  'first-answer': firstAnswer,
  'first-reply': firstReply,
  messages,
  inputs,
  ...inPage('in-flight'),
  tabs,
  'server-streams': serverStreams,
};
