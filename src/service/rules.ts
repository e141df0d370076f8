import type * as z from 'zod/mini';
import type { BodyRules } from './body/request-body.ts';
import type { EndpointName } from './endpoints.ts';

const chat = async () => (await import('./chat/chat-schema.ts')).chatRules;
const rerank = async () => (await import('./rerank/rerank-schema.ts')).rerankRules;
const response = async () => (await import('./responses/response-schema.ts')).responseRules;

/**
 * Rules of the endpoints with a JSON body, imported when a request needs them: evaluating all schemas would take
 * most of a service worker's start.
 */
export const RULES = {
  chat,
  countChat: chat,
  completion: async () => (await import('./completions/completion-schema.ts')).completionRules,
  response,
  countResponse: response,
  speech: async () => (await import('./speech/speech-schema.ts')).speechRules,
  decision: async () => (await import('./decisions/decision-schema.ts')).decisionRules,
  embeddings: async () => (await import('./embeddings/embeddings-request.ts')).embeddingsRules,
  rerank,
  reranking: rerank,
  rerankV2: rerank,
} satisfies Partial<Record<EndpointName, () => Promise<BodyRules<z.ZodMiniType>>>>;
