import { useSignal } from '@preact/signals';
import type { ModelDetails } from '../../src/index.ts';
import { addChosen, cancelChosen, type ChosenModel } from '../client/added-models.ts';
import { edits, TextField } from '../components/field.tsx';
import { ProgressBar } from '../components/progress-bar.tsx';
import { bytes } from '../format.ts';
import { FileFacts } from './file-facts.tsx';
import { useFocus } from './use-focus.ts';
import { Fact } from '../components/fact.tsx';
import { Button } from '../components/button.tsx';
import { Form } from '../components/form.tsx';

/** Facts from a chosen file's header, and the form to add the model. */
export function ChosenModelForm({ chosen: { source, details, progress } }: { chosen: ChosenModel }) {
  const form = useFocus<HTMLFormElement>();
  const id = useSignal(details.suggestedId);
  return (
    <Form
      ref={form}
      tabIndex={-1}
      class="stack"
      aria-label={details.name}
      onSubmit={() => addChosen(id.value.trim())}
    >
      <dl class="facts">
        <Fact name="Model">
          {details.name}
          {'hub' in source && <span class="quiet small"> of {source.hub}</span>}
        </Fact>
        <FileFacts details={details} />
        <Fact name="Memory">about {bytes(details.memoryBytes)}</Fact>
        <Fact name="This device">{details.problem === null ? 'It fits.' : `It ${details.problem}.`}</Fact>
        {details.warning !== undefined && <Fact name="Note">{details.warning}</Fact>}
        {details.reranks && <Fact name="Purpose">reranking</Fact>}
        {!details.embedding && !details.reranks && <Fact name="Chat template">{templateOf(details)}</Fact>}
      </dl>
      {progress ? (
        <>
          <ProgressBar
            label={`Adding ${details.name}`}
            value={progress.loadedBytes}
            max={progress.totalBytes}
          />
          <p class="figures">
            {bytes(progress.loadedBytes)} of {bytes(progress.totalBytes)}
          </p>
        </>
      ) : (
        <TextField
          label="Id"
          {...edits(id)}
          hint={
            <>
              For <code>model</code> in requests.
            </>
          }
        />
      )}
      <div class="row">
        {!progress && (
          <Button type="submit" look="primary" disabled={details.problem !== null || id.value.trim() === ''}>
            Add
          </Button>
        )}
        <Button look="quiet" onClick={cancelChosen}>
          {progress ? 'Stop' : 'Cancel'}
        </Button>
      </div>
    </Form>
  );
}

function templateOf({ hasChatTemplate, canChat }: ModelDetails): string {
  if (hasChatTemplate) return 'its own';
  return canChat ? 'none; ChatML is used' : 'none: the model continues text and cannot chat';
}
