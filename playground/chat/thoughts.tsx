/** The model's reasoning, folded. `live` while it is being written. */
export function Thoughts({ text, live }: { text: string; live: boolean }) {
  return (
    <details class="thoughts">
      <summary>{live ? 'Thinking…' : 'Thoughts'}</summary>
      <p class="thoughts-text" dir="auto">
        {text}
      </p>
    </details>
  );
}
