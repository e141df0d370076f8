import type { Catalog, CatalogModel, VariantOf } from '#catalog';
import { readSetting, type Copies } from '#database';
import { UpstreamServer } from './upstream/upstream-server.ts';
import { idleStatus, NO_ENGINE, type EngineStatus, type ModelStatus, type VariantReason } from '#protocol';
import { modelTargets, type Target } from './model-targets.ts';

/** The servers used so far and their health, for the life of this service worker or page. */
export function createServers(scope: string, onChange: () => void, copies?: Copies) {
  /** Entries by the variant's name. */
  const known = new Map<string, { settings: string; server: UpstreamServer }>();

  /** Targets of a model; null: no server takes part in it. */
  function targetsOf(model: CatalogModel | undefined): Promise<Target[]> | null {
    if (!model?.variants.some(({ engine }) => engine === 'upstream')) return null;
    const reading = Promise.all([
      readSetting(scope, 'prefer', copies),
      readSetting(scope, 'upstreamKeys', copies),
    ]);
    return reading.then(([prefer = [], keys = {}]) =>
      modelTargets(model, prefer, (variant) => serverOf(variant, keys[variant.name])),
    );
  }

  function serverOf(variant: VariantOf<'upstream'>, key: string | undefined): UpstreamServer {
    const settings = JSON.stringify([variant, key]);
    const before = known.get(variant.name);
    if (before?.settings === settings) return before.server;
    const server = new UpstreamServer(variant, key, onChange);
    known.set(variant.name, { settings, server });
    return server;
  }

  return {
    targetsOf,
    /** The engine's status, extended by the servers'. Null: no engine answers, and no model has a server. */
    async addTo(status: EngineStatus | null, catalog: Catalog): Promise<EngineStatus | null> {
      const models = await Promise.all(
        (status?.models ?? catalog.models).map(async (model) => {
          const targets = await targetsOf(catalog.models.find(({ id }) => id === model.id));
          const ofDevice = 'state' in model ? model : undefined;
          return targets ? withServers(model, targets, ofDevice) : (ofDevice ?? []);
        }),
      );
      const listed = models.flat();
      return status || listed.length > 0 ? { ...NO_ENGINE, ...status, models: listed } : null;
    },
  };
}

export type Servers = ReturnType<typeof createServers>;

/**
 * A model's status, extended by its servers'. `device`: the engine's status of it; undefined: no engine
 * answers.
 */
function withServers(
  { id, kind }: Pick<ModelStatus, 'id' | 'kind'>,
  targets: readonly Target[],
  device: ModelStatus | undefined,
): ModelStatus {
  const idle = idleStatus(id, kind);
  const ofDevice = device?.reasons ?? [];
  const skipped: VariantReason[] = [];
  for (const { server, variants } of targets) {
    if (!server) {
      const own = ofDevice.filter(({ variant }) => variants.includes(variant));
      const chosen = own.find((each) => each.chosen);
      const others = own.filter((each) => !each.chosen);
      if (device && chosen) return { ...device, reasons: [chosen, ...others, ...skipped] };
      skipped.push(...others);
      continue;
    }
    const { variant, circuit, fingerprint, hasAnswered, running } = server;
    const reason = { variant: variant.name, engine: variant.engine };
    if (circuit.isClosed) {
      const chosen = { ...reason, chosen: true, reason: 'a server runs it' };
      const answered = hasAnswered && { state: 'ready' as const, fingerprint };
      return { ...idle, bytes: 0, running, ...answered, reasons: [chosen, ...skipped] };
    }
    const { message } = circuit.error as Error;
    skipped.push({ ...reason, chosen: false, reason: `does not answer: ${message}` });
  }
  return { ...idle, ...device, reasons: skipped };
}
