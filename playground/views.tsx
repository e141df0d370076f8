import { computed } from '@preact/signals';
import type { ComponentType } from 'preact';
import { ChatView } from './chat/chat-view.tsx';
import type { IconName } from './components/icon.tsx';
import { lazy } from './components/lazy.tsx';
import { route } from './router.ts';

export interface View {
  /** First segment of the hash, and name of the icon. */
  name: IconName;
  title: string;
  component: ComponentType;
}

/** Part of the first paint. The others are loaded when they are shown. */
const CHAT: View = { name: 'chat', title: 'Chat', component: ChatView };

const lazyView = (name: IconName, title: string, load: () => Promise<ComponentType>): View => ({
  name,
  title,
  component: lazy(load, Opening),
});

function Opening({ error }: { error?: string }) {
  if (error === undefined) return <p class="quiet view-loading">Opening…</p>;
  return (
    <p role="alert" class="error-text">
      This view could not be opened: {error}. Reload the page to try again.
    </p>
  );
}

export const VIEWS: readonly View[] = [
  CHAT,
  lazyView('compare', 'Compare', async () => (await import('./compare/compare-view.tsx')).CompareView),
  lazyView(
    'embeddings',
    'Embeddings',
    async () => (await import('./embeddings/embeddings-view.tsx')).EmbeddingsView,
  ),
  lazyView('decide', 'Decide', async () => (await import('./decide/decide-view.tsx')).DecideView),
  lazyView('speech', 'Speech', async () => (await import('./speech/speech-view.tsx')).SpeechView),
  lazyView('models', 'Models', async () => (await import('./model-list/models-view.tsx')).ModelsView),
  lazyView('keys', 'Keys', async () => (await import('./keys/keys-view.tsx')).KeysView),
  lazyView('requests', 'Requests', async () => (await import('./requests/requests-view.tsx')).RequestsView),
  lazyView('device', 'Device', async () => (await import('./device/device-view.tsx')).DeviceView),
];

/** An unknown or empty hash shows the chat. */
export const currentView = computed(() => VIEWS.find(({ name }) => name === route.value.view) ?? CHAT);
