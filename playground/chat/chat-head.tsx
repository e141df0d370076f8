import { membersOf } from '../components/field.tsx';
import { IconButton } from '../components/icon-button.tsx';
import { ModelSelect } from '../components/model-select.tsx';
import { navigate } from '../router.ts';
import { settings, startConversation } from './chat-state.ts';
import { focusComposer } from './focus-composer.ts';

interface Props {
  settingsOpen: boolean;
  onSettings: () => void;
  onHistory: () => void;
}

export function ChatHead({ settingsOpen, onSettings, onHistory }: Props) {
  return (
    <div class="chat-head">
      <h1 class="visually-hidden">Chat</h1>
      <ModelSelect label="Model" {...membersOf(settings)('model')} />
      <div class="chat-head-actions">
        <IconButton icon="plus" label="New chat" onClick={startNew} />
        <IconButton icon="history" label="Conversations" onClick={onHistory} />
        <IconButton icon="settings" label="Settings" aria-expanded={settingsOpen} onClick={onSettings} />
      </div>
    </div>
  );
}

function startNew(): void {
  startConversation();
  navigate('chat');
  focusComposer();
}
