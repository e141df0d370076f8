import type { RerankJob } from '../../src/jobs/rerank.ts';

export const rerankJob = (query: string, documents: string[], more: Partial<RerankJob> = {}): RerankJob => ({
  kind: 'rerank',
  model: 'm',
  query,
  documents,
  ...more,
});
