import { EngineError } from '../../../protocol/engine-error.ts';

/** A server's failure. */
export class UpstreamError extends EngineError {
  /** The caller gets it, though another variant could answer the request. */
  readonly isForCaller: boolean;

  constructor(
    wire: ConstructorParameters<typeof EngineError>[0],
    { cause, isForCaller = false }: { cause?: unknown; isForCaller?: boolean } = {},
  ) {
    super(wire, cause);
    this.isForCaller = isForCaller;
  }
}
