import type OpenAI from 'openai';
import type { Call } from '../http/call.ts';
import { mayUse, noSuchModel } from './model-access.ts';
import { answerHeaders, JSON_TYPE } from '../http/response-headers.ts';
import { OPENAI_DEFAULTS } from '../generation/generation.ts';
import type { ModelDescription, ModelEntry } from '../service-dependencies.ts';

/** GET /v1/models: those that the key may use, in the directory's order. */
export async function listModels(call: Call): Promise<Response> {
  const models = await call.dependencies.models.list();
  const data = models
    .filter((entry) => mayUse(call.admitted, entry))
    .map((entry) => toModel(entry, entry.id));
  return new Response(JSON.stringify({ object: 'list', data }), { headers: answerHeaders(call, JSON_TYPE) });
}

/** GET /v1/models/{id}: the model, under the name that was asked for, and what stands behind it here. */
export async function retrieveModel(call: Call, id: string): Promise<Response> {
  const entry = await call.dependencies.models.find(id);
  if (!entry || !mayUse(call.admitted, entry, id))
    throw noSuchModel(id, 'GET /v1/models lists what there is.');
  const description = await call.dependencies.models.describe?.(entry.id);
  const model = { ...toModel(entry, id), ...(description && { localtext: describe(entry, description) }) };
  return new Response(JSON.stringify(model), { headers: answerHeaders(call, JSON_TYPE) });
}

/** Sampling under the names of the request's own fields and of llama.cpp's. */
function describe({ defaults }: ModelEntry, { sampling, ...description }: ModelDescription) {
  const { temperature, topP } = { ...OPENAI_DEFAULTS, ...defaults };
  const { topK, minP, repeatPenalty } = sampling;
  const own = { temperature, top_p: topP, top_k: topK, min_p: minP, repeat_penalty: repeatPenalty };
  return { ...description, sampling: own };
}

const toModel = ({ created, ownedBy }: ModelEntry, id: string) =>
  ({ id, object: 'model', created, owned_by: ownedBy }) satisfies OpenAI.Model;
