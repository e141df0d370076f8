/**
 * As transformers.js chooses: Safari before 26, without WebGPU, cannot run the asyncify build. Its own test reads
 * `navigator.vendor`, which workers do not have.
 */
export function takesPlainBuild(browser: { userAgent: string; gpu?: unknown } = navigator): boolean {
  const { userAgent, gpu } = browser;
  const isSafari =
    userAgent.includes('Safari/') && !/CriOS|FxiOS|EdgiOS|OPiOS|Chrom(e|ium)|Android/.test(userAgent);
  const version = /Version\/(\d+)/.exec(userAgent)?.[1];
  return isSafari && !gpu && version !== undefined && Number(version) < 26;
}
