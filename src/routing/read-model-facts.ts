import { KINDS } from '#jobs';
import type { Catalog } from '#catalog';
import { readSetting, type Copies } from '#database';
import { engineLock, queryLocks, whenReleased, type ModelFacts } from '#protocol';
import type { Servers } from './servers.ts';

type Facts = ReadonlyMap<string, ModelFacts>;

/** Epoch of an engine that lives; empty once it has ended. A query of the locks for each request takes longer. */
let living = '';

async function isAlive(epoch: string, locks: LockManager): Promise<boolean> {
  if (epoch === living) return true;
  const { held = [] } = await queryLocks(locks);
  if (!held.some(({ name }) => name === engineLock(epoch))) return false;
  living = epoch;
  const forget = (): void => {
    if (living === epoch) living = '';
  };
  whenReleased(locks, engineLock(epoch)).then(forget, forget);
  return true;
}

/**
 * Reads the model facts that the engine stored, whether or not it still runs. Neither starts nor calls it.
 */
export async function readDeviceFacts(scope: string, locks: LockManager, copies?: Copies): Promise<Facts> {
  const { epoch, models } = (await readSetting(scope, 'engine-facts', copies)) ?? { epoch: '', models: {} };
  const lives = epoch !== '' && (await isAlive(epoch, locks));
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
    facts.set(id, { context_length: contextLength, capabilities: [KINDS[kind].capability] });
  }
  return facts;
}
