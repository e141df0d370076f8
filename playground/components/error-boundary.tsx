import { Component, type ComponentChildren } from 'preact';
import { clearPreferences } from '../preferences.ts';
import { messageOf } from '../format.ts';
import { Button } from './button.tsx';

interface Props {
  children: ComponentChildren;
}

/** Shows a view's error and how to recover, instead of an empty page. */
export class ErrorBoundary extends Component<Props, { error: unknown }> {
  override state = { error: null };

  static override getDerivedStateFromError(error: unknown): { error: unknown } {
    return { error };
  }

  override componentDidCatch(error: unknown): void {
    console.error('localtext: a view failed', error);
  }

  override render({ children }: Props, { error }: { error: unknown }): ComponentChildren {
    if (error === null) return children;
    return (
      <div class="notice notice-error stack" role="alert">
        <strong>This view could not be shown.</strong>
        <span>{messageOf(error)}</span>
        <span class="row">
          <Button onClick={() => this.setState({ error: null })}>Try again</Button>
          <Button onClick={reset}>Reset this page's settings</Button>
        </span>
        <span class="quiet small">Conversations, keys and models are kept.</span>
      </div>
    );
  }
}

function reset(): void {
  clearPreferences();
  location.hash = '';
  location.reload();
}
