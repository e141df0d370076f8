import { addBuiltIn, BUILT_IN_MODEL, builtInAdded } from '../client/add-built-in.ts';
import { builtInDownload, builtInReason, downloadBuiltIn } from '../client/built-in-model.ts';
import { ProgressBar } from '../components/progress-bar.tsx';

/** The model that the browser has itself, or could download. */
export function BuiltInCard() {
  const added = builtInAdded.value;
  const known = builtInReason.value;
  return (
    <section class="card stack" aria-labelledby="built-in-title">
      <h2 id="built-in-title">The browser’s own model</h2>
      <p class="small">
        {added && known
          ? known.chosen
            ? `${BUILT_IN_MODEL} is answered by the browser’s own model.`
            : `${BUILT_IN_MODEL} is answered by its own weights: ${known.variant} ${known.reason}.`
          : `This browser may have its own model. It can answer for ${BUILT_IN_MODEL}, and what it cannot do the model’s own weights do.`}
      </p>
      {added && known && !known.chosen && / download/.test(known.reason) && <Download />}
      <div class="row">
        <button type="button" class="button" onClick={() => addBuiltIn(!added)}>
          {added ? 'Do without the browser’s model' : 'Use the browser’s model'}
        </button>
        <span class="small quiet">Reloads this page; reload the site’s other tabs too.</span>
      </div>
    </section>
  );
}

function Download() {
  const download = builtInDownload.value;
  if (download && 'share' in download)
    return <ProgressBar label="Downloading the browser’s model" value={download.share} max={1} />;
  return (
    <>
      <p class="small quiet">
        The browser downloads several gigabytes, needs some 22 GB of free disk space for that, and keeps the
        model for all sites. It decides when to delete it.
      </p>
      {download && (
        <p role="alert" class="error-text small">
          {download.error}
        </p>
      )}
      <button type="button" class="button" onClick={() => void downloadBuiltIn()}>
        Download the browser’s model
      </button>
    </>
  );
}
