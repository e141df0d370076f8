import type { ComponentType } from 'preact';
import type { IconName } from './components/icon.tsx';
import { ChatView } from './chat/chat-view.tsx';
import { lazyView } from './components/lazy-view.tsx';

export interface View {
  name: string;
  title: string;
  icon: IconName;
  component: ComponentType;
  /** Whether the view has a separate tab on a narrow screen; other views are under "More". */
  primary: boolean;
}

export const CHAT: View = {
  name: 'chat',
  title: 'Chat',
  icon: 'chat',
  // Part of the first paint: the others are loaded when they are shown.
  component: ChatView,
  primary: true,
};

export const VIEWS: readonly View[] = [
  CHAT,
  {
    name: 'compare',
    title: 'Compare',
    icon: 'compare',
    component: lazyView(async () => (await import('./compare/compare-view.tsx')).CompareView),
    primary: true,
  },
  {
    name: 'embeddings',
    title: 'Embeddings',
    icon: 'embeddings',
    component: lazyView(async () => (await import('./embeddings/embeddings-view.tsx')).EmbeddingsView),
    primary: false,
  },
  {
    name: 'decide',
    title: 'Decide',
    icon: 'decide',
    component: lazyView(async () => (await import('./decide/decide-view.tsx')).DecideView),
    primary: false,
  },
  {
    name: 'speech',
    title: 'Speech',
    icon: 'speech',
    component: lazyView(async () => (await import('./speech/speech-view.tsx')).SpeechView),
    primary: false,
  },
  {
    name: 'models',
    title: 'Models',
    icon: 'models',
    component: lazyView(async () => (await import('./model-list/models-view.tsx')).ModelsView),
    primary: true,
  },
  {
    name: 'keys',
    title: 'Keys',
    icon: 'keys',
    component: lazyView(async () => (await import('./keys/keys-view.tsx')).KeysView),
    primary: false,
  },
  {
    name: 'requests',
    title: 'Requests',
    icon: 'requests',
    component: lazyView(async () => (await import('./requests/requests-view.tsx')).RequestsView),
    primary: true,
  },
  {
    name: 'device',
    title: 'Device',
    icon: 'device',
    component: lazyView(async () => (await import('./device/device-view.tsx')).DeviceView),
    primary: false,
  },
];
