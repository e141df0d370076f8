import { load } from '../client/downloads.ts';
import { hubAllowed } from '../client/catalog-settings.ts';
import type { VariantReason } from '../../src/index.ts';
import { Button } from '../components/button.tsx';

/** The engine's reasons for its choice of weights, and for skipping earlier variants. */
export function WhyThese({ model, reasons }: { model: string; reasons: VariantReason[] }) {
  const others = reasons.filter(({ chosen }) => !chosen);
  const ended = reasons.find(({ endedTab }) => endedTab);
  return (
    <>
      {reasons.find(({ chosen }) => chosen)?.reason}
      {ended && (
        <p class="small">
          {ended.chosen ? 'Its load' : 'A larger variant'} ended the tab.{' '}
          <Button onClick={() => void load(model, true)}>Try it again</Button>
        </p>
      )}
      {others.length > 0 && (
        <details open={hubAllowed.value || others.length === reasons.length}>
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
