import type { AddedModel } from '../catalog/added-models.ts';
import { readAddedModels } from '../database/database.ts';
import { giveFiles } from '../protocol/added-files.ts';
import type { ModelSource } from '../protocol/weights-command.ts';
import type { HubFile, HubOffer, ModelDetails } from '../protocol/weights-messages.ts';
import type { LoadProgress } from '../protocol/worker-control.ts';
import type { ElectionMember } from './election/election-member.ts';
import { withStorage } from './requirements.ts';
import { runCommand } from './run-command.ts';

/** A chat or embedding model as a GGUF file, or all files of a split one; or a URL and its SHA-256; or a model of a repository of the model hub. */
export type AddSource = File | Iterable<File> | { url: string; sha256: string } | HubFile;

export interface AddOptions {
  /** Value of `model` in requests. Default: derived from the model's name. */
  id?: string;
  /** Keeps what the model's chat template adds by itself, such as a default system message. Default: false. */
  keepTemplateText?: boolean;
  signal?: AbortSignal;
  onProgress?: (progress: LoadProgress) => void;
}

export async function listModels(scope: string): Promise<AddedModel[]> {
  const records = await withStorage(() => readAddedModels(scope));
  return records.map(({ model }) => model);
}

export async function addModel(
  source: AddSource,
  { id, keepTemplateText = false, onProgress }: Omit<AddOptions, 'signal'>,
  leader: ElectionMember,
  signal: AbortSignal,
): Promise<AddedModel> {
  const { asked, end } = offer(source, leader.scope);
  const command = { type: 'add', id: id ?? null, source: asked, keepTemplateText } as const;
  try {
    return (await runCommand(leader, command, signal, onProgress)).model;
  } finally {
    end();
  }
}

export async function listOffers(
  repository: string,
  leader: ElectionMember,
  signal: AbortSignal,
): Promise<HubOffer[]> {
  const command = { type: 'offers', source: hubSource({ hub: repository }) } as const;
  return (await runCommand(leader, command, signal)).offers;
}

export async function inspectSource(
  source: AddSource,
  leader: ElectionMember,
  signal: AbortSignal,
): Promise<ModelDetails> {
  const { asked, end } = offer(source, leader.scope);
  const command = { type: 'inspect', source: asked } as const;
  try {
    return (await runCommand(leader, command, signal)).details;
  } finally {
    end();
  }
}

/** Source as the engine is asked for it; its files are available to the engine until `end()`. */
function offer(source: AddSource, scope: string): { asked: ModelSource; end: () => void } {
  if (source instanceof File || Symbol.iterator in source) {
    const files = source instanceof File ? [source] : [...source];
    const ticket = crypto.randomUUID();
    const end = giveFiles(scope, ticket, files);
    return { asked: { type: 'files', names: files.map(({ name }) => name), ticket }, end };
  }
  const end = (): void => undefined;
  if ('hub' in source) return { asked: hubSource(source), end };
  const url = new URL(source.url, document.baseURI).href;
  return { asked: { type: 'url', url, sha256: source.sha256 }, end };
}

const hubSource = ({ hub, file, revision }: HubFile) =>
  ({ type: 'hub', repository: hub, file: file ?? null, revision: revision ?? null }) as const;
