import './markdown.css';
import { signal } from '@preact/signals';
import type { FunctionComponent } from 'preact';
import { useEffect } from 'preact/hooks';

const rendered = signal<FunctionComponent<{ text: string }> | null>(null);
let loading: Promise<void> | null = null;

/** Renders a model's Markdown. Shows plain text until the renderer is loaded, so that the first paint does not wait for it. */
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
