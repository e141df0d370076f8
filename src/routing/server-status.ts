import type { ModelStatus, VariantReason } from '../protocol/worker-control.ts';
import type { Leg } from './model-route.ts';

/** A model's status with what is known of its servers. `device`: what the engine says; undefined: no engine answers. */
export function withServers(
  { id, kind }: Pick<ModelStatus, 'id' | 'kind'>,
  legs: readonly Leg[],
  device: ModelStatus | undefined,
): ModelStatus {
  const idle = {
    id,
    kind,
    state: 'idle' as const,
    fingerprint: null,
    progress: null,
    queued: 0,
    running: 0,
    error: null,
  };
  const ofDevice = device?.reasons ?? [];
  const skipped: VariantReason[] = [];
  for (const { server, variants } of legs) {
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
