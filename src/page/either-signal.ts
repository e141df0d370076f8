/** A signal that aborts with either; `other` may be missing. */
export const eitherSignal = (signal: AbortSignal, other: AbortSignal | undefined): AbortSignal =>
  other ? AbortSignal.any([other, signal]) : signal;
