import type { Row } from '../row.ts';
import { decode, firstToken } from './chat-rows.ts';
import { batching, besidePrefill, choices, interleaved, turns } from './concurrency-rows.ts';
import {
  embeddings,
  embeddingsConcurrent,
  embeddingsMixedBatches,
  embeddingsMixedLoop,
} from './embedding-rows.ts';
import { localtext, openai } from './engines.ts';

/** The rows that are measured in the page, by the names that `npm run bench -- --row` takes. */
const rows: Record<string, (rounds: number) => Promise<Row>> = {
  decode,
  'first-token': firstToken,
  embeddings,
  'embeddings-loop': embeddingsMixedLoop,
  'embeddings-batches': embeddingsMixedBatches,
  'embeddings-concurrent': embeddingsConcurrent,
  batching,
  'beside-prefill': besidePrefill,
  turns,
  interleaved,
  choices,
};

declare global {
  interface Window {
    bench: {
      names: string[];
      run(name: string, rounds: number): Promise<Row>;
      timeModels(): Promise<number>;
    };
  }
}

window.bench = {
  names: Object.keys(rows),
  async run(name, rounds) {
    const row = rows[name];
    if (row === undefined) throw new Error(`no row ${name}`);
    return row(rounds);
  },
  /** Milliseconds of GET /v1/models, until its body is read. */
  async timeModels() {
    await localtext();
    const client = await openai();
    const began = performance.now();
    await client.models.list();
    return performance.now() - began;
  },
};
