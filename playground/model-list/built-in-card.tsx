import { BUILT_IN_MODEL, builtInAdded } from '../client/catalog-settings.ts';
import {
  builtInDownload,
  builtInReason,
  cancelBuiltInDownload,
  downloadBuiltIn,
} from '../client/built-in-model.ts';
import { ErrorText } from '../components/error-text.tsx';
import { ProgressBar } from '../components/progress-bar.tsx';
import { useKeptFocus } from '../components/use-kept-focus.ts';
import { ReloadRow } from '../components/reload-row.tsx';
import { Card } from '../components/card.tsx';
import { Button } from '../components/button.tsx';

/** The model that the browser has itself, or could download. */
export function BuiltInCard() {
  const added = builtInAdded.value;
  const known = builtInReason.value;
  return (
    <Card title="The browser’s own model">
      <p class="small">
        {added && known
          ? known.chosen
            ? `${BUILT_IN_MODEL} is answered by the browser’s own model.`
            : `${BUILT_IN_MODEL} is answered by its own weights: ${known.variant} ${known.reason}.`
          : `This browser may have its own model. It can answer for ${BUILT_IN_MODEL}, and what it cannot do the model’s own weights do.`}
      </p>
      {added && known && !known.chosen && / download/.test(known.reason) && <Download />}
      <ReloadRow setting={builtInAdded} value={!added}>
        {added ? 'Do without the browser’s model' : 'Use the browser’s model'}
      </ReloadRow>
    </Card>
  );
}

function Download() {
  const area = useKeptFocus<HTMLDivElement>();
  const download = builtInDownload.value;
  return (
    <div class="stack" role="group" aria-label="Download of the browser’s model" tabIndex={-1} ref={area}>
      {download && 'share' in download ? (
        <DownloadProgress {...download} />
      ) : (
        <DownloadOffer error={download?.error} />
      )}
    </div>
  );
}

function DownloadProgress({ share }: { share: number }) {
  return (
    <>
      <ProgressBar label="Downloading the browser’s model" value={share} max={1} />
      <div class="row">
        <span class="figures">{Math.floor(share * 100)} %</span>
        <Button look="quiet" onClick={cancelBuiltInDownload}>
          Cancel
        </Button>
      </div>
    </>
  );
}

function DownloadOffer({ error }: { error: string | undefined }) {
  return (
    <>
      <p class="small quiet">
        The browser downloads several gigabytes, needs some 22 GB of free disk space for that, and keeps the
        model for all sites. It decides when to delete it.
      </p>
      {error !== undefined && <ErrorText alert text={error} />}
      <Button onClick={() => void downloadBuiltIn()}>Download the browser’s model</Button>
    </>
  );
}
