import { hubAllowed } from '../client/model-hub.ts';
import type { VariantReason } from '../../src/index.ts';

/** The engine's own account of its choice: why these weights, and what kept it from those before. */
export function WhyThese({ reasons }: { reasons: VariantReason[] }) {
  const others = reasons.filter(({ chosen }) => !chosen);
  return (
    <>
      {reasons.find(({ chosen }) => chosen)?.reason}
      {others.length > 0 && (
        <details open={hubAllowed.value}>
          <summary>Passed over: {others.length}</summary>
          <ul class="passed-over small quiet">
            {others.map(({ variant, reason }) => (
              <li key={variant}>
                <code>{variant}</code> {reason}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}
