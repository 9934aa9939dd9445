/** The oldest version of Node that can run the TypeScript sources of Rapport directly. */
export const supportedNode = '22.19'

/** Checks a version such as "26.10.0". */
export function isSupportedNode(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [neededMajor = 0, neededMinor = 0] = supportedNode.split('.').map(Number)
  return major > neededMajor || (major === neededMajor && minor >= neededMinor)
}
