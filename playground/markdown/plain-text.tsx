/** Text as it is written, in the place of Markdown. */
export function PlainText({ text }: { text: string }) {
  return (
    <p class="markdown markdown-plain" dir="auto">
      {text}
    </p>
  );
}
