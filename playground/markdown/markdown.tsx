import './markdown.css';
import { signal } from '@preact/signals';
import type { FunctionComponent } from 'preact';
import { useEffect } from 'preact/hooks';

const rendered = signal<FunctionComponent<{ text: string }> | null>(null);
let loading: Promise<void> | null = null;

/** A model's Markdown; its plain text until the renderer is loaded, which the first paint need not wait for. */
export function Markdown({ text }: { text: string }) {
  useEffect(() => {
    loading ??= load();
  }, []);
  const Rendered = rendered.value;
  return Rendered ? (
    <Rendered text={text} />
  ) : (
    <p class="markdown markdown-plain" dir="auto">
      {text}
    </p>
  );
}

async function load(): Promise<void> {
  rendered.value = (await import('./rendered-markdown.tsx')).RenderedMarkdown;
}
