import { useSignal } from '@preact/signals';
import { handle } from '../client/localtext.ts';
import { modelIds } from '../client/models.ts';
import { CheckField, edits, NumberField, SelectField, TextField } from '../components/field.tsx';
import { attempt, refreshKeys } from './key-list.ts';
import type { NewKey } from './new-key-dialog.tsx';
import { Button } from '../components/button.tsx';
import { Form } from '../components/form.tsx';

const DAY = 24 * 60 * 60 * 1000;
const EXPIRIES = [
  { value: 'never', label: 'Never' },
  { value: '7', label: 'In 7 days' },
  { value: '30', label: 'In 30 days' },
  { value: '365', label: 'In a year' },
] as const;

export function IssueForm({ onIssued }: { onIssued: (key: NewKey) => void }) {
  const label = useSignal('');
  const expiry = useSignal<(typeof EXPIRIES)[number]['value']>('never');
  const models = useSignal<string[]>([]);
  const perMinute = useSignal<number | null>(null);
  const tokensPerMinute = useSignal<number | null>(null);
  const inFlight = useSignal<number | null>(null);
  const deviceOnly = useSignal(false);

  const issue = async (): Promise<void> => {
    const name = label.value.trim();
    const issued = await attempt(async () => {
      const { keys } = await handle;
      return await keys.issue({
        label: name,
        ...(expiry.value !== 'never' && { expiresAt: Date.now() + Number(expiry.value) * DAY }),
        ...(models.value.length > 0 && { models: models.value }),
        deviceOnly: deviceOnly.value,
        limits: {
          ...(perMinute.value !== null && { requestsPerMinute: perMinute.value }),
          ...(tokensPerMinute.value !== null && { tokensPerMinute: tokensPerMinute.value }),
          ...(inFlight.value !== null && { inFlight: inFlight.value }),
        },
      });
    });
    if (!issued) return;
    label.value = '';
    onIssued({ label: name, key: issued.key, replaced: false });
    await refreshKeys();
  };
  return (
    <Form class="card stack" aria-label="Issue a key" onSubmit={issue}>
      <div class="issue-main">
        <TextField label="Application" placeholder="Notes app" {...edits(label)} />
        <SelectField label="Expires" options={EXPIRIES} {...edits(expiry)} />
        <Button type="submit" look="primary" disabled={!label.value.trim()}>
          Issue key
        </Button>
      </div>
      <details>
        <summary>Limits</summary>
        <div class="issue-limits">
          <NumberField label="Requests a minute" min={1} placeholder="600" {...edits(perMinute)} />
          <NumberField label="Tokens a minute" min={1} placeholder="200000" {...edits(tokensPerMinute)} />
          <NumberField label="Chats at once" min={1} placeholder="64" {...edits(inFlight)} />
        </div>
        <CheckField label="This device only: no server answers its requests" {...edits(deviceOnly)} />
        <fieldset class="issue-models">
          <legend>Models (none chosen: all)</legend>
          {modelIds.value.map((id) => (
            <CheckField
              key={id}
              label={id}
              value={models.value.includes(id)}
              onChange={(on) =>
                (models.value = on ? [...models.value, id] : models.value.filter((other) => other !== id))
              }
            />
          ))}
        </fieldset>
      </details>
    </Form>
  );
}
