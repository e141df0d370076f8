import type { EngineClient, EngineEvent } from '../api/service-dependencies.ts';
import { upstreamChat } from './upstream/upstream-chat.ts';
import { upstreamEmbedding } from './upstream/upstream-embedding.ts';
import type { Leg, Route } from './model-route.ts';
import { raceChats } from './race.ts';
import { Turns } from './turns.ts';

type Events = AsyncGenerator<EngineEvent, void, undefined>;

/**
 * Hands each job to the device or to a server. Where one fails before anything was sent, the next answers in the same call.
 * @param routeOf null: no server has part in the model
 */
export function routedEngine(
  device: EngineClient,
  routeOf: (model: string) => Promise<Route> | null,
): EngineClient {
  return {
    chat(job, { id, signal }) {
      const routing = job.deviceOnly ? null : routeOf(job.model);
      return routing ? chat(routing) : device.chat(job, { id, signal });

      async function* chat(given: Promise<Route>): Events {
        const { legs, isRace } = await given;
        const inTurn = (some: Leg[], until: AbortSignal): Events =>
          chatInTurn(new Turns(some, isRace), until, ({ server, variants }) =>
            server
              ? upstreamChat(server, job, until)
              : device.chat({ ...job, variants }, { id, signal: until }),
          );
        if (!isRace) return yield* inTurn(legs, signal);
        const sides = [legs.filter(({ server }) => server), legs.filter(({ variants }) => variants)];
        yield* raceChats(
          sides.map((some) => (until) => inTurn(some, until)),
          signal,
        );
      }
    },

    async embed(job, request) {
      const routing = job.deviceOnly ? null : routeOf(job.model);
      if (!routing) return device.embed(job, request);
      return new Turns((await routing).legs).first(request.signal, async ({ server, variants }) => {
        if (!server) return device.embed({ ...job, variants }, request);
        const result = await upstreamEmbedding(server, job, request.signal);
        server.circuit.succeed();
        return result;
      });
    },
  };
}

async function* chatInTurn(
  turns: Turns,
  signal: AbortSignal,
  ask: (leg: Leg) => AsyncIterable<EngineEvent>,
): Events {
  for (let leg = turns.next(); leg; leg = turns.next()) {
    let sent = false;
    let failed = false;
    try {
      for await (const event of ask(leg)) {
        sent ||= event.type !== 'waiting';
        yield event;
      }
      return;
    } catch (error) {
      failed = true;
      turns.failed(leg, error, sent || signal.aborted);
    } finally {
      // Here also when the reader leaves, as it does with the last event.
      if (sent && !failed && !signal.aborted) leg.server?.circuit.succeed();
    }
  }
  throw turns.error;
}
