/** What the model thought before it answered, folded. `live`: it still does. */
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
