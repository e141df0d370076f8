import { startError } from '../client/localtext.ts';

export function StartProblem() {
  if (startError.value === null) return null;
  return (
    <div class="notice notice-error" role="alert">
      <strong>localtext could not start here.</strong> {startError.value}
      <p>
        It needs a secure origin (https or localhost), and a browser that allows this site to store data.
        Reload to try again.
      </p>
    </div>
  );
}
