import { type Signal, useSignal } from '@preact/signals';
import { isOfLoad } from '../client/downloads.ts';
import { hueOf } from '../client/models.ts';
import { CopyButton } from '../components/copy-button.tsx';
import { IconButton } from '../components/icon-button.tsx';
import { Markdown } from '../markdown/markdown.tsx';
import { SpeakButton } from '../speech/speak-button.tsx';
import { BranchSwitch } from './branch-switch.tsx';
import { ContinueButton } from './continue-button.tsx';
import { isEmpty, type AssistantTurn } from './conversation.ts';
import { LogprobText } from './logprob-text.tsx';
import { ReplyStatsLine } from './reply-stats-line.tsx';
import { retry, writing } from './send.ts';
import { Thoughts } from './thoughts.tsx';
import { ToolCalls } from './tool-calls.tsx';
import { WaitingLine } from './waiting-line.tsx';
import { ErrorText } from '../components/error-text.tsx';
import { href } from '../router.ts';
import { firstReply } from './first-reply.ts';
import { Button } from '../components/button.tsx';

export function AssistantItem({ turn, last }: { turn: AssistantTurn; last: boolean }) {
  const shaded = useSignal(false);
  const live = writing.value?.turnIds.includes(turn.id) ?? false;
  const empty = isEmpty(turn);
  return (
    <li class="turn turn-assistant" data-hue={hueOf(turn.model)} aria-busy={live}>
      <p class="turn-label">
        <span class="dot" aria-hidden="true" />
        {turn.model}
      </p>
      {turn.reasoning && <Thoughts text={turn.reasoning} live={live && empty} />}
      {live && empty && !turn.reasoning && <WaitingLine model={turn.model} />}
      {shaded.value ? <LogprobText tokens={turn.logprobs} /> : <Markdown text={turn.content} />}
      {turn.toolCalls.length > 0 && <ToolCalls turn={turn} open={last && !live} />}
      {!live && <Ending turn={turn} />}
      {!live && <FirstReplyNote turnId={turn.id} />}
      {last && <ContinueButton turn={turn} live={live} />}
      {!live && <TurnActions turn={turn} shaded={shaded} />}
    </li>
  );
}

function TurnActions({ turn, shaded }: { turn: AssistantTurn; shaded: Signal<boolean> }) {
  return (
    <div class="turn-actions">
      <BranchSwitch turn={turn} />
      {!isEmpty(turn) && <CopyButton text={turn.content} label="Copy the reply" />}
      <SpeakButton id={turn.id} text={turn.content} />
      <IconButton
        small
        icon="retry"
        label="Another reply"
        disabled={writing.value !== null}
        onClick={() => void retry(turn)}
      />
      {turn.logprobs.length > 0 && (
        <Button look="quiet" small aria-pressed={shaded.value} onClick={() => (shaded.value = !shaded.value)}>
          {shaded.value ? 'Text' : 'Probabilities'}
        </Button>
      )}
      <ReplyStatsLine stats={turn.stats} />
    </div>
  );
}

function Ending({ turn }: { turn: AssistantTurn }) {
  if (turn.problem === 'stopped') return <p class="quiet small">You stopped it here.</p>;
  if (turn.problem !== null && isOfLoad(turn.model, turn.problem))
    return <p class="quiet small">No reply: the model was not loaded.</p>;
  if (turn.problem !== null) return <ErrorText text={turn.problem} />;
  if (turn.finishReason === 'length') {
    return <p class="quiet small">The reply reached the maximum length of the settings.</p>;
  }
  if (turn.finishReason === 'content_filter')
    return <p class="quiet small">The server withheld the rest of the reply.</p>;
  return isEmpty(turn) ? <p class="quiet small">The model said nothing.</p> : null;
}

/** Note under the first reply, until the page is left: which model wrote it, and that it needs no network. */
function FirstReplyNote({ turnId }: { turnId: string }) {
  const first = firstReply.value;
  if (first?.turnId !== turnId) return null;
  return (
    <p class="quiet small">
      This was <code>POST /v1/chat/completions</code>:{' '}
      <a href={href('requests', first.requestId)}>the request and its code</a>. Turn your network off and ask
      again.
    </p>
  );
}
