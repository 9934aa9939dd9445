/** The oldest Node that runs TypeScript sources the way Rapport's are written. */
export const supportedNode = '22.19'

/** Whether a version such as "26.10.0" is new enough. */
export function isSupportedNode(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [neededMajor = 0, neededMinor = 0] = supportedNode.split('.').map(Number)
  return major > neededMajor || (major === neededMajor && minor >= neededMinor)
}
