import './markdown.css';
import { lazy } from '../components/lazy.tsx';
import { PlainText } from './plain-text.tsx';

/** Renders a model's Markdown. Shows plain text until the renderer is loaded, so that the first paint does not wait for it. */
export const Markdown = lazy(
  async () => (await import('./rendered-markdown.tsx')).RenderedMarkdown,
  PlainText,
);
