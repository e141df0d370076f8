import type { EngineClient } from '../api/service-dependencies.ts';
import { upstreamChat } from './upstream/upstream-chat.ts';
import { upstreamEmbedding } from './upstream/upstream-embedding.ts';
import { upstreamTranscription } from './upstream/upstream-transcription.ts';
import { Failover } from './failover.ts';
import type { Target } from './model-targets.ts';

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
      return withFailover(targets, signal, ({ server, variants }) =>
        server ? upstreamChat(server, job, signal) : device.chat({ ...job, variants }, { id, signal }),
      );
    },

    transcribe(job, { id, signal }) {
      const targets = job.deviceOnly ? null : targetsOf(job.model);
      if (!targets) return device.transcribe(job, { id, signal });
      return withFailover(targets, signal, ({ server, variants }) =>
        server
          ? upstreamTranscription(server, job, signal)
          : device.transcribe({ ...job, variants }, { id, signal }),
      );
    },

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

async function* withFailover<Event extends { type: string }>(
  targets: Promise<Target[]>,
  signal: AbortSignal,
  ask: (target: Target) => AsyncIterable<Event>,
): AsyncGenerator<Event, void, undefined> {
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
