import type { Row } from '../row.ts';
import { calls } from './calls.ts';
import { decode, decodePackage, drafts, firstToken, prefill, prefillPackage } from './chat-rows.ts';
import { batching, besidePrefill, choices, gaps, inFlight, interleaved, turns } from './concurrency-rows.ts';
import { decisions } from './decision-rows.ts';
import { concurrent, mixed, mixedInt8, short } from './embedding-rows.ts';
import { endRawChat } from './raw-chat.ts';

/** What is measured in the page alone. */
const measurements = {
  decode,
  'decode-package': decodePackage,
  'prefill-package': prefillPackage,
  drafts,
  'first-token': firstToken,
  prefill,
  batching,
  gaps,
  'beside-prefill': besidePrefill,
  turns,
  interleaved,
  choices,
  decisions,
  embeddings: short,
  'embeddings-mixed': mixed,
  'embeddings-mixed-int8': mixedInt8,
  'embeddings-concurrent': concurrent,
  'in-flight': inFlight,
} satisfies Record<string, (rounds: number) => Promise<Row | Row[]>>;

export type PageMeasurement = keyof typeof measurements;

declare global {
  interface Window {
    bench: {
      measure(name: PageMeasurement, rounds: number): Promise<Row[]>;
      calls: typeof calls;
    };
  }
}

window.bench = {
  async measure(name, rounds) {
    try {
      return [await measurements[name](rounds)].flat();
    } finally {
      await endRawChat();
    }
  },
  calls,
};
