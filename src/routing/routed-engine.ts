import type { EngineClient, EngineEvent } from '../api/service-dependencies.ts';
import { upstreamChat } from './upstream/upstream-chat.ts';
import { upstreamEmbedding } from './upstream/upstream-embedding.ts';
import { Failover } from './failover.ts';
import type { Target } from './model-targets.ts';

type Events = AsyncGenerator<EngineEvent, void, undefined>;

/**
 * Passes each job to the device or to a server. Where one fails before anything was sent, the next answers in the same call.
 * @param targetsOf null: no server takes part in the model
 */
export function routedEngine(
  device: EngineClient,
  targetsOf: (model: string) => Promise<Target[]> | null,
): EngineClient {
  return {
    chat(job, { id, signal }) {
      const targets = job.deviceOnly ? null : targetsOf(job.model);
      if (!targets) return device.chat(job, { id, signal });
      return chatWithFailover(targets, signal, ({ server, variants }) =>
        server ? upstreamChat(server, job, signal) : device.chat({ ...job, variants }, { id, signal }),
      );
    },

    // No catalog has a server for it.
    transcribe: (job, request) => device.transcribe(job, request),

    async embed(job, request) {
      const targets = job.deviceOnly ? null : targetsOf(job.model);
      if (!targets) return device.embed(job, request);
      return new Failover(await targets).first(request.signal, async ({ server, variants }) => {
        if (!server) return device.embed({ ...job, variants }, request);
        const result = await upstreamEmbedding(server, job, request.signal);
        server.circuit.succeed();
        return result;
      });
    },
  };
}

async function* chatWithFailover(
  targets: Promise<Target[]>,
  signal: AbortSignal,
  ask: (target: Target) => AsyncIterable<EngineEvent>,
): Events {
  const failover = new Failover(await targets);
  for (let target = failover.next(); target; target = failover.next()) {
    let sent = false;
    let failed = false;
    try {
      for await (const event of ask(target)) {
        sent ||= event.type !== 'waiting';
        yield event;
      }
      return;
    } catch (error) {
      failed = true;
      failover.failed(target, error, sent || signal.aborted);
    } finally {
      // Here also when the reader leaves, as it does with the last event.
      if (sent && !failed && !signal.aborted) target.server?.circuit.succeed();
    }
  }
  throw failover.error;
}
