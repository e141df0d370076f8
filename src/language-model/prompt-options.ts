import { toConstraint, type Constraint } from './response-constraint.ts';
import { toDictionary, toObject, toSignal } from './web-idl.ts';

export interface PromptOptions {
  constraint: Constraint | null;
  /** What the model is told of the constraint; empty: nothing. */
  guidance: string;
  signal: AbortSignal | undefined;
}

/** Converts the options of `prompt()` and the like. @throws TypeError; DOMException for what is no JSON Schema */
export function toPromptOptions(value: unknown): PromptOptions {
  const { omitResponseConstraintInput, responseConstraint, signal } = toDictionary(value, 'options');
  const constraint =
    responseConstraint === undefined
      ? null
      : toConstraint(toObject(responseConstraint, 'responseConstraint'));
  if (omitResponseConstraintInput && !constraint)
    throw new TypeError('`omitResponseConstraintInput` needs `responseConstraint`.');
  return {
    constraint,
    guidance: constraint && !omitResponseConstraintInput ? constraint.guidance : '',
    signal: toSignal(signal),
  };
}
