import { useSignal } from '@preact/signals';
import type { ChatCompletionTokenLogprob } from 'openai/resources/chat/completions';

const percent = (logprob: number): string => {
  const value = Math.exp(logprob) * 100;
  return `${value >= 10 ? value.toFixed(0) : value.toFixed(1)}%`;
};

/** Shows a reply token by token, with a stronger shade for less likely tokens. Arrow keys move between tokens. */
export function LogprobText({ tokens }: { tokens: ChatCompletionTokenLogprob[] }) {
  const active = useSignal(0);
  const token = tokens[active.value];
  const move = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    active.value = Math.max(0, Math.min(tokens.length - 1, active.value + step));
  };
  return (
    <div class="logprobs">
      <div
        class="logprob-text"
        dir="auto"
        role="group"
        aria-label="Tokens by probability; arrow keys move"
        tabIndex={0}
        onKeyDown={move}
      >
        {tokens.map(({ token: text, logprob }, index) => (
          <span
            key={index}
            class={index === active.value ? 'logprob-active' : undefined}
            style={{ '--doubt': `${Math.round((1 - Math.exp(logprob)) * 45)}%` }}
            onPointerEnter={() => (active.value = index)}
          >
            {text}
          </span>
        ))}
      </div>
      {token && (
        <p class="figures logprob-detail" role="status">
          <b>{JSON.stringify(token.token)}</b> {percent(token.logprob)}
          {token.top_logprobs.length > 0 && (
            <>
              {' — '}
              {token.top_logprobs
                .map((top) => `${JSON.stringify(top.token)} ${percent(top.logprob)}`)
                .join(', ')}
            </>
          )}
        </p>
      )}
    </div>
  );
}
