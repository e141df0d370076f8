import type OpenAI from 'openai';
import type { Exchange } from '../http/exchange.ts';
import { jsonResponse } from '../http/response.ts';
import type { Admitted, ServedVariant, ModelDirectory, ModelEntry, ModelFacts } from '#protocol';
import { requestError, type ServiceError, shortened } from '#base';
import { answers, KINDS, type Kind } from '#jobs';
import { maySee, type Catalog } from '#catalog';

/** Defaults of parameters that neither the request nor the model names. */
export const OPENAI_DEFAULTS = { temperature: 1, topP: 1 };

/** GET /v1/models: the models that the key may use, in the directory's order. */
export async function listModels(exchange: Exchange): Promise<Response> {
  const { models, admitted } = exchange;
  const [entries, facts] = await Promise.all([models.list(), models.facts?.()]);
  const data = entries
    .filter((entry) => mayUse(admitted, entry))
    .map((entry) => toModel(entry, entry.id, facts?.get(entry.id)));
  return jsonResponse(exchange, { object: 'list', data });
}

/** GET /v1/models/{id}: the model under the requested name, and the variant that answers for it. */
export async function retrieveModel(exchange: Exchange, id: string): Promise<Response> {
  const { models, admitted } = exchange;
  const entry = await models.find(id);
  if (!entry || !mayUse(admitted, entry, id)) throw noSuchModel(id, 'GET /v1/models lists what there is.');
  const [facts, description] = await Promise.all([models.facts?.(), models.describe?.(entry.id)]);
  const localtext = description && { localtext: describe(entry, description) };
  return jsonResponse(exchange, { ...toModel(entry, id, facts?.get(entry.id)), ...localtext });
}

/** Sampling under the names of the request's own fields and of llama.cpp's. */
function describe({ defaults }: ModelEntry, { sampling, ...description }: ServedVariant) {
  const { temperature, topP } = { ...OPENAI_DEFAULTS, ...defaults };
  const byApiName = {
    temperature,
    top_p: topP,
    top_k: sampling.topK,
    min_p: sampling.minP,
    repeat_penalty: sampling.repeatPenalty,
    frequency_penalty: sampling.frequencyPenalty,
  };
  return { ...description, sampling: byApiName };
}

const toModel = (
  { kind, created, ownedBy }: ModelEntry,
  id: string,
  facts: ModelFacts = { capabilities: [KINDS[kind].capability] },
) => ({ id, object: 'model', created, owned_by: ownedBy, ...facts }) satisfies OpenAI.Model;

/**
 * @throws ServiceError 404 for a model that does not exist, that this key may not use, or that does not
 *   answer this kind of job
 */
export async function requireModel(
  directory: ModelDirectory,
  id: string,
  kind: Kind,
  admitted: Admitted,
): Promise<ModelEntry> {
  const model = await directory.find(id);
  const isFit = (entry: ModelEntry): boolean => answers(entry.kind, kind);
  if (model && isFit(model) && mayUse(admitted, model, id)) return model;
  const choice = `Models for this: ${await nameUsableModels(directory, admitted, isFit, EXTENSIONS[kind])}.`;
  if (model && !isFit(model))
    throw modelNotFound(
      `\`model\` ${JSON.stringify(shortened(id, 80))} is ${KINDS[model.kind].noun} model and cannot be used here. ${choice}`,
    );
  throw noSuchModel(id, choice);
}

/** Exports of `localtext/catalog` with models of kinds that the default catalog lacks. */
const EXTENSIONS: Partial<Record<Kind, string>> = { transcription: 'speech', speech: 'voices' };

/** Names the models that fit and that the key may use. @param extension export of `localtext/catalog` that has such models */
export async function nameUsableModels(
  directory: ModelDirectory,
  admitted: Admitted,
  fits: (entry: ModelEntry) => boolean,
  extension?: string,
): Promise<string> {
  const fitting = (await directory.list()).filter(fits);
  const usable = fitting.filter((entry) => mayUse(admitted, entry));
  if (usable.length === 0 && fitting.length > 0)
    return `none with this key, which is for ${shortened(String(admitted.models), 80)}. Issue a key with its id in \`models\`, or without \`models\``;
  const extended = extension === undefined ? '' : `: extendCatalog(defaultCatalog, ${extension})`;
  return (
    usable.map(({ id }) => id).join(', ') || `none. A site adds one by \`start({ catalog${extended} })\``
  );
}

/** Hint for the name of a repository, which is no model's id. */
const IN_HUB = 'Add a model of the hub by `models.add({ hub: "owner/name" }, { id })`, and use that id. ';

const noSuchModel = (id: string, hint: string): ServiceError =>
  modelNotFound(
    `The model ${JSON.stringify(shortened(id, 80))} does not exist, or this key may not use it. ${id.includes('/') ? IN_HUB : ''}${hint}`,
  );

const mayUse = ({ models }: Admitted, entry: ModelEntry, id = entry.id): boolean =>
  models === null || models.includes(entry.id) || models.includes(id);

const modelNotFound = (message: string): ServiceError =>
  requestError(404, message, 'model_not_found', 'model');

/** The models of a catalog, read again for each request: another tab may have set it since. */
export function catalogDirectory(
  readCatalog: () => Promise<Catalog>,
  known: Pick<ModelDirectory, 'facts' | 'describe'> = {},
): ModelDirectory {
  return {
    ...known,
    forRequest() {
      const catalog = readCatalog();
      catalog.catch(() => undefined);
      return catalogDirectory(() => catalog, known);
    },
    async list() {
      return toEntries(await readCatalog());
    },
    async find(id) {
      const catalog = await readCatalog();
      const entries = toEntries(catalog);
      const named = (name: string | undefined) => entries.find((entry) => entry.id === name);
      const { aliases = {} } = catalog;
      return named(id) ?? (Object.hasOwn(aliases, id) ? named(aliases[id]) : null) ?? null;
    },
  };
}

const toEntries = ({ models, ownedBy }: Catalog): ModelEntry[] =>
  models.map((catalogModel) => {
    const { id, kind, created, defaults = {}, variants } = catalogModel;
    return { id, kind, created, ownedBy, defaults, vision: () => variants.some(maySee), catalogModel };
  });
