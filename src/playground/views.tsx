import type { ComponentType } from 'preact';
import type { IconName } from './components/icon.tsx';
import { lazyView } from './components/lazy-view.tsx';

export interface View {
  name: string;
  title: string;
  icon: IconName;
  component: ComponentType;
  /** Has a place of its own in the tab bar of a narrow screen; the others are under "More". */
  primary: boolean;
}

export const CHAT: View = {
  name: 'chat',
  title: 'Chat',
  icon: 'chat',
  component: lazyView(async () => (await import('./chat/chat-view.tsx')).ChatView),
  primary: true,
};

export const VIEWS: readonly View[] = [
  CHAT,
  {
    name: 'embeddings',
    title: 'Embeddings',
    icon: 'embeddings',
    component: lazyView(async () => (await import('./embeddings/embeddings-view.tsx')).EmbeddingsView),
    primary: true,
  },
  {
    name: 'models',
    title: 'Models',
    icon: 'models',
    component: lazyView(async () => (await import('./models/models-view.tsx')).ModelsView),
    primary: true,
  },
];
