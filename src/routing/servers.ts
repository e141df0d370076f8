import type { Catalog, UpstreamVariant } from '../catalog/catalog.ts';
import { readServerSettings } from '../database/settings.ts';
import { UpstreamServer } from './upstream/upstream-server.ts';
import type { EngineStatus } from '../protocol/worker-control.ts';
import { modelRoute, type Route } from './model-route.ts';
import { withServers } from './server-status.ts';

/** While no engine answers. */
export const NO_ENGINE: EngineStatus = { epoch: '', deviceMemoryBytes: null, models: [] };

/** The servers that requests went to, with their health: for as long as this service worker, or page, lives. */
export class Servers {
  readonly #scope: string;
  readonly #onChange: () => void;
  /** By the variant's name. */
  readonly #known = new Map<string, { made: string; server: UpstreamServer }>();

  constructor(scope: string, onChange: () => void) {
    this.#scope = scope;
    this.#onChange = onChange;
  }

  /** Null: no server has part in the model. */
  routeOf({ models }: Catalog, id: string): Promise<Route> | null {
    const model = models.find((each) => each.id === id);
    if (!model?.variants.some(({ engine }) => engine === 'upstream')) return null;
    return readServerSettings(this.#scope).then(({ prefer, upstreamKeys }) =>
      modelRoute(model, prefer, (variant) => this.#server(variant, upstreamKeys[variant.name])),
    );
  }

  /** The engine's status with what is known of servers. Null: no engine answers, and no model has a server. */
  async addTo(status: EngineStatus | null, catalog: Catalog): Promise<EngineStatus | null> {
    const models = await Promise.all(
      (status?.models ?? catalog.models).map(async (model) => {
        const route = await this.routeOf(catalog, model.id);
        const ofDevice = 'state' in model ? model : undefined;
        return route ? withServers(model, route.legs, ofDevice) : (ofDevice ?? []);
      }),
    );
    const known = models.flat();
    return status || known.length > 0 ? { ...NO_ENGINE, ...status, models: known } : null;
  }

  #server(variant: UpstreamVariant, key: string | undefined): UpstreamServer {
    const made = JSON.stringify([variant, key]);
    const before = this.#known.get(variant.name);
    if (before?.made === made) return before.server;
    const server = new UpstreamServer(variant, key, this.#onChange);
    this.#known.set(variant.name, { made, server });
    return server;
  }
}
