/** Fields of every job. */
export interface AnyJob {
  /** Id in the catalog (another name that the client gave has been resolved). */
  model: string;
  /** Forbids servers to answer: the text must not leave the browser. */
  deviceOnly?: boolean;
  /** Names of the device's variants that may answer. Absent: all. */
  variants?: string[];
}
