import { KINDS } from '#jobs';
import type { Catalog } from '#catalog';
import { readEngineFacts, type Copies } from '#database';
import { engineLock, type ModelFacts } from '#protocol';
import type { Servers } from './servers.ts';

type Facts = ReadonlyMap<string, ModelFacts>;

/**
 * Reads the model facts that the engine stored, whether or not it still runs. Neither starts nor calls it.
 */
export async function readDeviceFacts(
  scope: string,
  locks: Pick<LockManager, 'query'>,
  copies?: Copies,
): Promise<Facts> {
  const [known, { held = [] }] = await Promise.all([readEngineFacts(scope, copies), locks.query()]);
  const { epoch, models } = known ?? { epoch: '', models: {} };
  const lives = held.some(({ name }) => name === engineLock(epoch));
  return new Map(
    Object.entries(models).map(([id, facts]) => [id, { ...facts, loaded: lives && facts.loaded === true }]),
  );
}

/** Facts of the models: from the server of a model that a server answers first, otherwise from the device. */
export async function withServerFacts(servers: Servers, catalog: Catalog, device: Facts): Promise<Facts> {
  const facts = new Map(device);
  for (const model of catalog.models) {
    const { id, kind } = model;
    const targets = await servers.targetsOf(model);
    const answering = targets?.find(({ server }) => (server ? server.circuit.isClosed : device.has(id)));
    if (!answering?.server) continue;
    const { contextLength } = answering.server.variant;
    facts.set(id, {
      context_length: contextLength,
      capabilities: [KINDS[kind].capability],
    });
  }
  return facts;
}
