import './compare.css';
import '../chat/chat.css';
import { signal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { useGrowWithText } from '../components/grow-with-text.ts';
import { onSendKey } from '../components/keys.ts';
import { Form } from '../components/form.tsx';
import { PageHead } from '../components/page-head.tsx';
import { SendButton } from '../components/send-button.tsx';
import { useStopOnEscape } from '../components/use-stop-on-escape.ts';
import { CompareColumn } from './compare-column.tsx';
import { ask, sides, stopAll, working } from './compare-state.ts';

const prompt = signal('Explain what a web browser is in one sentence.');

export function CompareView() {
  const input = useRef<HTMLTextAreaElement>(null);
  useGrowWithText(input, prompt.value);
  useStopOnEscape(stopAll);
  const submit = (): void => {
    if (prompt.value.trim() && !working.value) void ask(prompt.value.trim());
  };
  return (
    <div class="page compare">
      <PageHead title="Compare">
        One prompt to two models, or to one with two settings. Both run at once, on this device.
      </PageHead>
      <Form class="composer" onSubmit={submit}>
        <textarea
          ref={input}
          rows={1}
          aria-label="Prompt for both"
          dir="auto"
          placeholder="Ask both"
          value={prompt}
          onInput={({ currentTarget }) => (prompt.value = currentTarget.value)}
          onKeyDown={onSendKey(submit)}
        />
        <SendButton
          label="Ask both"
          stopLabel="Stop both"
          disabled={!prompt.value.trim()}
          busy={working.value}
          onStop={stopAll}
        />
      </Form>
      <div class="compare-columns">
        {sides.map((side) => (
          <CompareColumn key={side.name} side={side} />
        ))}
      </div>
    </div>
  );
}
