import './chat.css';
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { asksFirst } from '../client/asks-first.ts';
import { load } from '../client/downloads.ts';
import { hasMoreModels } from '../client/model-facts.ts';
import { refreshModels } from '../client/models.ts';
import { speechModel } from '../client/speech-model.ts';
import { Dialog } from '../components/dialog.tsx';
import { useDrop } from '../components/use-drop.ts';
import { useStopOnEscape } from '../components/use-stop-on-escape.ts';
import { LoadCard } from '../components/load-card.tsx';
import { isWide } from '../media.ts';
import { messageOf } from '../format.ts';
import { preference } from '../preferences.ts';
import { navigate, replaceRoute, route } from '../router.ts';
import { ChatHead } from './chat-head.tsx';
import { conversation, openConversation, settings, storageProblem, turns } from './chat-state.ts';
import { Composer } from './composer.tsx';
import { takePictures } from './draft-pictures.ts';
import { HistoryList } from './history-list.tsx';
import { answerEarly, retry, sendProblem, writing } from './send.ts';
import { SettingsPanel } from './settings-panel.tsx';
import { Transcript } from './transcript.tsx';
import { TalkBarSlot } from './voice-slots.tsx';
import { Welcome } from './welcome.tsx';
import { UnloadNote } from '../components/unload-note.tsx';
import { ErrorText } from '../components/error-text.tsx';

const NO_PICTURE = 'A message takes text and pictures only. The Speech view transcribes sound.';

const panelOpen = preference('settings-open', false);

export function ChatView() {
  const dialog = useSignal<'history' | 'settings' | null>(null);
  const { handlers, overClass } = useDrop(({ files }) => {
    if (!takePictures(files)) sendProblem.value = NO_PICTURE;
  });
  const wanted = route.value.id;
  const { model } = settings.value;
  const asks = asksFirst(model);

  useEffect(() => {
    if (wanted !== null) void openWanted(wanted);
  }, [wanted]);
  useEffect(() => {
    if (hasMoreModels.value) void refreshModels();
  }, [hasMoreModels.value]);
  useEffect(() => {
    // The error may concern another model.
    sendProblem.value = null;
  }, [model]);
  useEffect(() => {
    // The welcome has the button that asks. Sending a message also loads the model.
    if (!asks) void load(model);
  }, [model, asks]);
  useStopOnEscape(() => writing.value?.stop());

  const empty = turns.value.length === 0;
  const toggleSettings = (): void => {
    if (isWide.value) panelOpen.value = !panelOpen.value;
    else dialog.value = 'settings';
  };
  const close = (): void => {
    dialog.value = null;
  };

  return (
    <div class={`chat ${panelOpen.value && isWide.value ? 'chat-with-panel' : ''}`}>
      <ChatHead
        settingsOpen={isWide.value ? panelOpen.value : dialog.value === 'settings'}
        onSettings={toggleSettings}
        onHistory={() => (dialog.value = 'history')}
      />
      {/* It follows its button in the order of the Tab key. */}
      {isWide.value && panelOpen.value && (
        <aside class="chat-panel" aria-label="Settings">
          <SettingsPanel settings={settings} />
        </aside>
      )}
      <section class={`chat-column ${overClass}`} aria-label="Conversation" {...handlers}>
        {empty ? <Welcome onSettings={toggleSettings} /> : <Transcript key={conversation.value.id} />}
        <div class="chat-foot">
          <UnloadNote model={model} />
          {!empty && <LoadCard model={model} onRetry={askAgain} />}
          <LoadCard model={speechModel.value} />
          <ErrorText alert text={sendProblem.value} />
          <ErrorText alert text={storageProblem.value} />
          <TalkBarSlot />
          <Composer />
        </div>
      </section>
      {dialog.value === 'settings' && (
        <Dialog title="Settings" side onClose={close}>
          <SettingsPanel settings={settings} />
        </Dialog>
      )}
      {dialog.value === 'history' && (
        <Dialog title="Conversations" side onClose={close}>
          <HistoryList
            onOpen={(id) => {
              close();
              navigate('chat', id);
            }}
          />
        </Dialog>
      )}
    </div>
  );
}

/** Asks a question again that failed with the load of its model. */
function askAgain(): void {
  const last = turns.value.at(-1);
  if (last?.role === 'assistant' && last.problem !== null && last.content === '') void retry(last);
}

async function openWanted(id: string): Promise<void> {
  let problem: string | null = null;
  try {
    if (await openConversation(id)) return void answerEarly();
  } catch (error) {
    problem = `This conversation cannot be opened: ${messageOf(error)}`;
  }
  if (route.peek().id !== id) return;
  storageProblem.value = problem;
  replaceRoute('chat');
}
