import { useSignal } from '@preact/signals';
import { TextField } from '../components/field.tsx';
import { Form } from '../components/form.tsx';
import { prettyJson } from '../format.ts';
import type { AssistantTurn } from './conversation.ts';
import { answerTools, writing } from './send.ts';
import { Button } from '../components/button.tsx';

/** Tool calls of the model. The user acts as the tool and types its result. */
export function ToolCalls({ turn, open }: { turn: AssistantTurn; open: boolean }) {
  const results = useSignal<Record<string, string>>({});
  const submit = (): void => {
    void answerTools(
      turn.toolCalls.map(({ id, name }) => ({ toolCallId: id, name, content: results.value[id] ?? '' })),
    );
  };
  return (
    <Form class="tool-calls" onSubmit={submit}>
      {turn.toolCalls.map((call) => (
        <div key={call.id} class="tool-call">
          <p class="small">
            calls <code>{call.name}</code>
          </p>
          <pre class="tool-json" tabIndex={0} role="region" aria-label={`Arguments of ${call.name}`}>
            {prettyJson(call.arguments)}
          </pre>
          {open && (
            <TextField
              label={`What ${call.name} answers`}
              value={results.value[call.id] ?? ''}
              rows={2}
              code
              onChange={(value) => (results.value = { ...results.value, [call.id]: value })}
            />
          )}
        </div>
      ))}
      {open && (
        <Button type="submit" look="primary" small disabled={writing.value !== null}>
          Send to the model
        </Button>
      )}
    </Form>
  );
}
