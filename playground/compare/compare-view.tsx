import './compare.css';
import '../chat/chat.css';
import { signal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { useGrowWithText } from '../components/grow-with-text.ts';
import { isSendKey } from '../components/keys.ts';
import { SendButton } from '../components/send-button.tsx';
import { useStopOnEscape } from '../components/use-stop-on-escape.ts';
import { CompareColumn } from './compare-column.tsx';
import { ask, sides, stopAll, working } from './compare-state.ts';

const prompt = signal('Explain what a web browser is in one sentence.');

export function CompareView() {
  const input = useRef<HTMLTextAreaElement>(null);
  useGrowWithText(input, prompt.value);
  useStopOnEscape(stopAll);
  const submit = (event: Event): void => {
    event.preventDefault();
    if (prompt.value.trim() && !working.value) void ask(prompt.value.trim());
  };
  return (
    <div class="page compare">
      <header class="page-head">
        <h1>Compare</h1>
        <p>One prompt to two models, or to one with two settings. Both run at once, on this device.</p>
      </header>
      <form class="composer" onSubmit={submit}>
        <textarea
          ref={input}
          rows={1}
          aria-label="Prompt for both"
          dir="auto"
          placeholder="Ask both"
          value={prompt}
          onInput={({ currentTarget }) => (prompt.value = currentTarget.value)}
          onKeyDown={(event) => {
            if (isSendKey(event)) submit(event);
          }}
        />
        <SendButton
          label="Ask both"
          stopLabel="Stop both"
          disabled={!prompt.value.trim()}
          busy={working.value}
          onStop={stopAll}
        />
      </form>
      <div class="compare-columns">
        {sides.map((side) => (
          <CompareColumn key={side.name} side={side} />
        ))}
      </div>
    </div>
  );
}
