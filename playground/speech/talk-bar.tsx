import { CaptionBar } from './caption-bar.tsx';
import { LevelMeter } from './level-meter.tsx';
import { spoken, TALK } from './spoken.ts';
import { stopTalk, talkPhase, talkRecorder } from './talk.ts';
import { useEscape } from './use-escape.ts';
import { useEffect } from 'preact/hooks';

const STATES = {
  off: '',
  listening: 'Listening. Speak, then pause.',
  writing: 'Writing it down…',
  answering: 'Answering… Speak to interrupt.',
} as const;

/** Above the composer: what is spoken, and the state of the conversation by voice. */
export function TalkBar() {
  const phase = talkPhase.value;
  const recorder = talkRecorder.value;
  useEscape(phase !== 'off', stopTalk);
  useEffect(() => stopTalk, []);
  return (
    <>
      <CaptionBar />
      {phase !== 'off' && (
        <div class="caption-bar" role="group" aria-label="Conversation by voice">
          {recorder && <LevelMeter recorder={recorder} />}
          <p class="caption">
            {phase === 'answering' && spoken.value?.id === TALK && spoken.value.current >= 0
              ? 'Speaking. Speak to interrupt.'
              : STATES[phase]}
          </p>
        </div>
      )}
    </>
  );
}
