import { CopyButton } from '../components/copy-button.tsx';

export function CodeBlock({ text, lang }: { text: string; lang: string }) {
  return (
    <figure class="code-block">
      <figcaption>
        <span>{lang || 'code'}</span>
        <CopyButton text={text} label="Copy the code" />
      </figcaption>
      {/* Wider than its frame at times: the keyboard must be able to scroll it. */}
      <pre tabIndex={0} role="region" aria-label={`Code${lang ? `, ${lang}` : ''}`}>
        <code>{text}</code>
      </pre>
    </figure>
  );
}
