import { IconButton } from '../components/icon-button.tsx';
import { canRecord } from './recorder.ts';
import { startTalk, stopTalk, talkPhase, type Ask } from './talk.ts';

interface Props {
  /** The speech model. */
  model: string;
  ask: Ask;
  onProblem: (problem: string | null) => void;
}

/** The composer's button that begins and ends a conversation by voice. */
export function TalkButton({ model, ask, onProblem }: Props) {
  if (!canRecord()) return null;
  const isOn = talkPhase.value !== 'off';
  return (
    <IconButton
      class={`dictation ${isOn ? 'dictation-recording' : ''}`}
      icon={isOn ? 'stop' : 'talk'}
      label={isOn ? 'End the conversation by voice' : 'Talk'}
      title={isOn ? 'End (Esc)' : 'Talk: what you say is sent, and the reply is spoken'}
      onClick={() => (isOn ? stopTalk() : void startTalk(model, ask, onProblem))}
    />
  );
}
